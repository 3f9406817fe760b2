"""One file by several paths: what a job reads again of files that were filled by another path."""

import os
import sys

import ground
from measure import QUICK, Table

sys.path.append(os.path.join(ground.REPOSITORY, "tests/lib/storage"))

READER = os.path.join(ground.REPOSITORY, "bench/scripts", "ahead_script.py")
FILES, SIZE = (300 if QUICK else 2000), 64 << 10


def read_above(slow):
    """Fills a directory by its own path. Returns the bytes that a job over the directory above it has from the origin."""
    environment = ground.bare_environment()
    environment["STOKER_MIN_AGE"] = ground.MIN_AGE_S
    ground.run([ground.STOKER, "warm", slow.mountpoint + "/train"], environment, preexec_fn=None)
    with slow.counting() as counted:
        printed, _ = ground.run_stoker(slow.mountpoint, "/dev/shm", [sys.executable, READER, "tree", slow.mountpoint])
    ground.clear()
    assert printed.split()[:2] == [str(FILES), str(FILES * SIZE)], "wrong bytes"
    return counted["read_bytes"]


def measure():
    import slowfs
    table = Table("places")
    try:
        with ground.scratch() as directory:
            ground.make_files(directory + "/data/train", FILES, SIZE)
            ground.let_age()
            with slowfs.SlowFS(directory + "/data", latency_ms=1) as slow:
                read = read_above(slow)
    except slowfs.SlowFSError as error:
        raise ground.Skip(str(error)) from error
    table.row("stoker warm DIR/train, then run --path DIR: bytes from the origin, of the data", "x",
              [[read / (FILES * SIZE)]], goal=0, decimals=3)
    return table
