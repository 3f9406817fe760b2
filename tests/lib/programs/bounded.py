"""Reads all files twice, in another order each time and with as many processes as a loader's, while
it takes more and more memory: `bounded.py DIRECTORY PROCESSES MIB`. Prints "well".

Each file's content follows from its name (`make DIRECTORY COUNT BYTES` writes them): a byte that is
wrong is noticed. Half of the memory is taken in the first epoch, all of it by the end of the second.
"""

import multiprocessing
import pathlib
import random
import sys

PIECE = bytes(range(1, 251)) * 4195  # a MiB or so, of no power of two


def content(name, size):
    number = int(name)
    start = number * 7919 % 65536
    pattern = PIECE[start:] + PIECE[:start]
    return (pattern * (size // len(pattern) + 1))[:size - 8] + number.to_bytes(8, "big")


def make(directory, count, size):
    for number in range(count):
        (directory / f"{number:05}").write_bytes(content(f"{number:05}", size))


def check(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data == content(path.name, len(data)), path
    return len(data)


def take(taken, mebibytes):
    taken.append(b"x" * max(mebibytes - sum(map(len, taken)) // (1 << 20), 0) * (1 << 20))


def read(directory, processes, mebibytes):
    files = sorted(directory.iterdir())
    taken = []
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for epoch in (1, 2):
            order = random.Random(epoch).sample(files, len(files))
            for done, _ in enumerate(pool.imap_unordered(check, order, chunksize=4), 1):
                if done % max(len(files) // 16, 1) == 0:
                    take(taken, mebibytes * (done + (epoch - 1) * len(files)) // (2 * len(files)))
    print("well")


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[2] if sys.argv[1] == "make" else sys.argv[1])
    if sys.argv[1] == "make":
        make(place, int(sys.argv[3]), int(sys.argv[4]))
    else:
        read(place, int(sys.argv[2]), int(sys.argv[3]))
