"""Grey JPEGs that become RGB, and what is done with either image then. Arguments: a directory of JPEGs."""

import copy
import io
import os
import pickle
import random
import sys

from cases import CASES, Image, show, tell
from PIL import ImageOps

DIRECTORY = sys.argv[1]
del sys.argv[1]

NAMES = [name for name in sorted(os.listdir(DIRECTORY)) if name.startswith("grey")]


def of_path(path, data):
    return Image.open(path)


def of_memory(path, data):
    return Image.open(io.BytesIO(data))


def of_file(path, data):
    return Image.open(open(path, "rb"))


def both(image):
    new = image.convert("RGB")
    return show(new), show(image)


def grey_first(image):
    new = image.convert("RGB")
    return show(image), show(new)


def loaded(image):
    new = image.convert("RGB")
    return image.load()[2, 3], new.load()[2, 3], image.getpixel((1, 1)), vars(new).keys() - vars(image).keys() != 0


def twice(image):
    return image.convert("RGB"), image.convert("RGB").crop((3, 2, 30, 20)), image.convert("L")


def chain(image):
    new = image.convert("RGB").crop((5, 4, 60, 50)).resize((31, 47), 2)
    return new, new.transpose(0), image.resize((20, 30), 2), new.convert("L")


def copies(image):
    new = image.convert("RGB")
    return image.copy(), copy.deepcopy(image), pickle.loads(pickle.dumps(image)), new.copy(), image == new


def written(image):
    image.convert("RGB")
    image.putpixel((0, 0), 7)
    return image.convert("RGB")


def closed(image):
    new = image.convert("RGB")
    image.close()
    return new


def drafted(image):
    image.draft("L", (20, 20))
    return both(image)


def transparent(image):
    image.info["transparency"] = 5
    return both(image)


def with_arguments(image):
    return image.convert("RGB", None, 0), image.convert("RGBA"), image.convert(mode="RGB")


def after_load(image):
    image.load()
    return both(image)


def turned(image):
    return both(ImageOps.exif_transpose(image))


WAYS = (both, grey_first, loaded, twice, chain, copies, written, closed, drafted, transparent, with_arguments,
        after_load, turned)


def add(name, path, data, opened, way):
    CASES[name] = lambda: way(opened(path, data))


def spoilt(name, data):
    """Yields (what was done, bytes)."""
    dice = random.Random(name)
    for part in range(1, 20):
        yield f"cut at {part}/20", data[:len(data) * part // 20]
    yield "without its end", data[:-2]
    yield "junk behind", data + b"junk" * 99
    for _ in range(60):
        at = dice.randrange(2, len(data))
        yield f"byte {at}", data[:at] + bytes([dice.randrange(256)]) + data[at + 1:]


for name in NAMES:
    path = os.path.join(DIRECTORY, name)
    with open(path, "rb") as file:
        data = file.read()
    for opened in (of_path, of_memory, of_file):
        for way in WAYS:
            add(f"{name} {opened.__name__} {way.__name__}", path, data, opened, way)
    for what, bad in spoilt(name, data):
        add(f"{name} {what}", path, bad, of_memory, both)

tell()
