"""JPEGs of arithmetic coding: what comes of each, at which step. Arguments: a directory of them, and
every how many tenths of each it is cut.

Pillow hands its decoder a file in pieces, and arithmetic coding cannot stop between two of them.
So what comes of a file depends on the size of the pieces, which a program can choose.
"""

import io
import os
import sys

import cases
from cases import CASES, Image, case
from PIL import ImageFile
from steps import steps

DIRECTORY, TENTHS = sys.argv[1], int(sys.argv[2])
del sys.argv[2]
NAMES = sorted(os.listdir(DIRECTORY))


def content(name):
    with open(os.path.join(DIRECTORY, name), "rb") as file:
        return file.read()


for name in NAMES:
    data = content(name)
    CASES[name] = lambda data=data: steps(data)
    CASES[f"{name}, by its name"] = lambda data=data: steps(data, as_file=True)
    for part in range(1, 10, TENTHS):
        CASES[f"{name} cut at {part}/10"] = lambda data=data, part=part: steps(
            data[:len(data) * part // 10])


@case
def larger_pieces():
    """The bytes that Pillow reads at once, for all images."""
    before, ImageFile.MAXBLOCK = ImageFile.MAXBLOCK, 1 << 22
    try:
        return [steps(content(name)) for name in NAMES]
    finally:
        ImageFile.MAXBLOCK = before


@case
def larger_pieces_of_one_image():
    images = []
    for name in NAMES:
        image = Image.open(io.BytesIO(content(name)))
        image.decodermaxblock = 1 << 22
        images.append(image)
    return images


@case
def lenient():
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        return [steps(content(name)) for name in NAMES]
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


cases.tell()
