"""timm's RandomResizedCropAndInterpolation: it draws its region by Python's `random`, and the region is noted."""

import random

from .._base.own import attempt
from .._pillow.plan import FILTERS
from . import exact, lazy_images, steps
from .exact import F

# All names that the code of its __call__ uses, in their order. A version that uses others does something else.
_NAMES = ("get_params", "scale", "ratio", "isinstance", "interpolation", "tuple", "list", "random", "choice", "F",
          "resized_crop", "size")

_kinds = set()


def know(kind):
    """Takes timm's class into account."""
    call, region = kind.__dict__.get("__call__"), getattr(kind, "get_params", None)
    if exact.has_names(call, _NAMES) and hasattr(region, "__code__"):
        names = call.__globals__
        if names.get("F") is F and names.get("random") is random:
            exact.trust(call)
            exact.trust(region)
            _kinds.add(kind)


def knows(kind):
    """Returns true if regions of transforms of this class may be noted."""
    return kind in _kinds


def filters_of(transform):
    """Returns {interpolation: the filter in the decoder's numbers} of a transform as it is now, or None: the transform is
    called as it is."""
    if type(transform) not in _kinds or type(transform.size) is not tuple or steps.height_width(transform.size) is None:
        return None
    modes = transform.interpolation if type(transform.interpolation) is tuple else (transform.interpolation,)
    filters = {mode: FILTERS.get(steps.filter_of(mode)) for mode in modes}
    return filters if modes and all(filters.values()) else None


def cropped(transform, filters, image):
    """Returns the result for an image of Pillow's that waits: a lazy image, or what timm makes of the numbers once they
    are drawn. Returns None for any other image."""
    lazy = lazy_images.of_waiting(image)
    if lazy is None:
        return None
    region = transform.get_params(image, transform.scale, transform.ratio)
    mode = transform.interpolation
    if type(mode) is tuple:
        mode = random.choice(mode)
    return attempt(_noted, lazy, region, transform.size, filters[mode]) or F.resized_crop(image, *region, transform.size, mode)


def _noted(lazy, region, size, filter):
    """Returns the lazy image with the region of (top, left, height, width), or None if Pillow is to refuse it."""
    top, left, height, width = region
    box = left, top, left + width, top + height
    if not (0 <= left < box[2] <= lazy.size[0] and 0 <= top < box[3] <= lazy.size[1]):
        return None
    return lazy.region(box, size[::-1], filter)
