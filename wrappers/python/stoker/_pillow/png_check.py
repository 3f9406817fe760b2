"""Compares PNGs as Pillow loads them with what the decoder makes of them, once, at the first one.

Small files of every mode, with every filter, go through both. A mode is left to Pillow from then on if a single byte of
the pixels differs, or if the image or its file is left in another state. The result is kept (_proof/answers.py).
"""

import functools
import io
import random
import struct
import zlib

from PIL import Image, PngImagePlugin

from .._proof import answers
from . import check, png_decoder, versions
from .png_decoder import PIXEL_BYTES

_TYPES = {"L": 0, "P": 3, "RGB": 2, "RGBA": 6}  # of colour, in the header
_SIZES = ((1, 1), (1, 7), (7, 1), (19, 23))
_PARTS = (1 << 20, 31)  # bytes of image data in a chunk


@functools.cache
def proven():
    """Returns the modes of PNGs that are loaded as by Pillow. The first call finds them."""
    return answers.proven(_name, PIXEL_BYTES, _holds)


# ---- finding out ----

def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(mode, size, part, filters=5):
    """Returns a PNG of random rows, whose filters take turns. Its image data comes in chunks of so many bytes."""
    dice = random.Random(repr((mode, size)))
    rows = b"".join(bytes([y % filters]) + dice.randbytes(size[0] * PIXEL_BYTES[mode]) for y in range(size[1]))
    data = zlib.compress(rows)
    chunks = [_chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, _TYPES[mode], 0, 0, 0))]
    if mode == "P":
        chunks += [_chunk(b"PLTE", dice.randbytes(768)), _chunk(b"tRNS", dice.randbytes(9))]
    chunks += [_chunk(b"IDAT", data[at:at + part]) for at in range(0, len(data), part)]
    chunks += [_chunk(b"tEXt", b"Title\0behind"), _chunk(b"prIv", b"more"), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + b"tail"


def _state(image, file):
    """Returns what a program can see of a loaded image and its file."""
    own = {name: value for name, value in vars(image).items() if name not in (versions.FIELD, "fp", "_fp", "palette")}
    palette = image.palette and (image.palette.mode, bytes(image.palette.palette), image.palette.dirty)
    return check.stored(versions.core(image)), repr(own), palette, image.fp is None, file.tell()


def _is_same(data):
    files = io.BytesIO(data), io.BytesIO(data)
    images = [PngImagePlugin.PngImageFile(file) for file in files]
    if png_decoder.load(images[0]) is None:
        return False
    versions.plain_load(images[1])
    return _state(images[0], files[0]) == _state(images[1], files[1])


def _holds(mode):
    return all(_is_same(png(mode, size, part)) for size in _SIZES for part in _PARTS)


def _name():
    library = getattr(Image.core, "zlib_version", "")
    return answers.name_of("png", versions.PIL.__version__, [library], [Image.core.__file__])
