"""torchvision's geometric transforms as steps, which note them in a lazy image (lazy_images.py).

A step draws exactly the random numbers that the transform would have drawn. It either notes the whole transform, or
draws nothing and leaves the lazy image to the transform itself. A step is made from the transform's attributes, and
holds for as long as its Inspection (inspection.py).

Beside each step is its thread step, for the threads of a Feed: a tuple of which core/steps/steps.h makes the same plan,
for a whole batch and without Python.
"""

import torch

from .._pillow import check
from .._pillow.plan import FILTERS
from . import exact, rng
from .exact import F, T

_RESIZE, _CENTER_CROP, _CROP, _CROP_EACH, _REGION, _FLIP = range(6)  # enum step_kind
_NO_VALUES = (0.0,) * 6

_known = {}


def _finder_of(kind):
    return _known.get(kind) or _find(kind)


def knows(kind):
    """Returns true if transforms of this class may be noted."""
    return _finder_of(kind) is not _unknown


def step_of(transform):
    """Returns (step, thread_step) of a transform as it is now. step(lazy, transform) returns true if it noted the
    transform; without a step the transform is called as it is. thread_step(transform) returns the tuple for threads, or
    None."""
    return _finder_of(type(transform))(transform) or (None, _nothing)


def _unknown(transform):
    return None


def _nothing(transform):
    return None


def _always(*thread_step):
    """Returns a thread_step() that is always this tuple."""
    return lambda transform: thread_step


# ---- what the transforms have in common ----

def _height_width(size):
    """Returns (height, width) of a size of two numbers, or None."""
    if type(size) in (tuple, list) and len(size) == 2 and all(
            type(each) is int and each > 0 for each in size):
        return tuple(size)
    return None


def _filter(transform):
    """Returns Pillow's number of the interpolation if its resize is known to give Pillow's bytes, else 0."""
    if getattr(transform, "antialias", None) is False:  # torchvision warns
        return 0
    mode = transform.interpolation
    if type(mode) is str:
        mode = next((each for each in T.InterpolationMode if each.value == mode), None)
    number = F.pil_modes_mapping.get(mode, 0) if type(mode) is T.InterpolationMode else 0
    return int(number) if number in FILTERS and number in check.proven().filters else 0


def _wanted(size):
    """Returns the wanted (height, width) or shorter edge, or None."""
    if type(size) in (tuple, list) and len(size) == 1:
        size = size[0]
    if type(size) is int:
        return size if size > 0 else None
    return _height_width(size)


def _resized(wanted, width, height):
    """Returns (height, width) of the resized image."""
    if type(wanted) is not int:
        return wanted
    short, long = min(width, height), max(width, height)
    long = int(wanted * long / short)
    return (long, wanted) if width <= height else (wanted, long)


# ---- steps ----

def _resize(transform):
    filter, wanted = _filter(transform), _wanted(transform.size)
    if not filter or wanted is None or transform.max_size is not None:
        return None

    def step(lazy, _):
        height, width = _resized(wanted, *lazy.size)
        lazy.resize((width, height), filter)
        return True
    size = (wanted, 0) if type(wanted) is int else wanted
    return step, _always(_RESIZE, FILTERS[filter], *size, _NO_VALUES)


def _center_crop(transform):
    size = _height_width(transform.size)

    def step(lazy, _):
        edges = [_center(now, wanted) for now, wanted in zip(lazy.size, (size[1], size[0]))]
        (left, right), (top, bottom) = edges
        lazy.crop(left, top, right, bottom)
        return True
    return size and (step, _always(_CENTER_CROP, 0, *size, _NO_VALUES))


