"""Resizes of images that no JPEG waits behind, each out of its seed alone: modes, sources, filters,
boxes, and what Pillow refuses. Arguments: a directory of JPEGs, the first seed, how many."""

import io
import os
import random
import sys

import cases
from cases import CASES, Image

DIRECTORY, FIRST, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
del sys.argv[2:]

BYTES = {"L": 1, "RGB": 3, "RGBA": 4, "LA": 2, "CMYK": 4, "YCbCr": 3, "HSV": 3, "LAB": 3, "RGBX": 4,
         "P": 1, "I": 4, "F": 4, "I;16": 2}
MODES = ["L", "RGB"] * 5 + ["RGBA", "CMYK"] * 2 + sorted(BYTES)
FILTERS = [1, 2, 2, 2, 3, 3, 4, 5, None, 0]
FORMATS = {"PNG": ("L", "RGB", "RGBA", "LA"), "BMP": ("L", "RGB"), "TIFF": ("L", "RGB", "CMYK"),
           "PPM": ("L", "RGB"), "WEBP": ("RGB", "RGBA"), "GIF": ("P",)}


def raw(dice, mode, size):
    values = dice.randbytes(size[0] * size[1] * BYTES[mode])
    if mode == "F":
        return Image.frombytes("L", size, values[::4]).convert("F")
    return Image.frombytes(mode, size, values)


def from_file(dice, image):
    """As a file that was only opened."""
    kinds = [kind for kind, modes in FORMATS.items() if image.mode in modes]
    if not kinds or dice.random() < 0.3:
        return image
    stream = io.BytesIO()
    image.save(stream, dice.choice(kinds))
    return Image.open(stream)


def from_array(image):
    import numpy
    array = numpy.asarray(image)
    return Image.fromarray(array[:, ::-1] if image.width % 2 else array, *(
        [] if image.mode in ("L", "RGB", "RGBA", "LA") else [image.mode]))


class Own(Image.Image):
    """A class of the program's own."""


class Late(Image.Image):
    """Knows its size only once it is loaded, as some of Pillow's own do."""

    def load(self):
        self._size = self.im.size
        return super().load()


def late():
    image = raw(random.Random(2), "RGB", (60, 50))
    image.__class__ = Late
    image._size = (90, 80)
    return attempt(lambda: image.resize((70, 65), 2)), image.size


def source(dice):
    roll = dice.random()
    if roll < 0.1:  # a JPEG whose pixels were wanted already
        image = Image.open(os.path.join(DIRECTORY, "color.jpg"))
        image.getpixel((0, 0))
        return image
    mode = dice.choice(MODES)
    image = raw(dice, mode, (dice.randint(1, 160), dice.randint(1, 160)) if roll < 0.9
                else dice.choice([(2, 900), (900, 2), (1, 1), (7, 701), (300, 400), (640, 480)]))
    if roll < 0.4:
        image = from_file(dice, image)
    elif roll < 0.6 and mode in ("L", "RGB", "RGBA", "LA"):
        image = from_array(image)
    elif roll < 0.65 and dice.random() < 0.5:
        image.__class__ = Own
    image.info.setdefault("dpi", (dice.randint(1, 99), 7))
    return image


def size(dice, image):
    width, height = image.size
    return dice.choice([(dice.randint(1, 200), dice.randint(1, 200))] * 25 + [
        (width, dice.randint(1, 200)), (dice.randint(1, 200), height), image.size, (1, 1),
        (max(width // 2, 1), max(height // 2, 1)), [70, 71], (0, 5), (5, -1), (20.0, 30), (9,),
        (2, 150)])


def box(dice, image):
    width, height = image.size
    x, y = dice.uniform(0, width), dice.uniform(0, height)
    whole = sorted([dice.randint(0, width), dice.randint(0, width)])
    tall = sorted([dice.randint(0, height), dice.randint(0, height)])
    return dice.choice([(x, y, dice.uniform(x, width), dice.uniform(y, height))] * 16 + [
        (whole[0], tall[0], whole[1], tall[1]), (0, 0, width, height), (0.0, 0, width, height),
        [0, 0, width, height], (0, 0, width + 1, height), (-1, 0, width, height),
        (x, y, x - 1, height), (0, 0, float("nan"), height), (0, 0, 10 ** 400, 3), (0, 0, 5),
        (0.5, 0.5, width - 0.3, height - 0.4), (0, 0, width - 1e-9, height)])


def resize(seed):
    dice = random.Random(seed)
    image = source(dice)
    options = {}
    if dice.random() < 0.4:
        options["box"] = box(dice, image)
    if dice.random() < 0.15:
        options["reducing_gap"] = dice.choice([1.0, 1.5, 2, 2.0, 3.0, 0.5, float("inf")])
    roll = dice.random()
    wanted, filter = size(dice, image), dice.choice(FILTERS)
    if roll < 0.08:
        image.thumbnail((dice.randint(1, 90), dice.randint(1, 90)), filter or 3)
        return image
    if roll < 0.1:
        image.close()
    if seed % 2:
        image.load()
    made = Image.core.get_stats()["new_count"]
    new = image.resize(wanted, filter, **options)
    made = Image.core.get_stats()["new_count"] - made if seed % 2 else None
    return made, new, image, attempt(lambda: new.putpixel((0, 0), new.getpixel((0, 0)))), new


def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__, str(error)


def large():
    """In several pieces of memory: the source, and what is made of it."""
    tile = raw(random.Random(1), "RGB", (300, 300))
    image = Image.new("RGB", (2600, 2500))
    for x in range(0, 2600, 300):
        for y in range(0, 2500, 300):
            image.paste(tile, (x, y))
    return (image.resize((224, 217), 2), image.resize((40, 2500), 3), image.resize((2600, 300), 2),
            image.resize((2500, 2400), 2), image.convert("L").resize((301, 299), 1))


for seed in range(FIRST, FIRST + COUNT):
    CASES[f"seed {seed}"] = lambda seed=seed: resize(seed)
CASES["large"] = large
CASES["late"] = late
cases.tell()
