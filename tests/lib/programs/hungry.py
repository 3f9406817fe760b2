"""Reads files, then takes more and more memory, and reads them again: `hungry.py DIR MIB`.

With a third argument it takes the memory first.
"""

import pathlib
import sys
import time

STEP = 8 << 20


def read(directory):
    return [hash(file.read_bytes()) for file in sorted(directory.iterdir())]


def take(mebibytes):
    taken = []
    while len(taken) * STEP < mebibytes << 20:
        taken.append(b"x" * STEP)
        time.sleep(0.1)
    return taken


def main():
    directory, mebibytes = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    first = take(mebibytes) if len(sys.argv) > 3 else []
    read_first = read(directory)
    later = [] if first else take(mebibytes)
    assert read(directory) == read_first
    print("well", len(first or later))


if __name__ == "__main__":
    main()
