"""Automatic augmentations choose their operations by the same draws, without tensors and arrays of objects."""

import functools

import numpy

from .._base import cache
from .._pipeline import exact, rng
from .._pipeline.tensor_tail import is_pillows
from . import spaces

# All names that the code of the replaced methods uses, in their order. A version that uses others does something else.
TRIVIAL_NAMES = ("fill", "F", "get_dimensions", "isinstance", "Tensor", "int", "float", "_augmentation_space",
                 "num_magnitude_bins", "torch", "randint", "len", "item", "list", "keys", "ndim", "long", "_apply_op",
                 "interpolation")
TIMMS_NAMES = "np", "random", "choice", "ops", "num_layers", "choice_weights"

_tables = {}  # {(class, bins): ((operation, magnitudes or None, has a sign), ...)}


# ---- torchvision's TrivialAugmentWide ----

def drawn(kind, space, augmentation, image):
    """Returns (operation, magnitude) for an image of Pillow's, or None: nothing is drawn then. `space` is the class's own
    method of that name."""
    bins = augmentation.num_magnitude_bins
    if (type(augmentation) is not kind or spaces.NAME in augmentation.__dict__ or kind.__dict__[spaces.NAME] is not space
            or type(bins) is not int or not is_pillows(image) or not spaces.is_usual() or not exact.functions_are_own()):
        return None
    table = _tables.get((kind, bins)) or cache.put(_tables, (kind, bins), _table(augmentation, bins))
    return rng.drawn_at_once(_chosen, table)


def _chosen(next_words, table):
    """Each word is a number below a limit as torch.randint(limit, (1,)) draws it."""
    name, magnitudes, has_sign = table[next_words(1)[0] % len(table)]
    magnitude = 0.0 if magnitudes is None else magnitudes[next_words(1)[0] % len(magnitudes)]
    if has_sign and next_words(1)[0] % 2:
        magnitude *= -1.0
    return name, magnitude


def _table(augmentation, bins):
    return tuple((name, [float(each) for each in magnitudes.tolist()] if magnitudes.ndim > 0 else None, has_sign)
                 for name, (magnitudes, has_sign) in augmentation._augmentation_space(bins).items())


# ---- timm's RandAugment ----

def chosen(kind, operation, augmentation):
    """Returns the operations that NumPy's choice() would choose, or None: nothing is drawn then. `operation` is their
    class. choice() makes an array of them first."""
    ops, count = augmentation.ops, augmentation.num_layers
    if (type(augmentation) is not kind or augmentation.choice_weights is not None or type(ops) is not list
            or type(count) is not int or not ops or any([type(each) is not operation for each in ops])):
        return None
    choice, randint = numpy.random.choice, numpy.random.randint
    if choice.__self__ is not randint.__self__ or type(choice.__self__) is not numpy.random.RandomState:
        return None
    if not _chooses_by_randint(operation):
        return None
    return [ops[randint(len(ops))] for _ in range(count)]


@functools.cache
def _chooses_by_randint(operation):
    """Returns true if choice() draws of a list of such objects as randint() does, one by one."""
    several = [object.__new__(operation) for _ in range(7)]
    for count in range(1, 8):
        ours, theirs = numpy.random.RandomState(count), numpy.random.RandomState(count)
        picked = theirs.choice(several[:count], 5, replace=True, p=None)
        if any(several[ours.randint(count)] is not each for each in picked):
            return False
        if ours.randint(1 << 30) != theirs.randint(1 << 30):
            return False
    return True
