"""A batch's images as the files that they are, for whoever decodes them elsewhere."""

import torch

from .._pillow.plan import F32
from .pixels import Noted


class Encoded:
    """They are `len()` many. All come to `size` (width, height) and then to what the batch is of: numbers by
    the `table` of three channels, in planes, or bytes, `in_planes` or not. It holds the files' bytes."""

    __slots__ = ("size", "dtype", "table", "in_planes", "places", "made", "_rows", "_files")

    def __init__(self, layout, rows, places, made, files):
        channels, in_planes, type, table = layout.end
        self.size = layout.shape[:0:-1] if in_planes else layout.shape[1::-1]
        self.dtype = layout.dtype
        self.table = table if type == F32 else None
        self.in_planes = bool(in_planes)
        self.places = [place if isinstance(row, Noted) else None for row, place in zip(rows, places)]
        self.made = made  # made(i): one of them, by this processor
        self._rows = rows
        self._files = files

    def __len__(self):
        return len(self._rows)

    def order(self, i):
        """What is to be done to one that has a place, (address, size, width, height): (crop, size of the crop
        resized, filter as the decoder has it or 0, flip, window of that or None)."""
        crop, size, _, filter, _, flip, window = (*self._rows[i].order(()), None)[:7]
        return crop, size, filter, flip, window

    def to(self, device):
        """All of them as a tensor, made here."""
        return torch.stack([self.made(i) for i in range(len(self))]).to(device)
