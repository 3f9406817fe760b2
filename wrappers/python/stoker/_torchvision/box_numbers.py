"""The numbers of a few boxes beside an image: what v2's Resize, flips and ConvertBoundingBoxFormat make of them, without
torch, as in boxes.py.

A product or a sum of two float32 that is made in double and rounded once is the float32 that torch makes. The results are
compared with those of torchvision's functions, once for each type of numbers.
"""

import array
import itertools
import struct
import sys

import torch

from .. import _core
from .._base import cache
from . import boxes

_SIDES = 4
_CPU = torch.device("cpu")
_CODES = {torch.float32: "f", torch.float64: "d", torch.int64: "q"}  # of struct

# The test's boxes and canvases, (height, width).
_NUMBERS = (-3.7, 0, 0.1, 2, 7, 33.3, 100)
_CANVASES = (75, 100), (320, 41)

_proven = {}  # {a type of numbers: true if the numbers of the test's boxes are torchvision's}


def _rounded(dtype, values):
    return array.array("f", values).tolist() if dtype is torch.float32 else values


def _sums(dtype, first, second):
    return _rounded(dtype, [a + b for a, b in zip(first, second)])


def _differences(dtype, first, second):
    return _rounded(dtype, [a - b for a, b in zip(first, second)])


class Boxes:
    """The boxes of a sample, as they are so far."""

    __slots__ = ("like", "dtype", "numbers", "form", "canvas", "is_same", "is_shared")

    def __init__(self, like, plain):
        """`like` is a BoundingBoxes that of() takes, `plain` its tensor of torch's own class."""
        self.like, self.dtype = like, plain.dtype
        self.numbers = list(itertools.chain.from_iterable(plain.tolist()))  # of all boxes, one after the other
        if not all([-boxes.MOST < number < boxes.MOST for number in self.numbers]):
            raise ValueError("too large, or no number")
        self.form, self.canvas = like.format.value, like.canvas_size
        self.is_same = True  # the object is the program's,
        self.is_shared = True  # or its memory is

    @classmethod
    def of(cls, value):
        """Returns the boxes of a BoundingBoxes, or None if they are torchvision's to transform."""
        plain, canvas = value.as_subclass(torch.Tensor), value.canvas_size
        dtype, shape = plain.dtype, plain.shape
        is_fit = (dtype in boxes.TYPES and len(shape) == 2 and shape[1] == _SIDES and 0 < shape[0] <= boxes.MOST_BOXES
                  and plain.is_cpu and not plain.requires_grad and type(canvas) is tuple and len(canvas) == 2
                  and _is_proven(dtype))
        return cls(value, plain) if is_fit else None

    def again(self):
        """Returns the boxes as of() found them."""
        return Boxes(self.like, self.like.as_subclass(torch.Tensor))

    def count(self):
        return len(self.numbers) // _SIDES

    def _changes(self):
        self.is_same = self.is_shared = False

    def resized(self, size):
        """Makes the boxes of an image that is resized to (height, width)."""
        self.is_same = False
        if size == self.canvas:
            return
        (height, width), (new_height, new_width), dtype = self.canvas, size, self.dtype
        self._changes()
        ratios = array.array("f", (new_width / width, new_height / height)).tolist()
        products = [a * b for a, b in zip(self.numbers, itertools.cycle(ratios))]
        if dtype is torch.int64:
            products = map(int, _rounded(torch.float32, products))
        self.numbers, self.canvas = list(_rounded(dtype, products)), size

    def flipped(self, direction):
        """Makes the boxes of an image that is flipped, left to right (1) or top to bottom (2)."""
        self._changes()
        first, last = direction - 1, direction + 1
        begins, ends, dtype = self.numbers[first::_SIDES], self.numbers[last::_SIDES], self.dtype
        whole = [self.canvas[1 - first]] * len(begins)
        if self.form == "XYXY":
            begins, ends = ends, begins
            self.numbers[last::_SIDES] = [-each for each in _differences(dtype, ends, whole)]
        elif self.form == "XYWH":
            begins = _sums(dtype, begins, ends)
        self.numbers[first::_SIDES] = [-each for each in _differences(dtype, begins, whole)]

    def converted(self, form):
        """Makes the boxes in another format. Raises ValueError for a conversion that is torchvision's."""
        self.is_same = False
        if form == self.form:
            return
        if (self.form, form) != ("XYWH", "XYXY"):
            raise ValueError("this conversion is torchvision's")
        self._changes()
        for first in (0, 1):
            sides = self.numbers[first::_SIDES], self.numbers[first + 2::_SIDES]
            self.numbers[first + 2::_SIDES] = _sums(self.dtype, *sides)
        self.form = form

    def rows(self):
        """Returns the numbers of each box."""
        return [self.numbers[at:at + _SIDES] for at in range(0, len(self.numbers), _SIDES)]

    def kept(self, limits):
        """Drops boxes as SanitizeBoundingBoxes does. `limits`: the least side and area. Returns a mask: true for each box
        that is kept."""
        if self.form != "XYXY":
            raise ValueError("torchvision converts the boxes first")
        rows = self.rows()
        mask = [boxes.is_kept(row, *self.canvas, *limits) for row in rows]
        self._changes()
        self.numbers = list(itertools.chain.from_iterable(itertools.compress(rows, mask)))
        return mask

    def tensor(self):
        """Returns the tensor of torch's own class."""
        if self.is_shared:
            return self.like.as_subclass(torch.Tensor)
        tensor = torch.empty_strided((self.count(), _SIDES), (_SIDES, 1), dtype=self.dtype, device=_CPU)
        if self.numbers:
            values = struct.pack(f"{len(self.numbers)}{_CODES[self.dtype]}", *self.numbers)
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
