"""Counts the reads of streams of the program's own: they may be dear. Arguments: `every` or `pairs`,
directories of JPEGs (see images.py). With `pairs` each kind of stream meets each size of a block and
each flag, and each of these meets the other, but not all three of them."""

import io
import itertools
import os
import sys

import cases
from cases import CASES, Image, outcome
from PIL import ImageFile


class Stream:
    """A stream that can be read and positioned, no more. It gives what it is asked for, and notes
    it."""

    def __init__(self, data):
        self.stream, self.reads = io.BytesIO(data), []

    def read(self, size=-1):
        at = self.stream.tell()
        data = self.stream.read(size)
        self.reads.append((at, size, len(data)))
        return data

    def seek(self, offset, whence=0):
        return self.stream.seek(offset, whence)

    def tell(self):
        return self.stream.tell()


class Little(Stream):
    """Gives less than it is asked for."""

    def read(self, size=-1):
        return super().read(min(size, 3000) if size > 3000 else size)


class Failing(Stream):
    """Fails once, behind the header."""

    failed = False

    def read(self, size=-1):
        if self.tell() >= 65536 and not self.failed:
            self.failed = True
            raise OSError("the server is gone")
        return super().read(size)


class Unseekable(Stream):
    """Fails once, at the seek of the first load()."""

    seeks = 0

    def seek(self, offset, whence=0):
        self.seeks += 1
        if self.seeks == 3:
            raise ValueError("lost")
        return super().seek(offset, whence)


class Mutable(Stream):
    """Gives what is no bytes object."""

    def read(self, size=-1):
        data = super().read(size)
        return bytearray(data) if size > 60000 else data


def read_twice(reads):
    """How many bytes."""
    twice = end = 0
    for at, _, size in sorted(reads):
        twice += size - max(0, at + size - max(end, at))
        end = max(end, at + size)
    return twice


def used(stream, block, flag, is_whole):
    """Returns the outcomes, the reads, and the stream's position at each step; two tries. Where the
    end is not in its place it is looked for, beyond what Pillow needs."""
    results = []

    def step(function):
        results.append([outcome(function), stream.reads[:] if is_whole else None,
                        read_twice(stream.reads), stream.tell()])
        stream.reads.clear()

    images = []
    step(lambda: images.append(Image.open(stream)))
    if images:
        images[0].decodermaxblock = block
        ImageFile.LOAD_TRUNCATED_IMAGES = flag
        for _ in range(2):
            step(lambda: bool(images[0].load()))
            results.append([images[0].fp is stream, len(images[0].tile)])
        ImageFile.LOAD_TRUNCATED_IMAGES = False
        step(lambda: images[0])
    return results


WAYS = list(itertools.product((Stream, Little, Mutable), (65536, 5000), (False, True)))
if sys.argv.pop(1) == "pairs":
    WAYS = [way for number, way in enumerate(WAYS) if number in (0, 3, 5, 6, 8, 11)]


def every_way(data, is_whole):
    results = [used(kind(data), block, flag, is_whole) for kind, block, flag in WAYS]
    return results + [used(kind(data), 65536, False, False) for kind in (Failing, Unseekable)]


for directory in sys.argv[1:]:
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), "rb") as file:
            data = file.read()
        end = len(data) * 3 // 5
        whole = {"": data, " with bytes behind": data + bytes(99999)}
        other = {" cut": data[:end], " with another end": data[:-1] + b"\xd0",
                 " with another end and more": data[:-1] + b"\xd0" + bytes(99999),
                 " with zeros": data[:end] + bytes(50) + data[end + 50:],
                 " with an end within": data[:end] + b"\xff\xd9" + data[end:]}
        for what, changed in (whole | other).items():
            CASES[name + what] = lambda data=changed, what=what: every_way(data, what in whole)
del sys.argv[2:]
cases.tell()
