"""The files that the programs in frames/ look at and change.

    BASE/data    the covered directory, with every kind of file and link
    BASE/other   beside it, not covered; other/inward leads into data
    BASE/data2   a name that begins like the covered one
"""

import itertools
import os
import random
import subprocess
import time

POOL = 150
OWN = 60
OLD = 1500000000  # every file's mtime: long ago, and the same in each copy
AGE = 0.1  # seconds until a copy's ctime is older than STOKER_MIN_AGE below

MIN_AGE = "0.05"

_numbers = itertools.count()


def _write(path, size, seed):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(random.Random(seed).randbytes(size))


def _make_files(data):
    for number, (name, size) in enumerate({
            "a.bin": 40000, "sub/b.bin": 20000, "sub/deep/c.bin": 4096, "private": 5000,
            "forbidden": 5000, "old": 3000, "hard1": 7000, "with space": 100, "semi;colon": 101,
            "fresh/.hidden": 10, "n" * 10 + "x": 1, "move/x": 501, "other/x": 502, "gone/x": 503,
            ("n" * 10 + "a" * 10) * 10 + "me": 300,
            ("n" * 10 + "a" * 10) * 10 + "longs" * 10 + "me": 301}.items()):
        _write(data / name, size, number)
    (data / "empty").touch()
    (data / "database").write_bytes(b"SQLite format 3\0" + bytes(5000))
    with open(data / "sparse", "wb") as sparse:
        sparse.truncate(100000)
    for number in range(OWN):
        _write(data / "own" / str(number), 9000 + number, 1000 + number)
    (data / "private").chmod(0o400)


def _make_links(data):
    os.link(data / "hard1", data / "hard2")
    for name, target in {"link": "a.bin", "dangling": "nowhere", "loop": "loop", "dirlink": "sub",
                         "outward": "../other/o.txt", "outwarddir": "../other",
                         "poollink": "pool", "turn": "move", "turn2": "other"}.items():
        (data / name).symlink_to(target)


def _make_pool(data):
    for name in "pool", "sym", "hard":
        (data / name).mkdir()
    for number in range(POOL):
        _write(data / "pool" / str(number), 3000 + number, 2000 + number)
        (data / "sym" / str(number)).symlink_to(f"../pool/{number}")
        if number % 2 == 0:
            os.link(data / "pool" / str(number), data / "hard" / str(number))


def age(base):
    """Sets the times of all files, of links to directories as well."""
    for directory, directories, names in os.walk(base, topdown=False):
        for name in [*names, *directories, "."]:
            os.utime(os.path.join(directory, name), (OLD, OLD), follow_symlinks=False)
    os.utime(base / "data" / "old", (-1, -1000000000))


def make(base):
    """Makes the files; the caller's copy of them is made with copy()."""
    _make_files(base / "data")
    _make_links(base / "data")
    _make_pool(base / "data")
    _write(base / "other" / "o.txt", 6000, 1)
    (base / "other" / "inward").symlink_to("../data")
    _write(base / "data2" / "a.bin", 600, 2)
    age(base)


def copy(master, base):
    """Puts a fresh copy at base, old enough to be cached. An earlier copy goes aside, and with all
    else at the end. ext4 without a journal looks long for inodes where some were freed a moment
    ago."""
    if base.exists():
        base.rename(f"{base}-{next(_numbers)}")
    subprocess.run(["cp", "-a", master, base], check=True)
    (base / "data" / "forbidden").chmod(0)  # only here, or not everybody could copy it
    time.sleep(AGE)