def _center(now, wanted):
    """Returns the begin and end of the middle. The begin is below 0 if the lazy image is smaller."""
    if wanted > now:
        begin = -((wanted - now) // 2)
    else:
        begin = int(round((now - wanted) / 2.0))
    return begin, begin + wanted


def _random_resized_crop(transform, log_ratio_of=None):
    filter, size = _filter(transform), _height_width(transform.size)
    if not filter or size is None or not rng.is_pair(transform.scale) or not rng.is_pair(transform.ratio):
        return None
    height, width = size
    scale, ratio = tuple(transform.scale), tuple(transform.ratio)
    log_ratio = log_ratio_of is None and rng.log_ratio(ratio)

    def step(lazy, transform):
        top, left, crop_height, crop_width = rng.region(
            *lazy.size, scale, ratio, log_ratio or log_ratio_of(transform))
        lazy.crop(left, top, left + crop_width, top + crop_height)
        lazy.resize((width, height), filter)
        return True

    def thread_step(transform):
        values = *scale, *(log_ratio or log_ratio_of(transform)), min(ratio), max(ratio)
        return (_REGION, FILTERS[filter], *size, values) if rng.are_usual(values) else None
    return step, thread_step


def _random_resized_crop_v2(transform):
    return _random_resized_crop(transform, lambda transform: transform._log_ratio.tolist())


def _flip(direction):
    def found(transform):
        p = transform.p
        if type(p) not in (float, int) or not 0 <= p <= 1:
            return None

        def step(lazy, _):
            if rng.chance(p):
                lazy.flip(direction)
            return True
        return step, _always(_FLIP, direction, 0, 0, (p, *_NO_VALUES[1:]))
    return found


# ---- RandomCrop ----

def _fill(fill, channels):
    """Returns the fill as bytes of each channel, or None."""
    if type(fill) is int:
        fill = (fill,) * channels
    if type(fill) is tuple and len(fill) == channels and all(
            type(each) is int and 0 <= each <= 255 for each in fill):
        return fill
    return None


def _edges(padding):
    """Returns (left, top, right, bottom) of torchvision's padding, or None."""
    if type(padding) is int:
        padding = (padding,)
    if type(padding) not in (tuple, list) or len(padding) not in (1, 2, 4):
        return None
    if any(type(each) is not int or each < 0 for each in padding):
        return None
    return tuple(padding) * (4 // len(padding))


def _random_crop(transform):
    edges = (0, 0, 0, 0) if transform.padding is None else _edges(transform.padding)
    return _crop_padded(transform, edges, _both)


def _random_crop_v2(transform):
    edges = (0, 0, 0, 0)
    if transform.padding is not None:
        left, right, top, bottom = transform.padding
        edges = _edges((left, top, right, bottom))
    return _crop_padded(transform, edges, _each)


def _crop_padded(transform, edges, draw):
    size = _height_width(transform.size)
    if (size is None or edges is None or transform.pad_if_needed
            or (any(edges) and transform.padding_mode != "constant")):
        return None

    def step(lazy, transform):
        fill, spare = _fill(transform.fill, lazy.channels), _spare(lazy.size, edges, size)
        if fill is None or min(spare) < 0:
            return False
        top, left = draw(*spare)
        box = _box(left - edges[0], top - edges[1], size)
        if any(edges) and any(fill):
            lazy.crop_padded(*box, fill)
        else:
            lazy.crop(*box)
        return True

    def thread_step(transform):
        if any(edges) or _fill(transform.fill, 3) is None:
            return None
        return _CROP if draw is _both else _CROP_EACH, 0, *size, _NO_VALUES
    return step, thread_step


def _spare(size, edges, crop):
    """Returns by how many pixels the padded image is (higher, wider) than the crop."""
    return size[1] + edges[1] + edges[3] - crop[0], size[0] + edges[0] + edges[2] - crop[1]


def _box(left, top, size):
    return left, top, left + size[1], top + size[0]


def _both(more_height, more_width):
    """Draws both places, as v1 does unless the crop has only one."""
    if not more_height and not more_width:
        return 0, 0
    return rng.pair_below(more_height + 1, more_width + 1)


def _each(more_height, more_width):
    """Draws a place only in a direction with more than one, as v2 does."""
    top = int(torch.randint(0, more_height + 1, size=())) if more_height else 0
    return top, int(torch.randint(0, more_width + 1, size=())) if more_width else 0


# ---- which step is whose ----

_V1 = {"Resize": _resize, "CenterCrop": _center_crop, "RandomResizedCrop": _random_resized_crop,
       "RandomCrop": _random_crop, "RandomHorizontalFlip": _flip(1), "RandomVerticalFlip": _flip(2)}
_V2 = {**_V1, "RandomResizedCrop": _random_resized_crop_v2, "RandomCrop": _random_crop_v2}


def _find(kind):
    """Returns the function that finds the steps of a new class."""
    finder = _unknown
    for module, finders in ((T, _V1), (exact.v2(), _V2)):
        if module is not None and getattr(module, kind.__name__, None) is kind:
            finder = finders.get(kind.__name__, _unknown)
    _known[kind] = finder
    return finder
