"""Epochs of one HDF5 file and one LMDB, by 1, 4 and 16 workers, over a slow file system.

As in the part `epochs`, two processes of a script run theirs in turn, one of them under `stoker run`.
The workers of each epoch are new ones, as torch's are unless they are persistent.
"""

import os
import subprocess
import sys

import ground
from measure import QUICK, Table, times
from parts.epochs import Script

sys.path.append(os.path.join(ground.REPOSITORY, "tests/slowfs"))

SCRIPT = os.path.join(ground.REPOSITORY, "bench", "readers_script.py")
SAMPLE_BYTES = 100_000
SAMPLES = 800 if QUICK else 2500  # the file is above STOKER_MAX_FILE
TIER = "/dev/shm:600M"
LATENCY_MS = 1
WORKERS = (4,) if QUICK else (1, 4, 16)
STARTS = 1 if QUICK else 3
EPOCHS = 3  # under Stoker


def make(kind, directory):
    os.makedirs(directory)
    done = subprocess.run([sys.executable, SCRIPT, kind, "make", os.path.join(directory, kind),
                           str(SAMPLES), str(SAMPLE_BYTES)], capture_output=True, text=True)
    if done.returncode != 0:
        raise ground.Skip("no %s: %s" % (kind, done.stderr.strip()[-300:]))
    return directory


def rate(script, path, workers):
    samples, seconds = script.ask("%s %d" % (path, workers))
    return float(samples) / float(seconds)


def one_start(kind, slow, local, workers):
    """Samples a second: without; the epochs under Stoker; the first with --warm; of the disk."""
    stoker = [ground.STOKER, "run", "--path", slow, "--tier", TIER]
    theirs, ours = os.path.join(local, kind), os.path.join(slow, kind)
    with Script([], SCRIPT, kind) as bare:
        rate(bare, theirs, workers)  # page cache, imports
        lanes = [rate(bare, ours, workers)]
        with Script(stoker + ["--"], SCRIPT, kind) as cached:
            lanes += [rate(cached, ours, workers) for _ in range(EPOCHS)]
            lanes.append(rate(bare, theirs, workers))
        with Script(stoker + ["--warm", "--"], SCRIPT, kind) as warm:
            lanes.append(rate(warm, ours, workers))
    return [[lane] for lane in lanes]


def rows(table, kind, workers, lanes):
    plain, first, second, third, local, warm = lanes
    what = "%s, %d worker%s: " % ({"hdf5": "HDF5", "lmdb": "LMDB"}[kind], workers,
                                  "s" * (workers > 1))
    rated = {"unit": "samples/s", "decimals": 0}
    table.row(what + "epoch 1", ours=first, peer=plain, peer_name="without", **rated)
    table.row(what + "epoch 1 with --warm", ours=warm, peer=plain, peer_name="without", **rated)
    table.row(what + "epoch 2", ours=second, peer=plain, peer_name="without", **rated)
    for number, lane in (2, second), (3, third):
        table.row(what + "epoch %d" % number, ours=lane, peer=local, peer_name="local disk",
                  goal=0.95, at_least=True, **rated)


def measure():
    import slowfs

    table = Table("readers")
    try:
        with ground.scratch() as directory:
            for kind in ("hdf5", "lmdb"):
                local = make(kind, os.path.join(directory, kind))
                ground.let_age()
                with slowfs.SlowFS(local, latency_ms=LATENCY_MS) as slow:
                    for workers in WORKERS:
                        rows(table, kind, workers, ground.collect(
                            times(STARTS),
                            lambda: one_start(kind, slow.mountpoint, local, workers)))
    except slowfs.SlowFSError as error:
        raise ground.Skip(str(error)) from error
    table.note("Random samples of %d KB of a file of %d MB, %d ms; each epoch has new workers."
               % (SAMPLE_BYTES // 1000, SAMPLES * SAMPLE_BYTES // 1000000, LATENCY_MS))
    return table
