"""torchvision's geometric transforms, noted in a picture (pictures.py).

A step draws exactly what the transform would have drawn. It either notes the whole transform, or
draws nothing and leaves the picture to the transform itself. What it needs to know of a transform it was
made with (looks.py says how long that holds).

Beside it is what it does for the threads of a Feed: a tuple that core/feed/steps.h makes the same plan of, for
a whole batch and without Python.
"""

import torch

from .._pillow import check
from .._pillow.plan import FILTERS
from . import draws, exact
from .exact import F, T

_RESIZE, _CENTER_CROP, _CROP, _CROP_EACH, _REGION, _FLIP = range(6)  # enum step_kind
_NO_VALUES = (0.0,) * 6

_known = {}


def _finder_of(kind):
    return _known.get(kind) or _find(kind)


def knows(kind):
    """Whether transforms of this class may be noted."""
    return _finder_of(kind) is not _unknown


def step_of(transform):
    """(step, told) of a transform as it is now. step(picture, transform): whether it noted it; None: it is
    to be called as it is. told(transform): the same as a tuple for threads, or None."""
    return _finder_of(type(transform))(transform) or (None, _nothing)


def _unknown(transform):
    return None


def _nothing(transform):
    return None


def _as(*told):
    """What a step is for threads, if that is always the same."""
    return lambda transform: told


# ---- what the transforms have in common ----

def _is_pair(values):
    return (type(values) in (tuple, list) and len(values) == 2
            and type(values[0]) in (float, int) and type(values[1]) in (float, int))


def _height_width(size):
    """Of a size of two numbers, or None."""
    if type(size) in (tuple, list) and len(size) == 2 and all(
            type(each) is int and each > 0 for each in size):
        return tuple(size)
    return None


def _filter(transform):
    """Pillow's number of the interpolation, if that resize is known to give the same, else 0."""
    if getattr(transform, "antialias", None) is False:  # torchvision warns
        return 0
    mode = transform.interpolation
    if type(mode) is str:
        mode = next((each for each in T.InterpolationMode if each.value == mode), None)
    number = F.pil_modes_mapping.get(mode, 0) if type(mode) is T.InterpolationMode else 0
    return int(number) if number in FILTERS and number in check.proven().filters else 0


def _wanted(size):
    """(height, width), or the shorter edge, that is wanted; or None."""
    if type(size) in (tuple, list) and len(size) == 1:
        size = size[0]
    if type(size) is int:
        return size if size > 0 else None
    return _height_width(size)


def _resized(wanted, width, height):
    """(height, width) of the result."""
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

    def step(picture, _):
        height, width = _resized(wanted, *picture.size)
        picture.resize((width, height), filter)
        return True
    size = (wanted, 0) if type(wanted) is int else wanted
    return step, _as(_RESIZE, FILTERS[filter], *size, _NO_VALUES)


def _center_crop(transform):
    size = _height_width(transform.size)

    def step(picture, _):
        edges = [_center(now, wanted) for now, wanted in zip(picture.size, (size[1], size[0]))]
        (left, right), (top, bottom) = edges
        picture.crop(left, top, right, bottom)
        return True
    return size and (step, _as(_CENTER_CROP, 0, *size, _NO_VALUES))


def _center(now, wanted):
    """Where the middle begins and ends; below 0 where the picture is smaller."""
    if wanted > now:
        begin = -((wanted - now) // 2)
    else:
        begin = int(round((now - wanted) / 2.0))
    return begin, begin + wanted


def _random_resized_crop(transform, log_ratio_of=None):
    filter, size = _filter(transform), _height_width(transform.size)
    if not filter or size is None or not _is_pair(transform.scale) or not _is_pair(transform.ratio):
        return None
    height, width = size
    scale, ratio = tuple(transform.scale), tuple(transform.ratio)
    log_ratio = log_ratio_of is None and draws.log_ratio(ratio)

    def step(picture, transform):
        top, left, crop_height, crop_width = draws.region(
            *picture.size, scale, ratio, log_ratio or log_ratio_of(transform))
        picture.crop(left, top, left + crop_width, top + crop_height)
        picture.resize((width, height), filter)
        return True

    def told(transform):
        values = *scale, *(log_ratio or log_ratio_of(transform)), min(ratio), max(ratio)
        return (_REGION, FILTERS[filter], *size, values) if draws.are_usual(values) else None
    return step, told


def _random_resized_crop_v2(transform):
    return _random_resized_crop(transform, lambda transform: transform._log_ratio.tolist())


def _flip(direction):
    def found(transform):
        p = transform.p
        if type(p) not in (float, int) or not 0 <= p <= 1:
            return None

        def step(picture, _):
            if draws.chance(p):
                picture.flip(direction)
            return True
        return step, _as(_FLIP, direction, 0, 0, (p, *_NO_VALUES[1:]))
    return found


# ---- RandomCrop ----

def _fill(fill, channels):
    """Bytes of each channel, or None."""
    if type(fill) is int:
        fill = (fill,) * channels
    if type(fill) is tuple and len(fill) == channels and all(
            type(each) is int and 0 <= each <= 255 for each in fill):
        return fill
    return None


def _edges(padding):
    """(left, top, right, bottom) of torchvision's padding, or None."""
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
    all_height, all_width = size

    def step(picture, transform):
        fill = _fill(transform.fill, picture.channels)
        more_height = picture.size[1] + edges[1] + edges[3] - all_height
        more_width = picture.size[0] + edges[0] + edges[2] - all_width
        if fill is None or more_height < 0 or more_width < 0:
            return False
        top, left = draw(more_height, more_width)
        left, top = left - edges[0], top - edges[1]
        box = (left, top, left + all_width, top + all_height)
        if any(edges) and any(fill):
            picture.crop_padded(*box, fill)
        else:
            picture.crop(*box)
        return True

    def told(transform):
        if any(edges) or _fill(transform.fill, 3) is None:
            return None
        return _CROP if draw is _both else _CROP_EACH, 0, *size, _NO_VALUES
    return step, told


def _both(more_height, more_width):
    """v1 draws both places unless there is but one."""
    if not more_height and not more_width:
        return 0, 0
    return draws.pair_below(more_height + 1, more_width + 1)


def _each(more_height, more_width):
    """v2 draws a place only where there is more than one."""
    top = int(torch.randint(0, more_height + 1, size=())) if more_height else 0
    return top, int(torch.randint(0, more_width + 1, size=())) if more_width else 0


# ---- which step is whose ----

_V1 = {"Resize": _resize, "CenterCrop": _center_crop, "RandomResizedCrop": _random_resized_crop,
       "RandomCrop": _random_crop, "RandomHorizontalFlip": _flip(1), "RandomVerticalFlip": _flip(2)}
_V2 = {**_V1, "RandomResizedCrop": _random_resized_crop_v2, "RandomCrop": _random_crop_v2}


def _find(kind):
    """What finds the steps of a class that is met for the first time."""
    finder = _unknown
    for module, finders in ((T, _V1), (exact.v2(), _V2)):
        if module is not None and getattr(module, kind.__name__, None) is kind:
            finder = finders.get(kind.__name__, _unknown)
    _known[kind] = finder
    return finder
