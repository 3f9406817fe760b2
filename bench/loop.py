#!/usr/bin/env python3
"""loop.c in Python: one operation over the files of several lanes, in turn.

    loop.py [--slice-ms N] [--slices N] LANE...

A lane is OPERATION:LIST, with `read` (open(path, "rb").read()) or `stat` (os.stat), and a file of
paths, one a line. Prints one line for each lane: the nanoseconds per operation of each slice.
The two sides of a comparison are two processes here, since Python binds libc's functions itself.
"""

import argparse
import os
import time


def operate_read(paths):
    for path in paths:
        with open(path, "rb") as file:
            file.read()


def operate_stat(paths):
    for path in paths:
        os.stat(path)


OPERATIONS = {"read": operate_read, "stat": operate_stat}


def parse_lane(text):
    name, path = text.split(":", 1)
    with open(path) as file:
        return OPERATIONS[name], file.read().splitlines()


def measure_slice(operation, paths, slice_ns):
    passes, start = 0, time.perf_counter_ns()
    while True:
        operation(paths)
        passes += 1
        taken = time.perf_counter_ns() - start
        if taken >= slice_ns:
            return taken / (passes * len(paths))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slice-ms", type=float, default=5)
    parser.add_argument("--slices", type=int, default=20)
    parser.add_argument("lanes", nargs="+", type=parse_lane)
    arguments = parser.parse_args()
    for operation, paths in arguments.lanes:
        operation(paths)
    slices = [[measure_slice(*lane, arguments.slice_ms * 1e6) for lane in arguments.lanes]
              for _ in range(arguments.slices)]
    for lane in zip(*slices):
        print(*("%.1f" % ns for ns in lane))


if __name__ == "__main__":
    main()
