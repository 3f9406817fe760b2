"""The layout of a batch of images in memory: that of torch's default_collate."""

import functools

import torch
from torch.utils.data import default_collate

from .._pillow.plan import CHW, HWC, U8
from .pixels import PlannedImage


class Layout:
    """The layout of batches of images of one kind, without gaps between them."""

    __slots__ = ("dtype", "shape", "end", "row_bytes")

    def __init__(self, dtype, shape, end):
        self.dtype = dtype
        self.shape = shape  # of one image
        self.end = end  # the layout of its pixels, as the decoder takes it
        self.row_bytes = shape.numel() * (4 if dtype is torch.float32 else 1)

    def batch(self, count, memory):
        """Returns a tensor of `count` images over this memory."""
        return torch.frombuffer(memory, dtype=self.dtype).resize_(count, *self.shape)

    def fits(self, row):
        """Returns true if this tensor may be one of the batch's images."""
        return (type(row) is torch.Tensor and row.dtype is self.dtype and row.shape == self.shape
                and row.device.type == "cpu" and not row.requires_grad)


def layout_of(rows, drawn=()):
    """Returns the Layout of a batch, or None if torch is to collate it. Each row is a PlannedImage or a tensor.
    `drawn` is (tail, size) of all further images, if there are any."""
    kinds = {drawn} if drawn else set()
    kinds.update((row.tail, row.lazy.size) for row in rows if type(row) is PlannedImage)
    if len(kinds) != 1:
        return None
    layout = _find(*kinds.pop())
    if layout is None or not all(type(row) is PlannedImage or layout.fits(row) for row in rows):
        return None
    return layout


@functools.lru_cache(64)
def _find(tail, size):
    """Finds the Layout: torch collates two tensors with the size and strides of the tail's results."""
    if tail is None:
        row = torch.empty((size[1], size[0], 3), dtype=torch.uint8)
        end = 3, HWC, U8, None
    else:
        row = tail.finished(tail.tensor(size)[0])
        channels, _, of_numbers, table = tail.end
        end = channels, CHW, of_numbers, table
    batch = default_collate([row, row])
    is_plain = (type(batch) is torch.Tensor and batch.shape == (2, *row.shape)
                and batch.is_contiguous())
    return Layout(batch.dtype, row.shape, end) if is_plain else None
