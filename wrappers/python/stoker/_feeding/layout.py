"""How a batch of images lies in memory: as torch's default_collate would lay it out."""

import torch
from torch.utils.data import default_collate

from .._pillow.plan import CHW, HWC, U8
from .._torch.tensors import over, tensor_of
from .pixels import Noted

_MOST = 64

_known = {}


class Layout:
    """Of batches of so many images of one kind."""

    __slots__ = ("dtype", "shape", "strides", "end", "row_bytes")

    def __init__(self, dtype, shape, strides, end):
        self.dtype = dtype
        self.shape = shape  # of one image
        self.strides = strides
        self.end = end  # of its plan, as the decoder takes it
        self.row_bytes = shape.numel() * (4 if dtype is torch.float32 else 1)

    def batch(self, count, memory):
        """A tensor over this memory."""
        strides = (self.shape.numel(), *self.strides)
        return tensor_of(over(memory), self.dtype, 0, (count, *self.shape), strides)

    def fits(self, row):
        """Whether this tensor may be one of its images."""
        return (type(row) is torch.Tensor and row.dtype is self.dtype and row.shape == self.shape
                and row.device.type == "cpu" and not row.requires_grad)


def layout_of(rows):
    """The Layout of a batch of these, each Noted or made; None where torch shall collate it."""
    first = next((row for row in rows if type(row) is Noted), None)
    if first is None:
        return None
    tail, size = first.tail, first.picture.size
    for row in rows:
        if type(row) is Noted and (row.tail is not tail or row.picture.size != size):
            return None
    layout = _layout(tail, size, min(len(rows), 2))
    if layout is None or not all(type(row) is Noted or layout.fits(row) for row in rows):
        return None
    return layout


def _layout(tail, size, count):
    key = tail, size, count
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = _find(tail, size, count)
    return _known[key]


def _find(tail, size, count):
    """Lets torch collate as many of the size and strides of what the tail makes."""
    if tail is None:
        row = torch.empty((size[1], size[0], 3), dtype=torch.uint8)
        channels, table, type_ = 3, None, U8
    else:
        row = tail.finished(tail.tensor(size)[0])
        channels, table, type_ = tail.channels, tail.table, tail.type
    batch = default_collate([row] * count)
    if type(batch) is not torch.Tensor or batch.shape != (count, *row.shape):
        return None
    order = HWC if tail is None else _order(batch[0])
    if order is None or batch.stride()[0] != row.numel() and count > 1:
        return None
    return Layout(batch.dtype, row.shape, batch.stride()[1:], (channels, order, type_, table))


def _order(image):
    """Of a tensor of channels x height x width: how its values follow each other, or None."""
    if image.is_contiguous():
        return CHW
    return HWC if image.permute(1, 2, 0).is_contiguous() else None
