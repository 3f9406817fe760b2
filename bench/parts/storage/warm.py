"""Filling ahead: over a file system that answers after 1 ms, and from this disk beside fio."""

import json
import os
import shutil
import subprocess
import sys
import time

import ground
from measure import QUICK, Table, times

sys.path.append(os.path.join(ground.REPOSITORY, "tests/lib/storage"))

LATENCY_MS = 1
FILES, SIZE = (300 if QUICK else 2000), 64 << 10
STARTS = 3
SMALL = (400 if QUICK else 4000, 110 << 10)  # as photographs
BIG = (1 if QUICK else 4, 128 << 20)


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
    number = ["--jobs=%d" % jobs] if jobs else []
    ground.run([ground.STOKER, "warm", *number, directory], environment, preexec_fn=None)


def one_start(directory):
    """Files a second: of one reader without Stoker, of one filler, of 64."""
    lanes = [timed(lambda: read_all(directory))]
    for jobs in (1, 64):
        lanes.append(timed(lambda: warm(directory, jobs)))
        ground.clear()
    return [[FILES / seconds] for seconds in lanes]


def measure_slow(table):
    import slowfs
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


# ---- this disk ----

def forget():
    """Has the kernel keep nothing of any file."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")


def fio_rate(paths):
    """MB/s of fio, which reads the files one after the other from front to back."""
    command = ["fio", "--name=read", "--rw=read", "--bs=1M", "--readonly", "--output-format=json",
               "--file_service_type=sequential", "--filename=" + ":".join(paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]["read"]["bw_bytes"] / 1e6


def warm_rate(directory, paths):
    forget()
    megabytes = sum(os.path.getsize(path) for path in paths) / 1e6
    seconds = timed(lambda: warm(directory, 0))
    ground.clear()
    return megabytes / seconds


def one_disk_start(small, small_paths, big, big_paths):
    """MB/s of fio, of stoker warm with the same files, and with small ones."""
    forget()
    lanes = [fio_rate(big_paths), warm_rate(big, big_paths), warm_rate(small, small_paths)]
    return [[lane] for lane in lanes]


def measure_disk(table):
    if os.geteuid() != 0 or shutil.which("fio") is None:
        ground.say("warm: this disk is left out: it takes root and fio (apt-get install fio)")
        return
    with ground.scratch() as directory:
        small, big = directory + "/small", directory + "/big"
        paths = ground.make_files(small, *SMALL), ground.make_files(big, *BIG)
        ground.let_age()
        fio, bigs, smalls = ground.collect(
            times(STARTS), lambda: one_disk_start(small, paths[0], big, paths[1]))
    for what, lane in (("%d files of %d MiB" % (BIG[0], BIG[1] >> 20), bigs),
                       ("%d files of %d KiB" % (SMALL[0], SMALL[1] >> 10), smalls)):
        table.row("stoker warm of this disk, " + what, "MB/s", lane, fio, decimals=0,
                  peer_name="fio, sequential reads of 1 MiB", at_least=True)


# ---- all ----

def measure():
    table = Table("warm")
    measure_slow(table)
    measure_disk(table)
    return table
