"""How a batch of images lies in memory: as torch's default_collate would lay it out."""

import torch
from torch.utils.data import default_collate

from .._pillow.plan import CHW, HWC, U8
from .pixels import Noted

_MOST = 64

_known = {}


class Layout:
    """Of batches of images of one kind: they lie one behind the other."""

    __slots__ = ("dtype", "shape", "end", "row_bytes")

    def __init__(self, dtype, shape, end):
        self.dtype = dtype
        self.shape = shape  # of one image
        self.end = end  # of its plan, as the decoder takes it
        self.row_bytes = shape.numel() * (4 if dtype is torch.float32 else 1)

    def batch(self, count, memory):
        """A tensor over this memory, which has so many."""
        return torch.frombuffer(memory, dtype=self.dtype).resize_(count, *self.shape)

    def fits(self, row):
        """Whether this tensor may be one of its images."""
        return (type(row) is torch.Tensor and row.dtype is self.dtype and row.shape == self.shape
                and row.device.type == "cpu" and not row.requires_grad)


def layout_of(rows, drawn=()):
    """The Layout of a batch of these, each Noted or made; None where torch shall collate it. `drawn`: (tail,
    size) of all its other images, if there are any."""
    kinds = {drawn} if drawn else set()
    kinds.update((row.tail, row.picture.size) for row in rows if type(row) is Noted)
    if len(kinds) != 1:
        return None
    layout = _layout(*kinds.pop())
    if layout is None or not all(type(row) is Noted or layout.fits(row) for row in rows):
        return None
    return layout


def _layout(tail, size):
    key = tail, size
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = _find(tail, size)
    return _known[key]


def _find(tail, size):
    """Lets torch collate two of the size and strides of what the tail makes."""
    if tail is None:
        row = torch.empty((size[1], size[0], 3), dtype=torch.uint8)
        end = 3, HWC, U8, None
    else:
        row = tail.finished(tail.tensor(size)[0])
        channels, _, of_numbers, table = tail.order
        end = channels, CHW, of_numbers, table
    batch = default_collate([row, row])
    is_plain = (type(batch) is torch.Tensor and batch.shape == (2, *row.shape)
                and batch.is_contiguous())
    return Layout(batch.dtype, row.shape, end) if is_plain else None
