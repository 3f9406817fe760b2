"""Decodes JPEGs on a device by nvJPEG, and resizes and flips them there by torch.

An image has the same random numbers, region, flip and table as on the processor. Its pixels are nvJPEG's, and torch
resizes them in floats: docs/gpu.md has the differences from Pillow's. The processor decodes the files that nvJPEG does
not take.
"""

import torch
from torch.nn.functional import interpolate

from .tensors import tensors

_CHANNELS = 3
_ALIGNED = 256
_MODES = {0: None, 2: "bilinear", 4: "bicubic"}  # the decoder's filters that torch has as well


class Jpegs:
    """The decoder of one device. `there` counts the images that the device decoded, `here` those of the processor."""

    def __init__(self, device, place, kind):
        """kind  the class of undecoded batches: Encoded of _feeding"""
        self._device = device
        self._place = place
        self._kind = kind
        self._tables = {}
        self.name = device.jpegs_name()
        self.there = self.here = 0

    def __repr__(self):
        return f"{self.name}: {self.there} images there, {self.here} here"

    def takes(self, item):
        return type(item) is self._kind

    def count(self, images):
        """Counts a batch that the processor decoded as a whole, as for unknown transforms."""
        if not self.takes(images):
            self.here += max((len(tensor) for tensor, _ in tensors(images)), default=0)

    def decoded(self, encoded):
        """Returns a tensor of the device with the batch's bytes or numbers. The caller holds the files until the begun
        work has ended, also after an exception."""
        planes = self._begun(encoded)
        width, height = encoded.size
        out = self._place.empty((len(encoded), height, width, _CHANNELS), torch.uint8)
        for i, image in planes.items():
            out[i].copy_(_finished(image, *encoded.order(i)).permute(1, 2, 0))
        made = self._converted(out, encoded)
        for i in set(range(len(encoded))) - planes.keys():
            made[i].copy_(encoded.made(i))
        self.there += len(planes)
        self.here += len(encoded) - len(planes)
        return made

    def _begun(self, encoded):
        """Returns {place in the batch: planes} of the images that the device decodes."""
        chosen = [i for i, place in enumerate(encoded.places)
                  if place is not None and encoded.order(i)[2] in _MODES]
        if not chosen:
            return {}
        ends, end = [], 0
        for i in chosen:
            _, _, width, height = encoded.places[i]
            ends.append(end)
            end += -(-_CHANNELS * width * height // _ALIGNED) * _ALIGNED
        memory = self._place.empty((end,), torch.uint8)
        begin = memory.data_ptr()
        orders = [(*encoded.places[i], begin + at) for i, at in zip(chosen, ends)]
        begun = self._device.decode(orders, self._place.stream)
        return {i: _planes(memory, at, *encoded.places[i][2:])
                for i, at, is_begun in zip(chosen, ends, begun) if is_begun}

    def _converted(self, out, encoded):
        """Returns the pixels as the transforms' tensor has them."""
        if encoded.table is not None:
            shares = zip(self._table(encoded.table), out.permute(3, 0, 1, 2))
            return torch.stack([share[plane.long()] for share, plane in shares], 1)
        return out.permute(0, 3, 1, 2) if encoded.in_planes else out

    def _table(self, table):
        """Returns the table of each channel's 256 values on the device."""
        if table not in self._tables:
            self._tables.clear()
            numbers = torch.frombuffer(bytearray(table), dtype=torch.float32)
            self._tables[table] = numbers.reshape(_CHANNELS, 256).to(self._place.device)
        return self._tables[table]


def _planes(memory, at, width, height):
    return memory[at:at + _CHANNELS * width * height].view(_CHANNELS, height, width)


def _finished(image, crop, size, filter, flip, window):
    """Returns an image after the operations of an order (Encoded.order), by torch."""
    left, top, right, bottom = crop
    image = image[:, top:bottom, left:right]
    if filter:
        image = _resized(image, size, _MODES[filter])
    if window is not None:
        left, top, right, bottom = window
        image = image[:, top:bottom, left:right]
    directions = [dimension for dimension, bit in ((2, 1), (1, 2)) if flip & bit]
    return image.flip(directions) if directions else image


def _resized(image, size, mode):
    """Resizes, and rounds to bytes. Pillow rounds after each of its two passes."""
    width, height = size
    numbers = interpolate(image[None].float(), (height, width), mode=mode, antialias=True)
    return numbers[0].round_().clamp_(0, 255)
