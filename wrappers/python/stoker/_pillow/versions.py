"""The installed Pillow: what differs between versions, and its own functions before the hook."""

import io

import PIL
from PIL import Image, ImageFile, JpegImagePlugin

from .. import _core

VERSION = tuple(int(part) if part.isdigit() else 0 for part in PIL.__version__.split(".")[:2])

# Where an image keeps its core image; from 11.0 on `im` is a property.
HAS_PROPERTY = isinstance(Image.Image.__dict__.get("im"), property)
FIELD = "_im" if HAS_PROPERTY else "im"

# Which pass of a resize comes first (enum stk_pass_order).
PASS_ORDER = 0 if VERSION < (12, 2) else 1 if VERSION < (13, 0) else 2

# How many bytes of a pixel a resize weighs, by mode. With alpha (RGBA, LA) Pillow first converts to
# a mode that is premultiplied, and resizes that.
BANDS = {"L": 1, "RGB": 3, "YCbCr": 3, "HSV": 3, "LAB": 3, "RGBX": 4, "CMYK": 4, "RGBa": 4}

# Before the hook; filled in by hook.install().
PLAIN = {}


def plain_load(image):
    """ImageFile.load as Pillow wrote it."""
    return PLAIN.get("ImageFile.load", ImageFile.ImageFile.load)(image)


def plainly(name, image, *arguments):
    """What a method of Image.Image does as Pillow wrote it."""
    return PLAIN.get(name, getattr(Image.Image, name))(image, *arguments)


def load_plainly(source):
    """A JPEG as an ordinary image, decoded by Pillow."""
    image = JpegImagePlugin.JpegImageFile(io.BytesIO(source))
    plain_load(image)
    return image


def core(image):
    """An ordinary image's core image."""
    return image.__dict__[FIELD]


def empty_core(size):
    """A new core image of mode RGB."""
    return Image.core.new("RGB", size)


def core_from_pixels(size, pixels):
    """The same from rows of four bytes a pixel."""
    core = empty_core(size)
    decoder = Image.core.raw_decoder("RGB", "RGBX", 0, 1)
    decoder.setimage(core, (0, 0) + size)
    decoder.decode(pixels)
    return core


def image_from_pixels(size, pixels):
    """An image of mode RGB from the same."""
    image = Image.new("L", (1, 1))
    return image._new(core_from_pixels(size, pixels))


_Core = type(Image.core.new("L", (1, 1)))


def resized_core(core, mode, size, to, box, filter):
    """Of a core image that has this mode and size, by a filter of the decoder's numbers: another
    one; None where that does not work."""
    if type(core) is not _Core:
        return None
    try:
        new = Image.core.new(mode, to)
    except (MemoryError, ValueError):
        return None
    if _core.resize(core, new, BANDS[mode], size, to, box, filter, PASS_ORDER):
        return None
    if (box[0] or box[2] != to[0] or size[0] != to[0]) and (
            box[1] or box[3] != to[1] or size[1] != to[1]):
        Image.core.new("L", (1, 1))  # Pillow's statistics count the image between its passes
    return new
