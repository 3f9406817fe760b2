"""Filling ahead over a file system that answers after 1 ms: one file at a time, and many."""

import os
import sys
import time

import ground
from measure import QUICK, Table, times

sys.path.append(os.path.join(ground.REPOSITORY, "tests/slowfs"))

LATENCY_MS = 1
FILES, SIZE = (300 if QUICK else 2000), 64 << 10
STARTS = 3


def timed(action):
    start = time.monotonic()
    action()
    return time.monotonic() - start


def read_all(directory):
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            file.read()


def warm(directory, jobs):
    environment = ground.bare_environment()
    environment["STOKER_MIN_AGE"] = ground.MIN_AGE_S
    ground.run([ground.STOKER, "warm", "--jobs=%d" % jobs, directory], environment)


def one_start(directory):
    """Files a second: of one reader without Stoker, of one filler, of 64."""
    lanes = [timed(lambda: read_all(directory))]
    for jobs in (1, 64):
        lanes.append(timed(lambda: warm(directory, jobs)))
        ground.clear()
    return [[FILES / seconds] for seconds in lanes]


def measure():
    import slowfs
    table = Table("warm")
    try:
        with ground.scratch() as directory:
            ground.make_files(directory + "/data", FILES, SIZE)
            ground.let_age()
            with slowfs.SlowFS(directory + "/data", latency_ms=LATENCY_MS) as slow:
                plain, one, many = ground.collect(times(STARTS),
                                                  lambda: one_start(slow.mountpoint))
    except slowfs.SlowFSError as error:
        raise ground.Skip(str(error)) from error
    table.row("stoker warm, 64 at a time, 64 KB", "files/s", many, plain,
              peer_name="one reader, without", decimals=0, goal=8, at_least=True)
    table.row("stoker warm, 64 at a time", "files/s", many, one, peer_name="one at a time",
              decimals=0, goal=8, at_least=True)
    return table
