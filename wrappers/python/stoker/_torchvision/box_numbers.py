"""The numbers of a few boxes beside an image: what v2's Resize, flips, ConvertBoundingBoxFormat and SanitizeBoundingBoxes
make of them, without torch (core/steps/boxes.c).

The results are compared with those of torchvision's functions, once for each type of numbers.
"""

import itertools
import sys

import torch

from .. import _core
from .._base import cache
from . import boxes

_SIDES = 4
_CPU = torch.device("cpu")
_ROW_BYTES = {"f": 16, "d": 32, "q": 32}

# The test's boxes and canvases, (height, width).
_NUMBERS = (-3.7, 0, 0.1, 2, 7, 33.3, 100)
_CANVASES = (75, 100), (320, 41)

_proven = {}  # {a type of numbers: true if the numbers of the test's boxes are torchvision's}


class Boxes:
    """The boxes of a sample, as they are so far."""

    __slots__ = ("like", "form", "canvas", "is_same", "is_shared", "_dtype", "_numbers", "_changes")

    def __init__(self, like, plain):
        """`like` is a BoundingBoxes that of() takes, `plain` its tensor of torch's own class."""
        self.like, self._dtype = like, plain.dtype
        self._numbers, self._changes = plain.tolist(), []
        self.form, self.canvas = like.format.value, like.canvas_size
        self.is_same = True  # the object is the program's,
        self.is_shared = True  # or its memory is

    @classmethod
    def of(cls, value):
        """Returns the boxes of a BoundingBoxes, or None if they are torchvision's to transform."""
        plain, canvas = value.as_subclass(torch.Tensor), value.canvas_size
        dtype, shape = plain.dtype, plain.shape
        is_fit = (dtype in boxes.TYPES and len(shape) == 2 and shape[1] == _SIDES and 0 < shape[0] <= boxes.MOST_BOXES
                  and plain.is_cpu and not plain.requires_grad and _are_rows(plain)
                  and type(canvas) is tuple and tuple(map(type, canvas)) == (int, int)  # numpy's make ratios of float64
                  and _is_proven(dtype))
        if not is_fit:
            return None
        found = cls(value, plain)
        found._made()
        return found

    def again(self):
        """Returns the boxes as of() found them."""
        return Boxes(self.like, self.like.as_subclass(torch.Tensor))

    def count(self):
        """Returns how many boxes of() found."""
        return len(self._numbers)

    def kind(self):
        """Returns what of them the transforms' results may depend on."""
        return self.form, self._dtype

    def _change(self, *change):
        self.is_same = self.is_shared = False
        self._changes.append(change)

    def _made(self):
        """Returns (the bytes of the numbers, true or false for each box that kept() has seen). Raises ValueError for numbers
        that are torchvision's to change."""
        return _core.boxes(self._numbers, boxes.TYPES[self._dtype], self._changes)

    def resized(self, size):
        """Makes the boxes of an image that is resized to (height, width)."""
        self.is_same = False
        if size != self.canvas:
            self._change("resize", size[1] / self.canvas[1], size[0] / self.canvas[0])
            self.canvas = size

    def flipped(self, direction):
        """Makes the boxes of an image that is flipped, left to right (1) or top to bottom (2)."""
        self._change("flip", direction - 1, self.form, self.canvas[2 - direction])

    def converted(self, form):
        """Makes the boxes in another format. Raises ValueError for a conversion that is torchvision's."""
        self.is_same = False
        if form == self.form:
            return
        if (self.form, form) != ("XYWH", "XYXY"):
            raise ValueError("this conversion is torchvision's")
        self._change("corners")
        self.form = form

    def kept(self, limits):
        """Drops boxes as SanitizeBoundingBoxes does. `limits`: the least side and area. Returns a mask: true for each box
        that is kept."""
        if self.form != "XYXY":
            raise ValueError("torchvision converts the boxes first")
        self._change("keep", *self.canvas, *limits)
        return self._made()[1]

    def tensor(self):
        """Returns the tensor of torch's own class."""
        if self.is_shared:
            return self.like.as_subclass(torch.Tensor)
        values, _ = self._made()
        rows = len(values) // _ROW_BYTES[boxes.TYPES[self._dtype]]
        tensor = torch.empty_strided((rows, _SIDES), (_SIDES, 1), dtype=self._dtype, device=_CPU)
        if rows:
            _core.memory_at(tensor.data_ptr(), len(values))[:] = values
        return tensor

    def wrapped(self):
        """Returns the BoundingBoxes."""
        if self.is_same:
            return self.like
        kind = type(self.like)
        new, old = self.tensor().as_subclass(kind), self.like.__dict__
        new.format, new.canvas_size = type(self.like.format)[self.form], self.canvas
        if "clamping_mode" in old:
            new.clamping_mode = old["clamping_mode"]
        return new


def _are_rows(plain):
    """Returns true if torch makes rows of this tensor's: it keeps the order of the strides, and those of a single row."""
    return plain.stride() == (_SIDES, 1) or len(plain) > 1 and plain.stride(0) > plain.stride(1)


# ---- the comparison ----

def _is_proven(dtype):
    found = _proven.get(dtype)
    return cache.put(_proven, dtype, _are_same(dtype)) if found is None else found


def _are_same(dtype):
    """Compares the numbers of all boxes of the test with torchvision's."""
    tv_tensors = sys.modules["torchvision.tv_tensors"]
    numbers = torch.tensor(list(itertools.product(_NUMBERS, repeat=_SIDES)), dtype=torch.float64, device="cpu").to(dtype)
    try:
        return all(_is_same(tv_tensors.BoundingBoxes(numbers, format=form, canvas_size=canvas), *change)
                   for canvas in _CANVASES for form in ("XYXY", "XYWH", "CXCYWH") for change in _changes(form, canvas))
    except Exception:  # another version's functions
        return False


def _changes(form, canvas):
    """Yields (a method of Boxes, its argument, the same with torchvision's functions)."""
    functional = sys.modules["torchvision.transforms.v2"].functional
    for size in (canvas, (17, 200)):
        yield Boxes.resized, size, lambda value: functional.resize(value, list(size))
    yield Boxes.flipped, 1, functional.horizontal_flip
    yield Boxes.flipped, 2, functional.vertical_flip
    if form != "CXCYWH":
        yield Boxes.converted, "XYXY", lambda value: functional.convert_bounding_box_format(value, new_format="XYXY")


def _is_same(value, change, argument, theirs):
    ours = Boxes(value, value.as_subclass(torch.Tensor))
    change(ours, argument)
    ours, theirs = ours.wrapped(), theirs(value)
    return (type(ours) is type(theirs) and ours.__dict__ == theirs.__dict__ and ours.dtype is theirs.dtype
            and ours.as_subclass(torch.Tensor).numpy().tobytes() == theirs.as_subclass(torch.Tensor).numpy().tobytes())
