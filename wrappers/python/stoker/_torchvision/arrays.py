"""Samples of torchvision's data sets that hold an array of small images, such as CIFAR10.

torchvision makes an image of Pillow's of each row of the array. If nothing but torchvision's own transforms sees that
image, the result is made of the row in one call.
"""

import numpy
import torch
from PIL import Image

from .. import _core
from .._base import cache
from .._pillow.plan import Plan
from .._torch import rows
from .._pipeline import exact, inspection, pipeline, rng
from .._pipeline.exact import T

_MOST_BYTES = 1 << 18  # MOST_BYTES of core/steps/small.c
_TRIES = 8

# All names that the code of the plain __getitem__ uses. A version that uses others does more than is known here.
_NAMES = {"data", "targets", "Image", "fromarray", "transform", "target_transform"}

_from_array = Image.fromarray
_made = {}  # {(class, Inspections, the rows' shape): _Making, or None}


class _Making:
    """The parts that all samples of a pipeline have in common."""

    __slots__ = ("steps", "tail", "shape", "size", "request")

    def __init__(self, analysis, shape):
        height, width, channels = shape
        self.steps, self.tail = analysis.steps, analysis.tail
        self.shape = width, height, channels
        self.size = _size_after(analysis.steps, (width, height))
        self.request = Plan.whole(None, self.size).request(*self.tail.end)

    def tensor(self, row):
        """Returns the tensor of a row, or None with nothing drawn."""
        tensor, memory = self.tail.tensor(self.size)
        made = _core.make_small(self.steps, row, self.shape, self.request, torch._C.default_generator, memory)
        return None if type(made) is int else self.tail.finished(tensor)


def is_known(plain):
    """Returns true if this __getitem__ does no more than is known here."""
    return _NAMES.issuperset(plain.__code__.co_names) and exact.is_own(plain)


def sample(data_set, index, kinds, plain):
    """Returns (tensor, target) of a data set of one of these classes, or None with nothing drawn. The caller applies the
    target's transform."""
    state = data_set.__dict__
    data, targets = state["data"], state["targets"]
    if (type(data_set) not in kinds or type(data) is not numpy.ndarray or type(targets) is not list
            or type(index) is not int):
        return None
    making = _making_of(type(data_set), data, state["transform"], plain)
    row = None if making is None else data[index]
    if row is None or not row.flags.c_contiguous:
        return None
    target = targets[index]
    tensor = making.tensor(row)
    return None if tensor is None else (tensor, target)


def _making_of(kind, data, transform, plain):
    """Returns the _Making for a data set's rows, or None if torchvision is to make its samples."""
    if (data.dtype != numpy.uint8 or data.ndim != 4 or data.shape[3] != 3 or Image.fromarray is not _from_array
            or plain.__globals__.get("Image") is not Image or not rng.can_draw() or not exact.functions_are_own()
            or not _is_compose(transform)):
        return None
    found = inspection.lasting(transform.transforms)
    if found is None:
        return None
    key = kind, found, data.shape[1:]
    if key not in _made:
        cache.put(_made, key, _found_out(kind, transform, data.shape[1:], plain))
    return _made[key]


def _is_compose(transform):
    kind = type(transform)
    return ((kind is T.Compose or kind is getattr(exact.v2(), "Compose", None)) and exact.is_bare(transform)
            and type(transform.transforms) in (list, tuple))


def _found_out(kind, transform, shape, plain):
    """Returns a new _Making if its samples are the same as torchvision's, else None."""
    analysis = pipeline.analyse(transform.transforms, "RGB")
    if analysis.tail is None or not 4 < numpy.prod(shape) <= _MOST_BYTES:
        return None
    making = _Making(analysis, shape)
    return making if min(making.size) > 1 and _is_same(making, kind, transform, plain) else None


def _size_after(steps, size):
    """Returns the size that the steps leave, or (0, 0) if it depends on more than the last step."""
    for _, _, height, width, *_ in steps:
        size = (width, height) if width and height else (0, 0) if height else size
    return size


def _is_same(making, kind, transform, plain):
    """Makes some samples of an array without a pattern in both ways. The generator keeps its state."""
    generator, blank = torch._C.default_generator, kind.__new__(kind)
    width, height, channels = making.shape
    values = numpy.arange(height * width * channels, dtype=numpy.uint32)
    row = (values * values * 7 + values // 5).astype(numpy.uint8).reshape(height, width, channels)
    blank.__dict__.update(data=row[None], targets=[0], transform=transform, target_transform=None)
    state = generator.get_state()
    try:
        with rows.paused():
            return all(_is_once_the_same(making, row, lambda: plain(blank, 0)[0]) for _ in range(_TRIES))
    except Exception:  # torchvision will raise it where it belongs
        return False
    finally:
        generator.set_state(state)


def _is_once_the_same(making, row, plainly):
    generator = torch._C.default_generator
    before = generator.get_state()
    ours, after = making.tensor(row), generator.get_state()
    generator.set_state(before)
    theirs = plainly()
    return (type(ours) is type(theirs) and ours.dtype is theirs.dtype and ours.stride() == theirs.stride()
            and torch.equal(ours, theirs) and torch.equal(after, generator.get_state()))
