"""ColorJitter and torchvision's other changes of colours: those of an image are one call of the decoder's.

torchvision's functions are compared with the decoder's before the first change. One that differs is left to torchvision from
then on.
"""

import functools
import operator
import struct
import warnings

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

_TO_GREY = len(FUNCTIONS)  # the kind of a change to grey
_RANGES = {"brightness", "contrast", "saturation", "hue"}
_SINGLE = struct.Struct("f")

_SIZE = 31, 67
_FACTORS = (0, 0.3, 1.0, 1.7), (0, 0.3, 1.0, 1.7), (0, 0.3, 1.0, 1.7), (-0.5, -0.21, 0, 0.004, 0.37, 0.5)

_makers = {}


def changes(kind, factor):
    """Returns the change of a factor as operate.recolour() takes it, or None: torchvision may raise an error."""
    if kind == _TO_GREY:
        return WITHOUT_COLOURS
    if type(factor) not in (int, float) or not abs(factor) <= operate.MOST_SHARE:
        return None
    if kind != operate.HUE:
        return kind, factor
    return (kind, int(factor * 255) & 255) if -0.5 <= factor <= 0.5 else None


def numbers_of(wanted):
    """Returns the numbers of changes as operate.recolour() takes them, or None: torchvision is to make the changes.
    `wanted`: [(kind, factor)]."""
    found = [changes(*each) for each in wanted]
    return None if None in found else tuple(number for each in found for number in each)


def hand_on_info(wanted):
    """Returns true if the image after these changes has the info of the image before."""
    return all(kind == operate.SATURATION for kind, _ in wanted)


def one_by_one(image, wanted):
    """Returns the image that torchvision's own functions make."""
    for kind, factor in wanted:
        image = F.rgb_to_grayscale(image, 3) if kind == _TO_GREY else getattr(F, FUNCTIONS[kind])(image, factor)
    return image


# ---- transforms ----

def know(module):
    """Takes the transforms of a module into account: torchvision.transforms.transforms, or v2."""
    for name, method, names, maker in _TRANSFORMS:
        kind = getattr(module, name, None)
        if isinstance(kind, type) and exact.has_names(exact.plain(getattr(kind, method, None)), names):
            _makers[kind] = maker


def knows(kind):
    """Returns true if transforms of this class may be done here."""
    return kind in _makers


def drawing(transform):
    """Returns a function that draws, and returns what is wanted of a transform as it is now: [(kind, factor)]. Returns None if
    the transform is called as it is."""
    maker = _makers.get(type(transform))
    return maker and maker(transform)


def inside(transform):
    """Returns the one ColorJitter that a RandomApply has, as a tuple; else ()."""
    if _makers.get(type(transform)) not in (_applied, _applied_by_v2):
        return ()
    inner = transform.__dict__.get("transforms")
    is_one = type(inner) in (list, tuple) and len(inner) == 1 and _makers.get(type(inner[0])) is _jitter
    return tuple(inner) if is_one and exact.is_bare(inner[0]) else ()


def _jitter(transform):
    if not transform.__dict__.keys() >= _RANGES:
        return None
    ranges = transform.brightness, transform.contrast, transform.saturation, transform.hue
    if not any(ranges) or not all(each is None or rng.is_range(each) for each in ranges):
        return None
    copied = tuple(each and tuple(each) for each in ranges)
    return functools.partial(rng.jitter, copied) if proven().issuperset(FUNCTIONS) else None


def _grey(transform):
    chance = _chance(transform)
    return None if chance is None or GREY not in proven() else lambda: [(_TO_GREY, 0.0)] if rng.share() < chance else []


def _applying(is_applied):
    """Returns the maker for a RandomApply that compares its share with the chance by this function."""
    def maker(transform):
        chance, inner = _chance(transform), inside(transform)
        draw = drawing(inner[0]) if inner else None
        return None if chance is None or draw is None else lambda: draw() if is_applied(rng.share(), chance) else []
    return maker


_applied, _applied_by_v2 = _applying(operator.le), _applying(operator.lt)


def _chance(transform):
    """Returns the chance of a transform, as torch compares it, or None."""
    chance = transform.__dict__.get("p")
    return _SINGLE.unpack(_SINGLE.pack(chance))[0] if type(chance) in (float, int) and 0 <= chance <= 1 else None


# Classes, and all names that the code of a method uses, in their order. A version that uses others does something else.
_TRANSFORMS = (
    ("ColorJitter", "forward", ("get_params", "brightness", "contrast", "saturation", "hue", "F", *FUNCTIONS), _jitter),
    ("ColorJitter", "make_params",
     ("torch", "randperm", "brightness", "_generate_value", "contrast", "saturation", "hue", "dict"), _jitter),
    ("RandomGrayscale", "forward", ("F", "get_dimensions", "torch", "rand", "p", "rgb_to_grayscale"), _grey),
    ("RandomGrayscale", "make_params", ("query_chw", "dict"), _grey),
    ("RandomApply", "forward", ("p", "torch", "rand", "transforms"), _applied),
    ("RandomApply", "forward", ("len", "torch", "rand", "p", "transforms"), _applied_by_v2))


def changed(lazy, draw):
    """Returns the image after the changes of a lazy image that are drawn. Returns None if torchvision is to do all of it:
    nothing is drawn then."""
    if lazy.mode != "RGB" or lazy.is_transparent() or not operations_check.proves("colours") or not rng.can_draw_colours():
        return None
    wanted = draw()
    if not wanted:
        return lazy
    numbers = numbers_of(wanted)
    core = None if numbers is None else lazy.core()
    if core is None or not operate.recolour_in_place(core, numbers):
        return one_by_one(lazy.image() if core is None else lazy.like(core), wanted)
    _core.count(_core.OPERATIONS)
    return lazy_images.of_core(core, lazy.like(core, hand_on_info(wanted)))


# ---- comparing ----

@functools.cache
def proven():
    """Returns the names of the functions whose images are the same. The first call finds them."""
    return answers.proven(_name, (*FUNCTIONS, GREY), _is_same)


def _name():
    parts = [versions.PIL.__version__, numpy.__version__]
    return answers.name_of("colours", torchvision.__version__, parts, [Image.core.__file__, F.F_pil.__file__])


def _is_same(name):
    """Returns true if torchvision's function makes the decoder's pixels, without a warning. Pillow's operations in it are those
    under the hook, which are compared by themselves."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        return _makes_same(name) and not warned


def _makes_same(name):
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
