"""JPEGs that are turned as their EXIF says, or by a transpose, and what is done with the result. Argument: a directory of
JPEGs.
"""

import io
import os
import sys

from cases import CASES, Image, show, tell
from PIL import ImageOps

DIRECTORY = sys.argv[1]
del sys.argv[1]


def turned(image):
    return ImageOps.exif_transpose(image).convert("RGB")


def whole(image):
    new = turned(image)
    return show(new), show(image)


def cropped(image):
    return turned(image).crop((3, 5, 29, 40)).crop((1, 0, 20, 30))


def resized(image):
    return turned(image).resize((31, 47), 2)


def training(image):
    return turned(image).crop((2, 7, 40, 41)).resize((24, 24), 3).transpose(0)


def validation(image):
    new = turned(image).resize((40, 52), 2)
    return new.crop((5, 9, 37, 41)), new.size


def small(image):
    new = turned(image)
    new.thumbnail((20, 20))
    return new


def again(image):
    new = turned(image)
    return new.transpose(4), ImageOps.exif_transpose(new), new.transpose(1)


def copies(image):
    new = turned(image)
    return new.copy().crop((0, 0, 9, 9)), new.tobytes()[:300], new.getexif().get(274), sorted(new.info)


def flipped_first(image):
    return turned(image).transpose(0).crop((3, 4, 40, 39)).resize((20, 21), 2)


WAYS = whole, cropped, resized, training, validation, small, again, copies, flipped_first


def by_exif(data, way):
    return lambda: way(Image.open(io.BytesIO(data)))


def by_method(data, method):
    def case():
        image = Image.open(io.BytesIO(data)).convert("RGB").transpose(method)
        return image.crop((1, 2, 30, 33)).resize((17, 19), 2), image.size
    return case


for name in sorted(os.listdir(DIRECTORY)):
    with open(os.path.join(DIRECTORY, name), "rb") as file:
        DATA = file.read()
    for WAY in WAYS:
        CASES[f"{name} {WAY.__name__}"] = by_exif(DATA, WAY)
    for METHOD in range(7):
        CASES[f"{name} {METHOD}"] = by_method(DATA, METHOD)

tell()
