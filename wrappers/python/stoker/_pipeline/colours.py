"""ColorJitter, and torchvision's other changes of colours: those of an image of Pillow's are one call of the decoder's.

torchvision's functions are compared with the decoder's before the first change. One that differs is left to torchvision from
then on.
"""

import functools

import numpy
import torchvision
from PIL import Image

from .. import _core
from .._pillow import check, operate, operations_check, versions
from .._proof import answers
from . import exact, lazy_images, rng
from .exact import F

# By operate.py's number of the change.
FUNCTIONS = ("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue")
GREY = "to_grayscale"
WITHOUT_COLOURS = (operate.SATURATION, 0.0)

_SIZE = 31, 67
_FACTORS = (0, 0.3, 1.0, 1.7), (0, 0.3, 1.0, 1.7), (0, 0.3, 1.0, 1.7), (-0.5, -0.21, 0, 0.004, 0.37, 0.5)

_kinds = set()


def changes(kind, factor):
    """Returns the change of a factor as operate.recolour() takes it, or None: torchvision may raise an error."""
    if type(factor) not in (int, float) or not abs(factor) <= operate.MOST_SHARE:
        return None
    if kind != operate.HUE:
        return kind, factor
    return (kind, int(factor * 255) & 255) if -0.5 <= factor <= 0.5 else None


# ---- ColorJitter ----

def know(kind):
    """Takes a class into account that is torchvision's ColorJitter, of v1 or v2."""
    _kinds.add(kind)


def knows(kind):
    """Returns true if transforms of this class may be done here."""
    return kind in _kinds


def ranges_of(jitter):
    """Returns the range of each factor, or None for one that stays, in the order of FUNCTIONS. Returns None for a transform
    that is called as it is."""
    if type(jitter) not in _kinds or not proven().issuperset(FUNCTIONS):
        return None
    ranges = jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue
    if not any(ranges) or not all(each is None or rng.is_range(each) for each in ranges):
        return None
    return tuple(each and tuple(each) for each in ranges)


def hand_on_info(wanted):
    """Returns true if the image after these changes has the info of the image before."""
    return all(kind == operate.SATURATION for kind, _ in wanted)


def numbers_of(wanted):
    """Returns the numbers of these changes as operate.recolour() takes them, or None: torchvision is to make the changes."""
    found = [changes(*each) for each in wanted]
    return None if None in found else tuple(number for each in found for number in each)


def one_by_one(image, wanted):
    """Returns the image that torchvision's own functions make."""
    for kind, factor in wanted:
        image = getattr(F, FUNCTIONS[kind])(image, factor)
    return image


def jittered(lazy, ranges):
    """Returns the image after a ColorJitter of a lazy image. Returns None if torchvision is to do all of it: nothing is drawn
    then."""
    if lazy.mode != "RGB" or lazy.is_transparent() or not operations_check.proves("colours") or not rng.can_draw_jitters():
        return None
    core = lazy.core()
    if core is None:
        return None
    wanted = rng.jitter(ranges)
    numbers = numbers_of(wanted)
    if numbers is None or not operate.recolour_in_place(core, numbers):
        return one_by_one(lazy.like(core), wanted)
    _core.count(_core.OPERATIONS)
    return lazy_images.of_own(lazy.like(core, hand_on_info(wanted)))


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
        return _has_pixels(plain(image, 3), image, WITHOUT_COLOURS)
    kind = FUNCTIONS.index(name)
    return all(_has_pixels(plain(image, factor), image, changes(kind, factor)) for factor in _FACTORS[kind])


def _plain(name):
    """Returns torchvision's own function."""
    return exact.plain(getattr(F.F_pil, name))


def _has_pixels(pillows, image, numbers):
    return check.stored(pillows.im) == check.stored(operate.recolour(image.im, numbers))
