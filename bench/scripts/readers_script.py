#!/usr/bin/env python3
"""The reading side of a training script on one big file, that runs the epochs it is asked for.

    readers_script.py hdf5|lmdb

Reads "PATH WORKERS PASSES" from each line of its standard input. So many new processes, as of a
DataLoader, open the file. Between them they read all samples so often, in random order (0.1: a
tenth of the samples). Prints the samples and the seconds. It knows nothing of Stoker.

    readers_script.py hdf5|lmdb make PATH SAMPLES BYTES
"""

import math
import multiprocessing
import random
import sys
import time

opened = None  # of this process


class Hdf5:
    @staticmethod
    def make(path, samples, size):
        import h5py
        import numpy

        draw = numpy.random.default_rng(1)
        with h5py.File(path, "w") as file:
            rows = file.create_dataset("x", (samples, size), "u1", chunks=(1, size))
            for sample in range(samples):
                rows[sample] = draw.integers(0, 256, size, dtype="u1")

    def __init__(self, path):
        import h5py

        self.rows = h5py.File(path, "r")["x"]

    def __len__(self):
        return len(self.rows)

    def read(self, sample):
        return self.rows[sample].nbytes


class Lmdb:
    @staticmethod
    def make(path, samples, size):
        import lmdb
        import numpy

        draw = numpy.random.default_rng(1)
        with lmdb.open(path, map_size=2 * samples * size) as base:
            with base.begin(write=True) as transaction:
                for sample in range(samples):
                    transaction.put(b"%08d" % sample, draw.bytes(size))

    def __init__(self, path):
        import lmdb

        self.base = lmdb.open(path, readonly=True, lock=False, readahead=False)

    def __len__(self):
        return self.base.stat()["entries"]

    def read(self, sample):
        with self.base.begin() as transaction:
            return len(transaction.get(b"%08d" % sample))


KINDS = {"hdf5": Hdf5, "lmdb": Lmdb}


def open_here(kind, path):
    global opened
    opened = KINDS[kind](path)


def read(sample):
    return opened.read(sample)


def count(job):
    return len(KINDS[job[0]](job[1]))


def run_epoch(kind, path, workers, passes):
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        samples = list(range(pool.map(count, [(kind, path)])[0]))
    order = random.sample(samples * math.ceil(passes), int(len(samples) * passes))
    start = time.perf_counter()
    with context.Pool(workers, open_here, (kind, path)) as pool:
        for _ in pool.imap_unordered(read, order, 4):
            pass
    return len(order), time.perf_counter() - start


def main():
    kind = sys.argv[1]
    if sys.argv[2:3] == ["make"]:
        KINDS[kind].make(sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        return
    print("ready", flush=True)
    for line in sys.stdin:
        path, workers, passes = line.split()
        print(*run_epoch(kind, path, int(workers), float(passes)), flush=True)


if __name__ == "__main__":
    main()
