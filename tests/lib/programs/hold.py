"""Reads a folder, takes shared memory, and reads it again: `hold.py DIRECTORY MIB`. Where there is
less of it, it dies by SIGBUS; else it prints "well"."""

import mmap
import os
import sys


def read(directory):
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            file.read()


def main(directory, mebibytes):
    read(directory)
    size = int(mebibytes) << 20
    fd = os.open("/dev/shm/own", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, size)
    own = mmap.mmap(fd, 0)
    for page in range(0, size, mmap.PAGESIZE):
        own[page] = 1
    read(directory)
    print("well")


if __name__ == "__main__":
    main(*sys.argv[1:])
