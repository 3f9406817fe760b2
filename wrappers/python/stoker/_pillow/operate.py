"""Pillow's operations on core images of mode RGB and L, by the decoder's code.

Each function returns a new core image, or None if Pillow is to make it. operations.py calls them for images, and
operations_check.py compares them with Pillow first.
"""

from math import ceil

from PIL import Image

from .. import _core

_CONVERSIONS = {("RGB", "L"): 0, ("L", "RGB"): 1, ("RGB", "HSV"): 2, ("HSV", "RGB"): 3}  # enum stk_conversion
CONVERSIONS = tuple(_CONVERSIONS)
BANDS = {"RGB": 3, "L": 1}
MOST_SHARE = 1e6
PASSES = 3  # of a GaussianBlur
LARGEST_RADIUS = 60  # of a blur: its boxes are smaller than the decoder's STK_BOX_MOST
AFFINE, PERSPECTIVE = 0, 2
BILINEAR, BICUBIC = 2, 3
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)  # enum stk_recolouring_kind
SPREAD, EVEN = range(2)  # enum stk_table_kind

_SAME = bytes(range(256))
_INVERSE = _SAME[::-1]
_POSTERS = [bytes(value & -(256 >> bits) for value in range(256)) for bits in range(9)]


def _made(new, failed):
    return None if failed else new


def blend(a, b, share):
    new = Image.core.new(a.mode, a.size)
    return _made(new, _core.blend(new, a, b, BANDS[a.mode], a.size, share))


def convert(core, mode):
    kind = _CONVERSIONS[core.mode, mode]
    new = Image.core.new(mode, core.size)
    return _made(new, _core.convert(new, core, core.size, kind))


def recolour(core, changes):
    """Makes changes of colours: kinds and their numbers by turns."""
    new = Image.core.new("RGB", core.size)
    return _made(new, _core.recolour(new, core, core.size, changes))


def recolour_in_place(core, changes):
    """Makes changes of colours where the pixels are. Returns false if Pillow is to make them."""
    return not _core.recolour(core, core, core.size, changes)


def look_up(core, tables):
    """Looks up all values in a table of 256 bytes for all bands, or in one for each."""
    bands = BANDS[core.mode]
    tables = tables * bands if len(tables) == 256 else tables
    new = Image.core.new(core.mode, core.size)
    return _made(new, _core.look_up(new, core, bands, core.size, tables))


def inverse():
    return _INVERSE


def solarized(threshold):
    """Returns the table of a finite threshold."""
    before = min(max(ceil(threshold), 0), 256)
    return _SAME[:before] + _INVERSE[before:]


def posterized(bits):
    """Returns the table of 1 to 8 bits that stay."""
    return _POSTERS[bits]


def look_up_own(core, kind):
    """Looks up all values in the tables of the image itself: SPREAD or EVEN."""
    tables = _core.find_tables(core, BANDS[core.mode], core.size, kind)
    return None if type(tables) is int else look_up(core, tables)


def weigh_nine(core, weights, scale):
    new = Image.core.new(core.mode, core.size)
    return _made(new, _core.weigh_nine(new, core, BANDS[core.mode], core.size, tuple(weights), scale))


def blur(core, radii, passes):
    """Blurs like a Gaussian of these standard deviations, or once with a box if there are no passes."""
    new = Image.core.new(core.mode, core.size)
    Image.core.new("L", (1, 1))  # Pillow's statistics count the image whose axes are exchanged
    return _made(new, _core.blur(new, core, core.size, radii, passes))


def warp(new, core, method, factors, filter, clears):
    """Fills a new core image with another one, warped. Returns true if it is done."""
    has_perspective = method == PERSPECTIVE
    factors = factors if has_perspective else (*factors, 0.0, 0.0)
    return not _core.warp(new, core, core.size, new.size, factors, has_perspective, filter == BICUBIC, clears)
