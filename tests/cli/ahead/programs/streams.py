"""Goes through files from front to back, one after the other: PROGRAM DIRECTORY READERS. Or reads parts of the first
ones: PROGRAM DIRECTORY 0 FILES. Prints a checksum for each reader."""

import multiprocessing
import os
import random
import sys
import zlib

PIECE = 30000


def read(paths):
    check = 0
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(PIECE):
                check = zlib.crc32(piece, check)
    return check


def read_parts(path):
    draw = random.Random(path)
    file = os.open(path, os.O_RDONLY)
    for _ in range(4):
        os.pread(file, 100, draw.randrange(os.fstat(file).st_size - 100))


def main(directory, readers, files="0"):
    paths = sorted(os.path.join(directory, name) for name in os.listdir(directory))
    for path in paths[:int(files)]:
        read_parts(path)
    parts = [paths[number::int(readers)] for number in range(int(readers))]
    with multiprocessing.get_context("fork").Pool(max(1, len(parts))) as pool:
        print(*pool.map(read, parts, 1))


main(*sys.argv[1:])
