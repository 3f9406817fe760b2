"""torchvision's geometric transforms as steps: tuples of which core/steps makes a plan.

A step draws exactly the random numbers that the transform would have drawn, for one image or for each of a batch. It is
made from the transform's attributes, and holds for as long as its Inspection (inspection.py).
"""

from .. import _core
from .._pillow import check
from .._pillow.plan import FILTERS
from . import exact, rng, tensor_resize
from .exact import F, T

_NO_VALUES = (0.0,) * 6
_MOST_PADDING = 1 << 20

_known = {}


def _finder_of(kind):
    return _known.get(kind) or _find(kind)


def knows(kind):
    """Returns true if transforms of this class may be noted."""
    return _finder_of(kind) is not _unknown


def step_of(transform):
    """Returns the step of a transform as it is now, or None: the transform is called as it is. The step is (kind, filter,
    height, width, values), and for a crop of a padded image the colour of what is beyond the image."""
    return _finder_of(type(transform))(transform)


def tensor_steps_of(transform, step):
    """Returns two steps of a transform that does `step` to an image. The first is for a tensor of bytes of the class
    torch.Tensor, the second for one of another class, such as tv_tensors.Image. A step is None if the
    transform's result cannot be had exactly. v1 resizes bytes as floats, and returns torch.Tensor for each class."""
    is_v1 = getattr(T, type(transform).__name__, None) is type(transform)
    if step is not None and step[0] in (_core.STEP_RESIZE, _core.STEP_REGION):
        step = _tensor_resize(transform, step, is_v1)
    elif step is not None and step[0] in (_core.STEP_CROP, _core.STEP_CROP_EACH) and any(step[4][:4]):
        step = None
    return step, None if is_v1 else step


def _tensor_resize(transform, step, is_v1):
    kind, filter, *rest = step
    if is_v1:
        filter = tensor_resize.BY_FLOATS.get(filter)
    return (kind, filter, *rest) if transform.antialias is True and filter in tensor_resize.proven() else None


def _unknown(transform):
    return None


# ---- what the transforms have in common ----

def height_width(size):
    """Returns (height, width) of a size of two numbers, or None."""
    if type(size) in (tuple, list) and len(size) == 2 and all(
            type(each) is int and each > 0 for each in size):
        return tuple(size)
    return None


def _filter(transform):
    """Returns Pillow's number of the interpolation if its resize is known to give Pillow's bytes, else 0."""
    if getattr(transform, "antialias", None) is False:  # torchvision warns
        return 0
    return filter_of(transform.interpolation)


def filter_of(mode):
    """Returns Pillow's number of an interpolation if its resize is known to give Pillow's bytes, else 0."""
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
    return height_width(size)


# ---- steps ----

def resize(size, filter):
    """Returns the step of a resize to (height, width) or a shorter edge, by a filter in the decoder's numbers, or None."""
    wanted = _wanted(size)
    if wanted is None:
        return None
    return _core.STEP_RESIZE, filter, *((wanted, 0) if type(wanted) is int else wanted), _NO_VALUES


def _resize(transform):
    filter = _filter(transform)
    return resize(transform.size, FILTERS[filter]) if filter and transform.max_size is None else None


def _center_crop(transform):
    size = height_width(transform.size)
    return size and (_core.STEP_CENTER_CROP, 0, *size, _NO_VALUES)


def region(scale, ratio, log_ratio, size=(0, 0), filter=0):
    """Returns the step of a RandomResizedCrop; without a size it is not resized."""
    values = *scale, *log_ratio, min(ratio), max(ratio)
    return (_core.STEP_REGION, filter, *size, values) if rng.are_usual(values) else None


def _random_resized_crop(transform):
    filter, size = _filter(transform), height_width(transform.size)
    if not filter or size is None or not rng.is_pair(transform.scale) or not rng.is_pair(transform.ratio):
        return None
    log_ratio = getattr(transform, "_log_ratio", None)  # v2 has it as a tensor
    log_ratio = rng.log_ratio(transform.ratio) if log_ratio is None else log_ratio.tolist()
    return region(transform.scale, transform.ratio, log_ratio, size, FILTERS[filter])


def _flip(direction):
    def step_of(transform):
        p = transform.p
        if type(p) not in (float, int) or not 0 <= p <= 1:
            return None
        return _core.STEP_FLIP, direction, 0, 0, (p, *_NO_VALUES[1:])
    return step_of


# ---- RandomCrop ----

def _fill(fill):
    """Returns (the fill, the channels that it is for or 0 for any), or None."""
    values = fill if type(fill) is tuple else (fill,)
    if not all(type(each) is int and 0 <= each <= 255 for each in values):
        return None
    return fill, 0 if type(fill) is int else len(fill)


def _edges(padding):
    """Returns (left, top, right, bottom) of torchvision's padding, or None."""
    if type(padding) is int:
        padding = (padding,)
    if type(padding) not in (tuple, list) or len(padding) not in (1, 2, 4):
        return None
    if any(type(each) is not int or not 0 <= each <= _MOST_PADDING for each in padding):
        return None
    return tuple(padding) * (4 // len(padding))


def _random_crop(transform):
    return _crop_padded(transform, _core.STEP_CROP, transform.padding)


def _random_crop_v2(transform):
    padding = transform.padding
    if padding is not None:
        left, right, top, bottom = padding
        padding = left, top, right, bottom
    return _crop_padded(transform, _core.STEP_CROP_EACH, padding)


def _crop_padded(transform, kind, padding):
    size, fill = height_width(transform.size), _fill(transform.fill)
    edges = (0, 0, 0, 0) if padding is None else _edges(padding)
    if (size is None or edges is None or fill is None or transform.pad_if_needed
            or (any(edges) and transform.padding_mode != "constant")):
        return None
    step = kind, 0, *size, (*edges, fill[1], 0)
    return step if padding is None else (*step, fill[0])


# ---- which step is whose ----

_V1 = {"Resize": _resize, "CenterCrop": _center_crop, "RandomResizedCrop": _random_resized_crop,
       "RandomCrop": _random_crop, "RandomHorizontalFlip": _flip(1), "RandomVerticalFlip": _flip(2)}
_V2 = {**_V1, "RandomCrop": _random_crop_v2}


def _find(kind):
    """Returns the function that finds the steps of a new class."""
    finder = _unknown
    for module, finders in ((T, _V1), (exact.v2(), _V2)):
        if module is not None and getattr(module, kind.__name__, None) is kind:
            finder = finders.get(kind.__name__, _unknown)
    _known[kind] = finder
    return finder
