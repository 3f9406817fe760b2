"""The files that the tests of paths look at.

    BASE/data       the covered directory
    BASE/outside    beside it; links lead from each to the other
    BASE/alias      a link to data
"""

import os
import random
import socket

from origin import settle

NEWLINE = b"new\nline"
LONGEST_NAME = b"n" * 255  # that a file system takes
LONGEST_CACHED = b"c" * 242  # that fits with the hash in an entry's name
TOO_LONG_TO_CACHE = b"d" * 243
NOT_UTF8 = b"\xff\xfe\x80 caf\xe9"
ODD_NAMES = [NEWLINE, LONGEST_NAME, LONGEST_CACHED, TOO_LONG_TO_CACHE, NOT_UTF8, b" ", b"\\", b";",
             b"...", b"..x", b"x..", b".hidden", b"a;b", b"with:colon", b"*", b"\t\x01\x7f", b"-"]


def write(path, size=5000, seed=None):
    """A file of random bytes."""
    path = os.fsencode(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(random.Random(seed if seed is not None else path).randbytes(size))


def make(base):
    """Makes them all, old enough to be cached."""
    data, outside = base / "data", base / "outside"
    for number, name in enumerate(["a.bin", "sub/b.bin", "sub/deep/c.bin", "hard1", "other/b.bin"]):
        write(data / name, 5000 + number)
    for number, name in enumerate(["o.bin", "deep/p.bin"]):
        write(outside / name, 6000 + number)
    for number, name in enumerate(ODD_NAMES):
        write(os.path.join(os.fsencode(data), b"odd", name), 100 + number)
    (data / "empty").touch()
    (data / "emptydir").mkdir()
    os.mkfifo(data / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(data)  # the name of a socket has to be short
        listener.bind("socket")
        os.chdir("/")
    make_links(base, data, outside)
    settle()


def make_links(base, data, outside):
    os.link(data / "hard1", data / "hard2")
    os.link(data / "hard1", outside / "hard3")
    for name, target in {
            "data/link": "a.bin", "data/abslink": data / "a.bin", "data/chain": "dirlink/b.bin",
            "data/chain2": "chain", "data/dirlink": "sub", "data/sub/up": "..",
            "data/outfile": "../outside/o.bin", "data/outdir": "../outside",
            "data/dangling": "nowhere", "data/loop": "loop", "data/here": ".",
            "outside/inward": "../data", "outside/infile": "../data/a.bin",
            "alias": "data", "data/viaroot": "../data/a.bin"}.items():
        (base / name).symlink_to(target)
