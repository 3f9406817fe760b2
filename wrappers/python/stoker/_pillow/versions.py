"""Differences between versions of Pillow, and Pillow's own functions before the hook."""

import functools
import io

import PIL
from PIL import Image, ImageFile, ImageFilter, ImageOps, JpegImagePlugin

from .. import _core

VERSION = tuple(int(part) if part.isdigit() else 0 for part in PIL.__version__.split(".")[:2])

# The attribute that holds an image's core image. From 11.0 on `im` is a property.
HAS_PROPERTY = isinstance(Image.Image.__dict__.get("im"), property)
FIELD = "_im" if HAS_PROPERTY else "im"

# The resizer of the installed Pillow (enum stk_resizer).
RESIZER = 0 if VERSION < (12, 2) else 1 if VERSION < (13, 0) else 2

# The bytes of a pixel that a resize weighs, by mode. With alpha (RGBA, LA) Pillow first converts to a premultiplied
# mode, and resizes in that.
BANDS = {"L": 1, "RGB": 3, "YCbCr": 3, "HSV": 3, "LAB": 3, "RGBX": 4, "CMYK": 4, "RGBa": 4}

# A blur takes a radius for each direction.
HAS_TWO_RADII = VERSION >= (10, 1)

# Before the hook; filled in by hook.install().
PLAIN = {}

# Functions in whose place the hook's are, and which its plans and its self-tests rely on.
_RELIED_ON = ((ImageFile.ImageFile, ("load", "load_prepare", "load_end")),
              (Image.Image, ("load", "copy", "__copy__", "convert", "crop", "_crop", "resize", "transpose", "tobytes", "_new",
                             "point")),
              (Image, ("blend",)), (ImageOps, ("invert", "solarize", "posterize", "autocontrast", "equalize")),
              *((kind, ("filter",)) for kind in (ImageFilter.BuiltinFilter, ImageFilter.GaussianBlur, ImageFilter.BoxBlur)))


def is_pillows(function):
    """Returns true if Pillow wrote the function of a class or module of Pillow's."""
    return getattr(function, "__globals__", {}).get("__name__", "").startswith("PIL.")


def parts_of(owner, names):
    """Returns functions of a class or module of Pillow's, as _core.are_as_seen() takes them; None if one is not Pillow's."""
    functions = [getattr(owner, name) for name in names]
    if not all(map(is_pillows, functions)):
        return None
    return owner, tuple(part for pair in zip(names, functions) for part in pair)


@functools.cache
def are_unchanged():
    """Returns true if no function that is relied on was the program's at the first call, which hook.install() makes."""
    return all(is_pillows(owner.__dict__[name]) for owner, names in _RELIED_ON for name in names)


def plain_load(image):
    """Calls ImageFile.load as Pillow wrote it."""
    return PLAIN.get("ImageFile.load", ImageFile.ImageFile.load)(image)


def plainly(name, image, *arguments):
    """Calls a method of Image.Image as Pillow wrote it."""
    return PLAIN.get(name, getattr(Image.Image, name))(image, *arguments)


def load_plainly(source):
    """Returns a JPEG as an ordinary image, decoded by Pillow."""
    image = JpegImagePlugin.JpegImageFile(io.BytesIO(source))
    plain_load(image)
    return image


def core(image):
    """Returns an ordinary image's core image."""
    return image.__dict__[FIELD]


def empty_core(size):
    """Returns a new core image of mode RGB."""
    return Image.core.new("RGB", size)


def plain_image(core):
    """Returns an image of this core image."""
    return Image.new("L", (1, 1))._new(core)


def transform_core(core, source, *arguments):
    """Fills a core image with another one, transformed, as Pillow does."""
    transform = core.transform2 if hasattr(core, "transform2") else core.transform
    transform((0, 0) + core.size, source, *arguments)


def core_from_pixels(size, pixels):
    """Returns a core image of mode RGB with these rows of four bytes a pixel."""
    core = empty_core(size)
    decoder = Image.core.raw_decoder("RGB", "RGBX", 0, 1)
    decoder.setimage(core, (0, 0) + size)
    decoder.decode(pixels)
    return core


def image_from_pixels(size, pixels):
    """Returns an image of mode RGB with these rows of four bytes a pixel."""
    return plain_image(core_from_pixels(size, pixels))


CORE = type(Image.core.new("L", (1, 1)))


def resized_core(core, mode, size, to, box, filter):
    """Returns a resized core image, or None if that fails. `core` has this mode and size; `filter` is the decoder's
    number."""
    if type(core) is not CORE:
        return None
    try:
        new = Image.core.new(mode, to)
    except (MemoryError, ValueError):
        return None
    if _core.resize(core, new, BANDS[mode], size, to, box, filter, RESIZER):
        return None
    if (box[0] or box[2] != to[0] or size[0] != to[0]) and (
            box[1] or box[3] != to[1] or size[1] != to[1]):
        Image.core.new("L", (1, 1))  # Pillow's statistics count the image between its passes
    return new
