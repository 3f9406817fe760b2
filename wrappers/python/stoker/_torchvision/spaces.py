"""The magnitudes of torchvision's automatic augmentations are built once.

RandAugment, TrivialAugmentWide and AutoAugment build tensors of all magnitudes for each image, and read a few numbers of
them.
"""

from torch import is_inference_mode_enabled

from .._base import cache
from .._base.own import attempt
from .._pipeline import rng

NAME = "_augmentation_space"
CLASSES = "AutoAugment", "RandAugment", "TrivialAugmentWide"

_spaces = {}  # {(class, arguments): {operation: (magnitudes, has a sign)}}


def remembering(kind, plain):
    """Returns the method of a class that looks its plain result up. A class derived from it may change the tensors."""
    def space(self, *arguments, **named):
        key = attempt(_key, kind, self, arguments, named)
        if key is None:
            return plain(self, *arguments, **named)
        found = _spaces.get(key)
        if found is None:
            found = cache.put(_spaces, key, plain(self, *arguments))
        return dict(found)
    return space


def _key(kind, augmentation, arguments, named):
    """Returns the key of a result that is always the same, or None."""
    usual = type(augmentation) is kind and not named and _are_sizes(arguments) and is_usual()
    return (kind, arguments) if usual else None


def _are_sizes(arguments):
    """Returns true if the arguments are (bins,) or (bins, (height, width)), all of them plain ints."""
    size = arguments[1] if len(arguments) == 2 else ()
    return 0 < len(arguments) < 3 and type(size) is tuple and all(type(each) is int for each in (arguments[0], *size))


def is_usual():
    """Returns true if no mode changes the tensors or the draws."""
    return rng.can_draw() and not is_inference_mode_enabled()
