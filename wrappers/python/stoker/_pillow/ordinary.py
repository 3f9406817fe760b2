"""Resizes ordinary images, of any file format, by the decoder's code.

An image is taken only if Pillow would not fail, and would resize it by a filter that was proven to give the same bytes
(check.py). All other images, and all errors, are Pillow's.
"""

import functools

from PIL import Image, ImageFile

from .. import _core
from . import check, versions
from .plan import FILTERS
from .versions import BANDS

# The least number of pixels of both images together, for each of their rows and columns. In smaller and thinner images
# the call and the weights, which take as long as Pillow's, cost more than the faster sums save.
LEAST = {1: 16, 3: 8, 4: 8}
LARGEST = 1 << 24  # in each direction

_NUMBERS = (int, float)


def resized(image, size, filter, box=None, reducing_gap=None):
    """Returns the new image, or None if Pillow is to make it. `size` are two ints above 0, `filter` is one of
    FILTERS."""
    before = image.size
    if box is None:
        box = (0, 0) + before
    bands = BANDS.get(image.mode)
    if (bands is None or _is_small(before, size, LEAST[bands])
            or not _is_resize(before, size, box, reducing_gap) or not loads_plainly(type(image))):
        return None
    proven = check.proven()
    if filter not in proven.filters or bands not in proven.bands:
        return None
    image.load()
    if image.size != before or BANDS.get(image.mode) != bands:
        return None
    core = versions.resized_core(image.im, image.mode, before, size, box, FILTERS[filter])
    if core is None:
        return None
    _core.count(_core.RESIZED)
    return image._new(core)


def _is_small(before, size, least):
    pixels = before[0] * before[1] + size[0] * size[1]
    return pixels < least * (before[0] + before[1] + size[0] + size[1])


def _is_resize(before, size, box, reducing_gap):
    """Returns true if Pillow would resize in one step that is no copy, and without an error."""
    return (max(size) <= LARGEST and _is_inside(box, before)
            and (size[0] != box[2] - box[0] or size[1] != box[3] - box[1])
            and (reducing_gap is None or _reduces_nothing(size, box, reducing_gap)))


@functools.cache
def loads_plainly(kind):
    """Returns true if the class has Pillow's own load(). Another load() may change the image's size."""
    return kind.load in (Image.Image.load, ImageFile.ImageFile.load)


def _is_inside(box, size):
    return (type(box) is tuple and len(box) == 4 and all(type(each) in _NUMBERS for each in box)
            and 0 <= box[0] <= box[2] <= size[0] and 0 <= box[1] <= box[3] <= size[1])


def _reduces_nothing(size, box, gap):
    """Returns true if this gap lets Pillow resize in one step."""
    return (type(gap) in _NUMBERS and gap >= 1
            and (box[2] - box[0]) / size[0] / gap < 2 and (box[3] - box[1]) / size[1] / gap < 2)
