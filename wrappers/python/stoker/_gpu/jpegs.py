"""JPEGs that a device decodes, by nvJPEG, and what torch makes of their pixels there.

What is drawn for an image is what it is on the processor, and so are its region, its flip and what becomes of
its bytes. Its pixels are nvJPEG's, and resizing is torch's, in floats: docs/gpu.md says how far off these are.
What nvJPEG does not take comes from the processor.
"""

import torch
from torch.nn.functional import interpolate

from .leaves import tensors

_CHANNELS = 3
_ALIGNED = 256
_MODES = {0: None, 2: "bilinear", 4: "bicubic"}  # of the decoder's filters, those that torch has as well


class Jpegs:
    """For one device. `there` and `here` say how many images the device and this processor have decoded."""

    def __init__(self, device, place, kind):
        """kind  what batches of undecoded images are: Encoded of _feeding"""
        self._device = device
        self._place = place
        self._kind = kind
        self._tables = {}
        self.name = device.jpegs_name()
        self.there = self.here = 0

    def __repr__(self):
        return f"{self.name}: {self.there} images there, {self.here} here"

    def takes(self, leaf):
        return type(leaf) is self._kind

    def count(self, images):
        """Those of a batch that this processor has decoded as a whole, as where transforms are not known."""
        if not self.takes(images):
            self.here += max((len(tensor) for tensor, _ in tensors(images)), default=0)

    def decoded(self, encoded):
        """As a tensor of the device: the bytes or numbers that the batch is of. What the files are made of must
        stay until what is begun has ended, also if there is an exception."""
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
        """The planes of all that the device decodes, by their places in the batch."""
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
        told = [(*encoded.places[i], begin + at) for i, at in zip(chosen, ends)]
        begun = self._device.decode(told, self._place.stream)
        return {i: _planes(memory, at, *encoded.places[i][2:])
                for i, at, is_begun in zip(chosen, ends, begun) if is_begun}

    def _converted(self, out, encoded):
        """As the end of the transforms has it."""
        if encoded.table is not None:
            shares = zip(self._table(encoded.table), out.permute(3, 0, 1, 2))
            return torch.stack([share[plane.long()] for share, plane in shares], 1)
        return out.permute(0, 3, 1, 2) if encoded.in_planes else out

    def _table(self, table):
        """What each byte of each channel becomes, on the device."""
        if table not in self._tables:
            self._tables.clear()
            numbers = torch.frombuffer(bytearray(table), dtype=torch.float32)
            self._tables[table] = numbers.reshape(_CHANNELS, 256).to(self._place.device)
        return self._tables[table]


def _planes(memory, at, width, height):
    return memory[at:at + _CHANNELS * width * height].view(_CHANNELS, height, width)


def _finished(image, crop, size, filter, flip, window):
    """An order (Encoded.order), done by torch."""
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
    """To bytes again, as Pillow's, which rounds after each of its two passes."""
    width, height = size
    numbers = interpolate(image[None].float(), (height, width), mode=mode, antialias=True)
    return numbers[0].round_().clamp_(0, 255)
