"""One node's epoch, by SEED, PROCESSES and FILE... Each process reads its share in a random order.
Prints the sum of all files' checksums, which no order changes."""

import multiprocessing
import random
import sys
import zlib


def read(paths):
    total = 0
    for path in paths:
        with open(path, "rb") as file:
            total += zlib.crc32(file.read())
    return total


def main():
    seed, processes, paths = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    random.Random(seed).shuffle(paths)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        print(sum(pool.map(read, [paths[i::processes] for i in range(processes)], chunksize=1)))


main()
