"""Compares PNGs as Pillow loads them with what the decoder makes of them, once, at the first one.

Small files of every mode, with every filter, go through both. A mode is left to Pillow from then on if a single byte of
the pixels differs, or if the image or its file is left in another state. The result is kept (_proof/answers.py).
"""

import functools
import io

from PIL import Image, PngImagePlugin

from .._proof import answers, random_pngs
from . import check, png_decoder, versions
from .png_decoder import PIXEL_BYTES

_SIZES = ((1, 1), (1, 7), (7, 1), (19, 23))
_PARTS = (1 << 20, 31)  # bytes of image data in a chunk


@functools.cache
def proven():
    """Returns the modes of PNGs that are loaded as by Pillow. The first call finds them."""
    return answers.proven(_name, PIXEL_BYTES, _holds) if versions.are_unchanged() else frozenset()


# ---- finding out ----

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
    return all(_is_same(random_pngs.odd(mode, size, part)) for size in _SIZES for part in _PARTS)


def _name():
    library = getattr(Image.core, "zlib_version", "")
    return answers.name_of("png", versions.PIL.__version__, [library], [Image.core.__file__])
