"""Epochs of one HDF5 file and one LMDB, by 1, 4 and 16 workers, over a slow file system.

As in the part `epochs`, two processes of a script run theirs in turn, one of them under `stoker run`.
The workers of each epoch are new ones, as torch's are unless they are persistent.
"""

import os
import subprocess
import sys

import ground
from measure import QUICK, Table, times
from parts.jobs.epochs import Script

sys.path.append(os.path.join(ground.REPOSITORY, "tests/lib/storage"))

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "readers_script.py")
SAMPLE_BYTES = 100_000
SAMPLES = 800 if QUICK else 2500  # the file is above STOKER_MAX_FILE
MEMORY = "/dev/shm"
BUDGET = ":600M"
LATENCY_MS = 1
WORKERS = (4,) if QUICK else (1, 4, 16)
STARTS = 1 if QUICK else 3
EPOCHS = 3  # under Stoker
PASSES = 8  # of an epoch that takes a fifth of a second
FIRST = {"hdf5": 1, "lmdb": 0.1}  # of one that may take a minute
WARM = {"hdf5": "--warm", "lmdb": "--warm=first"}  # what is mapped is mapped for good


def make(kind, directory):
    os.makedirs(directory)
    done = subprocess.run([sys.executable, SCRIPT, kind, "make", os.path.join(directory, kind),
                           str(SAMPLES), str(SAMPLE_BYTES)], capture_output=True, text=True)
    if done.returncode != 0:
        raise ground.Skip("no %s: %s" % (kind, done.stderr.strip()[-300:]))
    return directory


def rate(script, path, workers, passes=1):
    samples, seconds = script.ask("%s %d %g" % (path, workers, passes))
    return float(samples) / float(seconds)


def forget(path):
    """Has the kernel keep nothing of what is there: a program before has read it."""
    for directory, _, names in os.walk(path):
        for each in names:
            fd = os.open(os.path.join(directory, each), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def cold_rate(script, kind, slow, path, workers):
    forget(slow)
    return rate(script, path, workers, FIRST[kind])


def one_start(kind, slow, local, workers, tier=MEMORY):
    """Samples a second: without; the epochs under Stoker; the first with --warm; of the disk."""
    stoker = [ground.STOKER, "run", "--path", slow, "--tier", tier + BUDGET]
    theirs, ours = os.path.join(local, kind), os.path.join(slow, kind)
    with Script([], SCRIPT, kind) as bare:
        rate(bare, theirs, workers)  # page cache, imports
        lanes = [cold_rate(bare, kind, slow, ours, workers)]
        with Script(stoker + ["--"], SCRIPT, kind) as cached:
            lanes.append(cold_rate(cached, kind, slow, ours, workers))
            lanes += [rate(cached, ours, workers, PASSES) for _ in range(1, EPOCHS)]
            lanes.append(rate(bare, theirs, workers, PASSES))
        with Script(stoker + [WARM[kind], "--"], SCRIPT, kind) as warm:
            lanes.append(cold_rate(warm, kind, slow, ours, workers))
    return [[lane] for lane in lanes]


def name(kind, workers, where=""):
    named = {"hdf5": "HDF5", "lmdb": "LMDB"}[kind]
    return "%s, %d worker%s%s: " % (named, workers, "s" * (workers > 1), where)


def local_rows(table, what, lanes):
    _, _, second, third, local, _ = lanes
    for number, lane in (2, second), (3, third):
        table.row(what + "epoch %d" % number, "samples/s", lane, local, peer_name="local disk",
                  decimals=0, goal=0.95, at_least=True)


def rows(table, what, kind, lanes):
    plain, first, second, _, _, warm = lanes
    for when, lane in ("1", first), ("1 with " + WARM[kind], warm), ("2", second):
        table.row(what + "epoch " + when, "samples/s", lane, plain, peer_name="without", decimals=0)
    local_rows(table, what, lanes)


def measure_tier(table, kind, slow, local, tier, where):
    for workers in WORKERS:
        local_rows(table, name(kind, workers, where), ground.collect(
            times(STARTS), lambda: one_start(kind, slow, local, workers, tier)))


def measure_huge(table, directory, kind, slow, local):
    """Out of pages of 4 KB the kernel copies and maps slower than out of the page cache's large ones."""
    try:
        with ground.huge_tmpfs(directory + "/huge-" + kind) as tier:
            measure_tier(table, kind, slow, local, tier, ", tier with huge pages")
    except ground.Skip as reason:
        ground.say("readers: without huge pages: %s" % reason)


def measure_disk(table, directory, kind, slow, local):
    tier = os.path.join(directory, "tier-" + kind)
    os.mkdir(tier)
    measure_tier(table, kind, slow, local, tier, ", tier on the local disk")


def measure_kind(table, directory, kind):
    import slowfs
    local = make(kind, os.path.join(directory, kind))
    ground.let_age()
    with slowfs.SlowFS(local, latency_ms=LATENCY_MS) as slow:
        for workers in WORKERS:
            rows(table, name(kind, workers), kind, ground.collect(
                times(STARTS), lambda: one_start(kind, slow.mountpoint, local, workers)))
        measure_huge(table, directory, kind, slow.mountpoint, local)
        measure_disk(table, directory, kind, slow.mountpoint, local)


def measure():
    import slowfs
    table = Table("readers")
    try:
        with ground.scratch() as directory:
            for kind in ("hdf5", "lmdb"):
                measure_kind(table, directory, kind)
    except slowfs.SlowFSError as error:
        raise ground.Skip(str(error)) from error
    table.note("Random samples of %d KB of a file of %d MB, %d ms; each epoch has new workers. From the"
               " second epoch, and of the local disk, each reads all samples %d times; of LMDB's first,"
               " a tenth once."
               % (SAMPLE_BYTES // 1000, SAMPLES * SAMPLE_BYTES // 1000000, LATENCY_MS, PASSES))
    return table
