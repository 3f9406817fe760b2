"""Prints all that a program sees of images whose headers Pillow has parsed before. Argument: a directory with
files of each kind of header (images.py)."""

import io
import os
import pickle
import sys
import warnings

import cases
from cases import Image, attempt, case, everything, show
from PIL import ImageFile, JpegImagePlugin

DIRECTORY = sys.argv[1]
KINDS = sorted({name.rpartition("-")[0] for name in os.listdir(DIRECTORY) if "-" in name})
NAMES = os.path.join(DIRECTORY, "names")
Jpeg = JpegImagePlugin.JpegImageFile


def path(kind, number=0):
    return os.path.join(DIRECTORY, f"{kind}-{number}.jpg")


def spoil(value):
    """Changes whatever can be changed of an image's attributes."""
    if type(value) is dict:
        for each in value.values():
            spoil(each)
        value["spoilt"] = "spoilt"
    elif type(value) is list:
        for each in value:
            spoil(each)
        value[:0] = ["spoilt"]


def each_way(kind, number, look):
    """Returns look()'s result for an image by its name, for one by its file, and for one in memory."""
    with Image.open(path(kind, number)) as image:
        seen = [look(image)]
        spoil({**vars(image)})
    with open(path(kind, number), "rb") as file:
        image = Image.open(file)
        seen += [file.tell(), image.fp is file, look(image), attempt(file.tell)]
        spoil({**vars(image)})
        file.seek(0)
        memory = io.BytesIO(file.read())
    memory.seek(3)
    image = Image.open(memory)
    seen += [memory.tell(), image.fp is memory, look(image), attempt(memory.tell)]
    spoil({**vars(image)})
    return seen


def of_each(kind, look):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [each_way(kind, number, look) for _ in range(2) for number in range(3)]


@case
def names():
    """Pillow may load plugins by how a name ends."""
    seen = [everything(Image.open(path("plain", number))) for number in range(3)]
    for name in sorted(os.listdir(NAMES)):
        seen += [name, everything(Image.open(os.path.join(NAMES, name))), sorted(Image.ID)]
    return seen


@case
def warnings_of_exif():
    """At each opening, and at each look. This case comes first: here the headers are noted."""
    seen = []
    for kind in (each for each in KINDS if each.startswith(("exif", "mpos"))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seen += [each_way(kind, number, lambda image: attempt(lambda: dict(image.getexif()))) for number in range(3)]
        seen.append([(each.category.__name__, str(each.message), each.filename) for each in caught])
    return seen


def define(kind):
    def look():
        return of_each(kind, everything)
    look.__name__ = f"everything of {kind}"
    case(look)


for each in KINDS:
    define(each)


def keys(image):
    return list(vars(image)), list(image.info)


@case
def orders():
    """Looks at attributes and at what is known of the image."""
    return [of_each(kind, keys) for kind in KINDS]


def drafted(image):
    result = image.draft("L", (30, 30))
    return attempt(lambda: (result, image.tile, image))


def thumbnail(image):
    image.thumbnail((20, 20))
    return image


def verified(image):
    return attempt(image.verify), image.fp is None, attempt(image.load)


def kept(image):
    """Written with the tables that it came with."""
    out = io.BytesIO()
    result = attempt(lambda: image.save(out, "JPEG", quality="keep"))
    return result, out.getvalue()


def closed(image):
    image.close()
    return attempt(image.load), sorted(vars(image))


def read_on(image):
    at = image.fp.tell()
    return at, image.fp.read(9), image.fp.seek(0), image.fp.read(3), everything(image)


WAYS = (drafted, thumbnail, verified, kept, closed, read_on, lambda image: image.copy(),
        lambda image: pickle.loads(pickle.dumps(image)), lambda image: dict(image.getexif()),
        lambda image: image.convert("L"), lambda image: image == image.copy(),
        lambda image: repr(image).partition(" at ")[0],
        lambda image: (image.get_format_mimetype(), image.is_animated
                       if hasattr(image, "is_animated") else None, image.tell()))


@case
def ways():
    return [of_each(kind, way) for kind in ("plain", "icc", "photoshop", "progressive")
            for way in WAYS]


@case
def several_at_once():
    """Each is its own while the others are there."""
    images = [Image.open(path("photoshop", number % 3)) for number in range(9)]
    for image in images[::2]:
        spoil({**vars(image), "tile": None})
    return [show({**vars(image), "fp": cases.file_state(image.fp), "filename": None, "_im": None,
                  "im": None}) for image in images[1::2]]


def looks():
    return [each_way("plain", number, everything) for number in range(3)]


@case
def sizes_of_blocks():
    plain, seen = ImageFile.MAXBLOCK, []
    try:
        for ImageFile.MAXBLOCK in (1 << 20, plain, 1 << 12):
            seen.append(looks())
    finally:
        ImageFile.MAXBLOCK = plain
    return seen


@case
def bombs():
    limit, seen = Image.MAX_IMAGE_PIXELS, []
    try:
        for Image.MAX_IMAGE_PIXELS in (60 * 50, 60 * 50 - 1, 60 * 25 - 1, None):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                seen.append(attempt(looks))
            seen.append([(each.category.__name__, str(each.message)) for each in caught])
    finally:
        Image.MAX_IMAGE_PIXELS = limit
    return seen


@case
def another_check_of_the_size():
    plain, seen = Image._decompression_bomb_check, []

    def check(size):
        seen.append(size)
        return plain(size)

    Image._decompression_bomb_check = check
    try:
        return looks(), sorted(set(seen))
    finally:
        Image._decompression_bomb_check = plain


def replaced(owner, name, new):
    """Returns the looks while an attribute is another one's."""
    plain = owner.__dict__.get(name)
    setattr(owner, name, new(getattr(owner, name)))
    try:
        return looks()
    finally:
        delattr(owner, name) if plain is None else setattr(owner, name, plain)


def marking(plain):
    def method(self, *arguments, **named):
        result = plain(self, *arguments, **named)
        self.marked = name_of(plain)
        return result
    return method


def name_of(function):
    return function.__name__


@case
def other_methods():
    return [replaced(owner, name, marking) for owner, name in (
        (Jpeg, "_open"), (Jpeg, "_getmp"), (Jpeg, "__init__"), (ImageFile.ImageFile, "__init__"),
        (Image.Image, "__init__"))]


@case
def another_class():
    return replaced(JpegImagePlugin, "JpegImageFile",
                    lambda plain: type("Mine", (plain,), {"mine": 1}))


@case
def another_marker():
    plain, seen = JpegImagePlugin.MARKER[0xFFC4], []
    JpegImagePlugin.MARKER[0xFFC4] = plain[:2] + (
        lambda image, marker: seen.append(plain[2](image, marker)),)
    try:
        return looks(), len(seen) > 0
    finally:
        JpegImagePlugin.MARKER[0xFFC4] = plain


cases.tell()
