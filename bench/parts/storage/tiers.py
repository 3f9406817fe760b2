"""Small files by the hundred thousand, and memory that cannot know or hold them: what a disk behind it serves."""

import os
import pathlib
import sys

import ground
from measure import QUICK, Table

sys.path += [os.path.join(ground.REPOSITORY, each) for each in ("tests/lib", "tests/lib/places")]

SIZE = 200
IN_FRONT = 10000 if QUICK else 100000   # behind 100 MB of memory
BESIDE = 20000 if QUICK else 400000     # beside a /dev/shm of 64 MB
EPOCH = 'find "$0" -type f -print0 | xargs -0 cat'
COMMAND = f'for epoch in 1 2; do {EPOCH}; done | wc -c; df -B1 --output=avail /dev/shm | tail -1'


def two_epochs(files, shm, tiers):
    """Returns the part of the second epoch that was served, and the bytes that /dev/shm had left at the job's end."""
    from isolated import Isolated
    from jobs import Jobs
    with ground.scratch() as top, ground.disk_of_files(top + "/volume", 2 * files) as name, \
            Isolated(shm_size=shm) as place:
        data, disk = (os.path.join(name, each) for each in ("data", "disk"))
        ground.make_tree(data, files // 1000, 1000, SIZE)
        os.mkdir(disk)
        ground.let_age()
        ran = Jobs(place, pathlib.Path(ground.BUILD), pathlib.Path(name)).run(
            ["sh", "-c", COMMAND, data], path=data, timeout=600,
            flags=["--tier=" + each.replace("disk", disk) for each in tiers])
        second = ran.epoch(2)
        ground.say("%d files: %.0f s, %d of %d served" % (files, ran.json["seconds"], second["hits"], second["opens"]))
    read, left = map(int, ran.stdout.split())
    assert read == 2 * files * SIZE, "wrong bytes"
    return second["hits"] / files, left


def row(table, what, unit, value, goal, decimals=3):
    table.row(what, unit, [[value]], goal=goal, at_least=True, decimals=decimals)


def measure():
    table = Table("tiers")
    served, _ = two_epochs(IN_FRONT, "1g", ("/dev/shm:100M", "disk:1500M"))
    row(table, "%d files, 100 MB of memory and 1500 MB of a disk: served in epoch 2" % IN_FRONT, "x", served, 0.99)
    served, left = two_epochs(BESIDE, "64m", ("disk",))
    what = "%d files, a /dev/shm of 64 MB and a disk: " % BESIDE
    row(table, what + "served in epoch 2", "x", served, 0.99)
    row(table, what + "left of /dev/shm", "MB", left / 1e6, 32, decimals=1)
    table.note("Files of %d bytes, one run of two epochs each." % SIZE)
    return table
