"""Sends batches to a device.

Batches begin in order on a stream of the loader's own, which also allocates their memory. Only the consumer's stream
waits for a finished batch; the host does not. The source of a copy is held until the copy has ended: by the device for
the kernel's sources (gpu/gpu.h), here for all other tensors, since torch guards only memory that it has locked itself.
"""

import collections

import torch

from .fences import passed
from .tensors import mapped
from .uploads import Uncounted, Uploads, are_counted


class Sent:
    """A batch that has been begun."""

    __slots__ = ("batch", "fence", "tensors", "has_images", "has_others")

    def __init__(self):
        self.batch = self.fence = None
        self.tensors = []
        self.has_images = self.has_others = False


class LazyFloats:
    """Floats that lie on a device already. The consumer's stream may still be computing them, so they are normalised
    when they are given out, on that stream."""

    def __init__(self, tensor, layout, recipe):
        self._tensor = tensor
        self._layout = layout
        self._recipe = recipe

    def to(self, device):
        return self._recipe.normalised(self._tensor.to(device), self._layout)


class DeviceSink:
    """Sends to one device. `device` sends the kernel's sources (device.py), and `place` makes torch's calls (cuda.py)."""

    def __init__(self, device, place, recipe, pin):
        self.device = place.device
        self._sender = device
        self._place = place
        self._recipe = recipe
        self._pin = pin
        self._uploads = Uploads(place) if are_counted() else Uncounted()
        self._last = 0  # the number of the last work that was sent
        self._held = collections.deque()  # (fence, the sources of copies before it)

    # ---- in order ----

    def begin(self, batch):
        sent, sources = Sent(), []
        self._uploads.begin()
        with self._place.inside():
            try:
                sent.batch = mapped(batch, lambda item, name: self._item(item, name, sent, sources))
                if not sent.has_images:
                    self._recipe.check_none(batch)
            finally:  # before an error, copies may have begun
                sent.fence = self._place.fence()
                self._held.append((sent.fence, sources))
        self._uploads.end()
        return sent

    def give(self, sent):
        """Gives a batch to the device's current stream."""
        self.let_go()
        self._uploads.ask(sent.fence)
        self._place.hand_over(sent.fence, sent.tensors)
        return mapped(sent.batch, self._late) if sent.has_others else sent.batch

    def finish(self):
        """Waits for all begun work, and releases its sources."""
        last = self._last
        if last:
            self._sender.wait(last)
        if last == self._last:
            self._last = 0
        for fence, _ in tuple(self._held):  # meanwhile another thread's pass may add to it
            fence.synchronize()
        self.let_go()

    def let_go(self):
        """Releases the sources of ended copies. Raises RuntimeError if this process cannot use the device."""
        self._sender.collect()
        for _ in passed(self._held):
            pass
        self._uploads.look()

    # ---- each item of a batch ----

    def _item(self, item, name, sent, sources):
        if not isinstance(item, torch.Tensor):
            sent.has_others = True
            return item
        layout = self._recipe.layout_of(item, name)
        sent.has_images |= layout is not None
        if layout is not None and item.is_floating_point() and item.device.type != "cpu":
            sent.has_others = True
            return LazyFloats(item, layout, self._recipe)
        made = self._tensor(item, layout, sources)
        sent.tensors.append(made)
        return made

    def _late(self, item, name):
        """Moves an item with a to() when it is given out, and waits for it: the source of its copy is not known."""
        return item if isinstance(item, torch.Tensor) else item.to(self.device)

    def _tensor(self, tensor, layout, sources):
        if layout is not None and not tensor.is_floating_point():
            return self._bytes(tensor, layout)
        if tensor.device.type == "cpu":
            self._lock(tensor)
            sources.append(tensor)
        moved = self._place.move(tensor)
        return moved if layout is None else self._recipe.normalised(moved, layout)

    def _bytes(self, tensor, layout):
        if tensor.device.type != "cpu":
            raise ValueError("images of bytes are taken from this side's memory: stoker.gpu.augment is "
                             "for those that lie on a device")
        if len(tensor) == 0:
            return self._recipe.empty(tensor, layout, self.device)
        work = self._recipe.work(tensor, layout)
        self._lock(work.tensor)
        out = self._place.empty(work.shape, self._recipe.dtype)
        self._last = self._sender.send(work.batch(out), work.tensor, self._place.stream)
        self._sender.follow(self._last, self._place.stream)
        return self._recipe.shaped(out, work)

    def _lock(self, tensor):
        locked = (self._pin and tensor.layout is torch.strided
                  and self._sender.pin(tensor.data_ptr()))
        self._uploads.add(tensor, locked)
