"""Entropy decoding alone: our parser and the way to libjpeg's blocks, against libjpeg-turbo's."""

import os

import ground
from measure import Table, in_us, times
from parts.pixels import decode

STARTS = 5
CURSORS = (1, 2, 3, 4)


def measure_photos(cursors, kilobytes):
    """Starts of slices, in nanoseconds per image: libjpeg, parse, play."""
    directory = os.path.join(ground.OUT, "photographs-%d" % kilobytes)
    paths = [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
    found = {"libjpeg": [], "parse": [], "play": []}
    for _ in range(times(STARTS)):
        printed = ground.run([os.path.join(ground.OUT, "entropy"), str(cursors)] + paths)
        for line in printed.splitlines():
            name, *slices = line.split()
            found[name].append([float(each) for each in slices])
    return found


def measure():
    if not os.path.exists(os.path.join(ground.OUT, "entropy")):
        raise ground.Skip("the program was not built")
    ground.one_core()
    table = Table("entropy")
    for kilobytes, pixels in decode.SIZES:
        decode.photographs(kilobytes, pixels)
        for cursors in CURSORS:
            found = measure_photos(cursors, kilobytes)
            both = [[parse + play for parse, play in zip(*pair)]
                    for pair in zip(found["parse"], found["play"])]
            what = "%d KB, %d cursor%s" % (kilobytes, cursors, "s" if cursors > 1 else "")
            table.row(what + ": bytes to coefficients", "us", in_us(found["parse"]),
                      in_us(found["libjpeg"]), peer_name="libjpeg-turbo to blocks")
            table.row(what + ": bytes to blocks", "us", in_us(both), in_us(found["libjpeg"]),
                      peer_name="libjpeg-turbo")
    return table
