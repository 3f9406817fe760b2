"""MPOs, several JPEGs in a file, and what is done with them. Arguments: a directory of MPOs, and `every` or `slice`. In
the slice a spoilt file meets one of its two ways, and most files two of the ways to open them."""

import copy
import io
import os
import pickle
import random
import sys
import tempfile

from cases import CASES, Image, everything, show, tell
from PIL import ImageOps, ImageSequence

DIRECTORY, EVERY = sys.argv[1], sys.argv[2] == "every"
del sys.argv[1:3]


class Stream:
    """A file of the program's own class."""

    def __init__(self, data):
        self.file = io.BytesIO(data)

    def read(self, size=-1):
        return self.file.read(size)

    def seek(self, *where):
        return self.file.seek(*where)

    def tell(self):
        return self.file.tell()

    def close(self):
        self.file.close()


def of_path(path, data):
    return Image.open(path)


def of_memory(path, data):
    return Image.open(io.BytesIO(data))


def of_file(path, data):
    file = open(path, "rb")
    file.seek(5)
    return Image.open(file)


def of_stream(path, data):
    return Image.open(Stream(data))


def of_temporary(path, data):
    file = tempfile.TemporaryFile()
    file.write(data)
    file.seek(0)
    return Image.open(file)


def whole(image):
    return show(image.convert("RGB")), everything(image), image._fp.closed or image._fp.tell()


def chain(image):
    return image.convert("RGB").resize((31, 47), 2, (1, 2, 30, 30)), image.crop((0, 0, 7, 5)).resize((9, 8), 2).transpose(0)


def frames(image):
    """Each image of the file, the first one again, and what was made of the first before."""
    first = image.copy(), image.convert("RGB"), image
    seen = [show(each) for each in first]
    seen += [show(each) for each in ImageSequence.Iterator(image)]
    image.seek(0)
    return seen, show(image.crop((1, 0, 9, 7))), show(image), show(first[0]), show(first[1])


def moved_at_once(image):
    image.seek(1)
    return image.tell(), show(image.convert("RGB")), show(image.resize((20, 10)))


def moved_while_waiting(image):
    """The first image may be a plan when the next is chosen."""
    new = image.crop((0, 0, 5, 5))
    image.seek(1)
    return image.crop((2, 1, 30, 20)), new, image.tobytes()[:99], image.getpixel((3, 3))


def moved_after_load(image):
    image.load()
    image.seek(1)
    seen = show(image.resize((20, 30), 2)), show(image)
    image.seek(0)
    image.load()
    return seen, show(image), image.transpose(1)


def moved_too_far(image):
    image.load()
    try:
        image.seek(9)
    except EOFError as error:
        return str(error), show(image)


def drafted(image):
    return image.draft("RGB", (20, 20)), show(image)


def small(image):
    image.thumbnail((25, 25))
    return image


def copies(image):
    return copy.copy(image), pickle.loads(pickle.dumps(image.copy())), copy.deepcopy(image.crop((0, 0, 9, 9)))


def pickled(image):
    return pickle.loads(pickle.dumps(image)), image


def deep(image):
    return copy.deepcopy(image)


def verified(image):
    return image.verify(), image.fp


def verified_then_loaded(image):
    image.verify()
    return image.load()


def closed(image):
    new = image.convert("RGB")
    image.close()
    return new, image.size


def in_a_block(image):
    with image:
        new = image.resize((10, 10))
    return new, image._fp and image._fp.closed


def turned(image):
    new = ImageOps.exif_transpose(image)
    return new, new.convert("RGB").crop((0, 0, 8, 8))


def written(image):
    image.putpixel((0, 0), 7 if image.mode == "L" else (7, 8, 9))
    out = io.BytesIO()
    image.save(out, "PNG")
    return image, out.getvalue()


def saved(image):
    """Its images, as an MPO once more."""
    out = io.BytesIO()
    image.save(out, "MPO", save_all=True)
    return out.getvalue(), show(image)


def of_a_kind(image):
    """With a function of the program's own."""
    kind = type(image)
    if kind.__name__ != "MpoImageFile":
        return kind.__name__
    plain = kind.load_seek
    kind.load_seek = lambda self, at: plain(self, at)
    try:
        return show(image)
    finally:
        kind.load_seek = plain


WAYS = (whole, chain, frames, moved_at_once, moved_while_waiting, moved_after_load, moved_too_far, drafted, small, copies,
        pickled, deep, verified, verified_then_loaded, closed, in_a_block, turned, written, saved, of_a_kind)


def add(name, path, data, opened, way):
    CASES[name] = lambda: way(opened(path, data))


def spoilt(name, data):
    """Yields (what was done, bytes)."""
    dice = random.Random(name)
    for part in range(1, 12):
        yield f"cut at {part}/12", data[:len(data) * part // 12]
    yield "without its end", data[:-2]
    yield "without what follows", data[:data.index(b"\xff\xd9", data.index(b"MPF\0") + 99) + 2]
    yield "junk behind", data + b"junk" * 99
    index = data.index(b"MPF\0")
    second = data.find(b"\xff\xd8\xff", 9)
    for _ in range(12):
        at = index + dice.randrange(70)
        yield f"byte {at} of the index", data[:at] + bytes([dice.randrange(256)]) + data[at + 1:]
    for _ in range(16):
        at = dice.randrange(2, second if second > 0 else len(data))
        yield f"byte {at}", data[:at] + bytes([dice.randrange(256)]) + data[at + 1:]


def ways_to_open(name, number):
    every = of_path, of_memory, of_file, of_stream, of_temporary
    whole = EVERY or name in ("two.jpg", "three.mpo", "progressive.jpg")
    return every if whole else (of_path, every[1 + number % 4])


for name in sorted(os.listdir(DIRECTORY)):
    path = os.path.join(DIRECTORY, name)
    with open(path, "rb") as file:
        data = file.read()
    for number, way in enumerate(WAYS):
        for opened in ways_to_open(name, number):
            add(f"{name} {opened.__name__} {way.__name__}", path, data, opened, way)
    for number, (what, bad) in enumerate(spoilt(name, data) if b"MPF\0" in data else ()):
        for way in (whole, frames) if EVERY else ((whole, frames)[number % 2],):
            add(f"{name} {what} {way.__name__}", path, bad, of_memory, way)

tell()
