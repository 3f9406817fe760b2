"""Values of a store that is on a disk and not in memory.

    cold.py keep|read|wait COUNT BYTES

    cold.py forget DIRECTORY

`keep` puts them, and `forget` has the kernel drop its pages of the store's file. `read` prints the
major faults, each of which waited for the disk, and how many values were right. `wait` does so when
it has found all of them, without looking at one, and read a line.
"""

import os
import pathlib
import resource
import sys

from stoker._store import samples


def value(number, size):
    return bytes([number % 251]) * size


def forget(directory):
    path, = pathlib.Path(directory).glob("*/data.mdb")
    with open(path, "rb") as file:
        os.fdatasync(file)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def keep(store, count, size):
    print(sum(store.put(store.key(b"%d" % number), value(number, size)) for number in range(count)))


def read(store, count, size):
    faults = -resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    found = [store.get(store.key(b"%d" % number)) for number in range(count)]
    faults += resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    print(faults, sum(bytes(one or b"") == value(i, size) for i, one in enumerate(found)))


def wait(store, count, size):
    print(sum(store.put(store.key(b"%d" % number), b"") for number in range(count)), flush=True)
    sys.stdin.readline()
    read(store, count, size)


def main():
    if sys.argv[1] == "forget":
        return forget(sys.argv[2])
    {"keep": keep, "read": read, "wait": wait}[sys.argv[1]](samples.store(), *map(int, sys.argv[2:4]))


main()
