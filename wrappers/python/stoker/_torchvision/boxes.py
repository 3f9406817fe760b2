"""Which boxes SanitizeBoundingBoxes keeps, without torch: for a few boxes most of the time of torch's twenty calls goes
into finding out what to do.

Torch rounds the sides and areas to the boxes' type of numbers. A box at whose limits that could count is torchvision's.
"""

import itertools
import sys

import torch

from .. import _core
from .._base import cache
from .._pipeline import lazy_tensors

NAME = "_get_sanitize_bounding_boxes_mask"
_NAMED = {"format", "canvas_size", "min_size", "min_area"}
TYPES = {torch.float32: "f", torch.float64: "d", torch.int64: "q"}  # as _core.boxes() has them
MOST_BOXES = 32
_MOST = 1 << 24  # whole numbers up to this one are the same in each type

# The first test: corners, the canvas, the least side and area.
_CORNERS, _LIMITS = (-1, 0, 3, 7, 8, 11), (7, 8, 2, 13)

_proven = {}  # {a type of numbers: true if the masks of the test's boxes are torchvision's}


def mask(plain, boxes, named):
    """Returns the new mask of the boxes to keep, or None if torchvision is to make it: `plain` is its function."""
    tv_tensors = sys.modules["torchvision.tv_tensors"]
    if type(boxes) is not tv_tensors.BoundingBoxes or named.keys() != _NAMED:
        return None
    limits = *named["canvas_size"], named["min_size"], named["min_area"]
    if (named["format"] is not tv_tensors.BoundingBoxFormat.XYXY or len(limits) != 4 or not all(map(_is_whole, limits))
            or not are_tensors_plain()):
        return None
    numbers = boxes.as_subclass(torch.Tensor)
    if (numbers.dtype not in TYPES or numbers.ndim != 2 or numbers.shape[1] != 4 or not 0 < len(numbers) <= MOST_BOXES
            or numbers.device.type != "cpu" or not _is_proven(plain, numbers.dtype)):
        return None
    return torch.tensor(_kept(numbers.tolist(), *limits), device="cpu")


def _kept(rows, *limits):
    """Returns true for each box of corners to keep, else false. Raises ValueError for a box in doubt."""
    return _core.boxes(rows, "d", [("keep", *limits)])[1]


def _is_whole(limit):
    return (type(limit) is int or type(limit) is float) and 1 <= limit <= _MOST and limit % 1 == 0


def are_tensors_plain():
    """Returns true if a comparison of boxes is a tensor of torch's own class, and no other code sees it."""
    helpers = sys.modules["torchvision.tv_tensors._torch_function_helpers"]
    return not helpers._must_return_subclass() and lazy_tensors.is_torch_alone()


def _is_proven(plain, dtype):
    found = _proven.get(dtype)
    return cache.put(_proven, dtype, _is_same(plain, dtype)) if found is None else found


def _is_same(plain, dtype):
    """Compares the masks of all boxes of the test's corners."""
    boxes = list(itertools.product(_CORNERS, repeat=4))
    xyxy = sys.modules["torchvision.tv_tensors"].BoundingBoxFormat.XYXY
    try:
        theirs = plain(torch.tensor(boxes, dtype=dtype, device="cpu"), format=xyxy, canvas_size=_LIMITS[:2],
                       min_size=_LIMITS[2], min_area=_LIMITS[3])
    except Exception:  # another version's function
        return False
    return theirs.dtype is torch.bool and theirs.tolist() == _kept(list(map(list, boxes)), *_LIMITS)
