"""Decodes the same images again and again, and says how memory grew.

Arguments: a directory of JPEGs, a count.
"""

import io
import os
import sys

import stoker
from stoker import Image

DIRECTORY, COUNT = sys.argv[1], int(sys.argv[2])


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def content(name):
    with open(os.path.join(DIRECTORY, name), "rb") as file:
        return file.read()


GOOD = [content(name) for name in ("color.jpg", "444.jpg", "small.jpg", "exif.jpg")]
CUT = GOOD[0][:1200] + bytes(900) + b"\xff\xd9"


def decode(number):
    """In all the ways that there are, and now and then what cannot be decoded."""
    image = Image.open(io.BytesIO(CUT if number % 50 == 0 else GOOD[number % len(GOOD)]))
    kind = number % 5
    if kind == 0:
        image.convert("RGB").crop((0, 0, 5, 5)).resize((16, 16), 2).transpose(0).tobytes()
    elif kind == 1:
        image.load()[1, 1]
    elif kind == 2:
        image.crop((1, 1, 6, 5)).rotate(3)
    elif kind == 3:
        image.copy().tobytes()
    else:
        stoker.decode(GOOD[number % len(GOOD)], size=(9, 9), out=bytearray(243))


for number in range(COUNT // 20):
    decode(number)
before = resident()
for number in range(COUNT):
    decode(number)
print(resident() - before, stoker.counts()["images"])
