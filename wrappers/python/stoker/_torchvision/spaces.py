"""The magnitudes of torchvision's automatic augmentations are built once.

RandAugment, TrivialAugmentWide and AutoAugment build tensors of all magnitudes for each image, and read a few numbers of
them.
"""

from torch import is_inference_mode_enabled

from .._base import cache
from . import rng

NAME = "_augmentation_space"
CLASSES = "AutoAugment", "RandAugment", "TrivialAugmentWide"

_spaces = {}  # {(class, arguments): {operation: (magnitudes, has a sign)}}


def remembering(kind, plain):
    """Returns the method of a class that looks its plain result up. A class derived from it may change the tensors."""
    def space(self, *arguments, **named):
        if type(self) is not kind or named or not _are_sizes(arguments) or not _is_usual():
            return plain(self, *arguments, **named)
        found = _spaces.get((kind, arguments))
        if found is None:
            found = cache.put(_spaces, (kind, arguments), plain(self, *arguments))
        return dict(found)
    return space


def _are_sizes(arguments):
    """Returns true if the arguments are (bins,) or (bins, (height, width)), all of them plain ints."""
    size = arguments[1] if len(arguments) == 2 else ()
    return 0 < len(arguments) < 3 and type(size) is tuple and all(type(each) is int for each in (arguments[0], *size))


def _is_usual():
    return rng.can_draw() and not is_inference_mode_enabled()
