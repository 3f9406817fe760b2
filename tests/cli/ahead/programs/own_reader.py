"""A job without torch: PROGRAM DIRECTORY ORDER EPOCHS [FILES].

ORDER: "sorted", "shuffled", or "waits" (sorted; after so many files it waits for a line). Prints a checksum for each
epoch.
"""

import os
import random
import sys
import zlib


def list_files(directory):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(directory) for name in names)


def read(path):
    with open(path, "rb") as file:
        return zlib.crc32(file.read(), zlib.crc32(path.encode()))


def main(directory, order, epochs, files=None):
    paths = list_files(directory)
    draw = random.Random(1)
    for _ in range(int(epochs)):
        if order == "shuffled":
            draw.shuffle(paths)
        print(sum(map(read, paths[:files and int(files)])), flush=True)
        if order == "waits":
            sys.stdin.readline()


main(*sys.argv[1:])
