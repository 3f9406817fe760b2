"""A batch's images as undecoded files, for a device that decodes them."""

import torch

from .._pillow.plan import F32
from .pixels import PlannedImage


class Encoded:
    """`len()` images. All are resized to `size` (width, height). Then they become the batch's values: numbers by the
    `table` of three channels, in planes, or bytes, `in_planes` or not. The object holds the files' bytes."""

    __slots__ = ("size", "dtype", "table", "in_planes", "places", "made", "_rows", "_files")

    def __init__(self, layout, rows, places, made, files):
        channels, in_planes, type, table = layout.end
        self.size = layout.shape[:0:-1] if in_planes else layout.shape[1::-1]
        self.dtype = layout.dtype
        self.table = table if type == F32 else None
        self.in_planes = bool(in_planes)
        self.places = [place if isinstance(row, PlannedImage) else None for row, place in zip(rows, places)]
        self.made = made  # made(i): the i-th image, decoded on the processor
        self._rows = rows
        self._files = files

    def __len__(self):
        return len(self._rows)

    def order(self, i):
        """Returns the order of an image with a place (address, size, width, height): (crop, size of the resized crop,
        the decoder's number of the filter or 0, flip, window of the resized crop or None)."""
        crop, size, _, filter, _, flip, window = (*self._rows[i].order(()), None)[:7]
        return crop, size, filter, flip, window

    def to(self, device):
        """Returns all images as a tensor, decoded on the processor."""
        return torch.stack([self.made(i) for i in range(len(self))]).to(device)
