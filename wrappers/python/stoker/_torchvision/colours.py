"""torchvision's changes of colours, of Pillow's images: each in one call, and all of ColorJitter in one.

torchvision draws the numbers. Before the first change its functions are compared with the decoder's, and what differs
is left to torchvision from then on.
"""

import functools

import numpy
import torchvision
from PIL import Image

from .._pillow import check, operate, operations, versions
from .._proof import answers
from .._pipeline import exact, rng
from .._pipeline.exact import F
from .._pipeline.tensor_tail import is_pillows

# By operate.py's number of the change.
FUNCTIONS = ("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue")
GREY = "to_grayscale"

_WITHOUT_COLOURS = (operate.SATURATION, 0.0)
_SIZE = 31, 67
_FACTORS = (0, 0.3, 1.0, 1.7), (0, 0.3, 1.0, 1.7), (0, 0.3, 1.0, 1.7), (-0.5, -0.21, 0, 0.004, 0.37, 0.5)


def _is_fit(image):
    return is_pillows(image) and image.mode == "RGB" and exact.functions_are_own()


def _changes(kind, factor):
    """Returns the change of a factor as operate.recolour() takes it, or None: torchvision may raise an error."""
    if type(factor) not in (int, float) or not abs(factor) <= operate.MOST_SHARE:
        return None
    if kind != operate.HUE:
        return kind, factor
    return (kind, int(factor * 255) & 255) if -0.5 <= factor <= 0.5 else None


# ---- single functions ----

def adjusted(kind, image, factor):
    """Returns the new image, or None if torchvision is to make it."""
    changes = _changes(kind, factor) if _is_fit(image) and FUNCTIONS[kind] in proven() else None
    return None if changes is None else operations.recoloured(image, changes, kind == operate.SATURATION)


def grey(image, channels):
    """Returns the grey image with three bands, or None if torchvision is to make it."""
    if type(channels) is not int or channels != 3 or not _is_fit(image) or GREY not in proven():
        return None
    return operations.recoloured(image, _WITHOUT_COLOURS)


# ---- ColorJitter ----

def drawn(jitter, image):
    """Draws ColorJitter's numbers for an image. Returns [(kind, factor)] in their order, or None: nothing is drawn then."""
    if not _is_fit(image) or not exact.is_bare(jitter) or not proven().issuperset(FUNCTIONS) or not rng.can_draw_jitters():
        return None
    ranges = jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue
    if not all(each is None or rng.is_range(each) for each in ranges):
        return None
    order, factors = rng.drawn_at_once(rng.jitter, ranges)
    return [(kind, factors[kind]) for kind in order if factors[kind] is not None]


def changed(image, wanted):
    """Returns the image after the wanted changes, or None if torchvision is to make them."""
    changes = [_changes(*each) for each in wanted]
    if not wanted or None in changes:
        return None
    hands_on = all(kind == operate.SATURATION for kind, _ in wanted)
    return operations.recoloured(image, tuple(number for each in changes for number in each), hands_on)


# ---- comparing ----

@functools.cache
def proven():
    """Returns the names of the functions whose images are the same. The first call finds them."""
    return answers.proven(_name, (*FUNCTIONS, GREY), _is_same)


def _name():
    parts = [versions.PIL.__version__, numpy.__version__]
    return answers.name_of("colours", torchvision.__version__, parts, [Image.core.__file__, F.F_pil.__file__])


def _is_same(name):
    """Returns true if torchvision's function makes the decoder's pixels. Pillow's operations in it are those under the
    hook, which are compared by themselves."""
    plain = _plain(name)
    image = Image.frombytes("RGB", _SIZE, bytes(n * n * 7 + n // 5 & 255 for n in range(3 * _SIZE[0] * _SIZE[1])))
    if name == GREY:
        return _has_pixels(plain(image, 3), image, _WITHOUT_COLOURS)
    kind = FUNCTIONS.index(name)
    return all(_has_pixels(plain(image, factor), image, _changes(kind, factor)) for factor in _FACTORS[kind])


def _plain(name):
    """Returns torchvision's own function."""
    function = getattr(F.F_pil, name)
    return getattr(function, "__wrapped__", function)


def _has_pixels(pillows, image, changes):
    return check.stored(pillows.im) == check.stored(operate.recolour(image.im, changes))
