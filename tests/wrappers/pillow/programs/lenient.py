"""LOAD_TRUNCATED_IMAGES, set or not when files are opened, when they are loaded, and when their
pixels are used: sound files and others. Arguments: a directory of JPEGs (see images.py), and in how
many of three ways each file is given with each setting of the flag. From file to file the ways take turns. With one way so do the
settings, of files with a changed byte: each of them meets half of the eight, in which any two flags have all their values."""

import io
import itertools
import os
import random
import sys
import tempfile

import cases
from cases import CASES, Image, outcome
from PIL import ImageFile

DIRECTORY, WAYS = sys.argv[1], int(sys.argv[2])
del sys.argv[2]
NAMES = ["color.jpg", "444.jpg", "grey.jpg", "progressive.jpg", "optimized.jpg", "restart.jpg"]


class Stream(io.BytesIO):
    """A stream of the program's own."""


def of_name(data):
    with tempfile.NamedTemporaryFile(suffix=".jpg", delete=False) as file:
        file.write(data)
    return file.name


def files(name):
    """{what was done to it: bytes}"""
    with open(os.path.join(DIRECTORY, name), "rb") as file:
        data = file.read()
    size, dice = len(data), random.Random(name)
    middle = size * 2 // 3
    kinds = {"sound": data, "with bytes behind": data + b"junk" * 100, "twice": data + data,
             "with zeros behind": data + bytes(70000),
             "with a cut one behind": data + data[:size // 2],
             "without its end": data[:-2], "with half of its end": data[:-1],
             "with another end": data[:-1] + b"\xd0", "in its header": data[:200],
             "ends in zeros": data[:-300] + bytes(300), "without its middle": data[:middle - 99] +
             data[middle:], "of zeros within": data[:middle] + bytes(99) + data[middle + 99:]}
    for part in (3, 5, 8, 9):
        kinds[f"cut at {part}/10"] = data[:size * part // 10]
        kinds[f"cut at {part}/10, with an end"] = data[:size * part // 10] + b"\xff\xd9"
    for marker in (0xD9, 0xD8, 0xDA, 0xD3, 0xFF):
        kinds[f"has {marker:x} within"] = data[:middle] + bytes([0xFF, marker]) + data[middle + 2:]
    for number in range(12):
        at = dice.randrange(size // 2 if number % 2 else 2, size)
        kinds[f"byte {at} flipped"] = (
            data[:at] + bytes([data[at] ^ dice.randrange(1, 256)]) + data[at + 1:])
    return kinds


def used(source, flags):
    """Returns the outcomes of a file at each step. The flag is set from `flags` before each of
    them."""
    told, results = iter(flags), []

    def step(function):
        ImageFile.LOAD_TRUNCATED_IMAGES = next(told)
        try:
            results.append(outcome(function))
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False

    step(lambda: opened.append(Image.open(source)))
    if opened:
        step(lambda: bool(opened[0].load()))
        step(lambda: opened[0].convert("RGB").crop((1, 2, 60, 50)).resize((30, 20), 2))
        step(lambda: opened[0])
        results.append([hasattr(opened[0], "_ended"), len(opened[0].tile)])
        opened.clear()
    if not isinstance(source, str):
        results.append([source.closed, source.closed or source.tell()])
    return results


opened = []


def used_by_name(data, flags):
    name = of_name(data)
    try:
        return used(name, flags)
    finally:
        os.unlink(name)


GIVEN = (lambda data, flags: used(io.BytesIO(data), flags), lambda data, flags: used(Stream(data), flags),
         used_by_name)


def every_way(data, number, is_changed):
    results = []
    for turn, flags in enumerate(itertools.product((False, True), repeat=3)):
        if WAYS == 1 and is_changed and (sum(flags) + number) % 2:
            continue
        for way in range(WAYS):
            results.append(GIVEN[(number + turn + way) % len(GIVEN)](data, flags + flags[-1:]))
    return results


for name in NAMES:
    for what, data in files(name).items():
        is_changed = what.startswith(("byte", "has"))
        CASES[f"{name}, {what}"] = lambda data=data, number=len(CASES), is_changed=is_changed: every_way(data, number, is_changed)
cases.tell()
