"""Batches on their way to a device.

They are begun in order on a stream of the loader's own, by which the memory that they come to is
had, too. What has had its turn is waited for by the stream of whoever takes it, and by nobody on this
side. What is copied from is held until its copy has ended: by the device for what the kernel takes
(gpu/gpu.h), here for all else, since torch guards only memory that it has locked itself.
"""

import collections

import torch

from .leaves import mapped
from .marked import past
from .uploads import Uncounted, Uploads, are_counted


class Sent:
    """A batch that has been begun."""

    __slots__ = ("batch", "mark", "tensors", "has_images", "has_others")

    def __init__(self):
        self.batch = self.mark = None
        self.tensors = []
        self.has_images = self.has_others = False


class Later:
    """Floats that lie on a device already, and may still be in the making on the stream of whoever takes batches:
    normalised when they are given out, and there."""

    def __init__(self, tensor, layout, recipe):
        self._tensor = tensor
        self._layout = layout
        self._recipe = recipe

    def to(self, device):
        return self._recipe.normalised(self._tensor.to(device), self._layout)


class There:
    """One device: `device` sends what the kernel takes (device.py); `place` is all that is torch's there
    (cuda.py); `jpegs` decodes what has not been decoded (jpegs.py), if that is wanted."""

    def __init__(self, device, place, recipe, pin, jpegs=None):
        self.device = place.device
        self._sender = device
        self._place = place
        self._recipe = recipe
        self._pin = pin
        self._uploads = Uploads(place) if are_counted() else Uncounted()
        self._jpegs = jpegs
        self._last = 0  # number of what was sent
        self._held = collections.deque()  # (mark, what was copied from before it)

    # ---- in order ----

    def begin(self, batch):
        sent, sources = Sent(), []
        if self._jpegs is not None:  # a Feed's batch: images, labels
            self._jpegs.count(batch[0])
        self._uploads.begin()
        with self._place.inside():
            try:
                sent.batch = mapped(batch, lambda leaf, name: self._leaf(leaf, name, sent, sources))
                if not sent.has_images:
                    self._recipe.check_none(batch)
            finally:  # of what fails, something may have been begun
                sent.mark = self._place.mark()
                self._held.append((sent.mark, sources))
        self._uploads.end()
        return sent

    def give(self, sent):
        """To whoever uses the device's current stream."""
        self.let_go()
        self._uploads.ask(sent.mark)
        self._place.hand_over(sent.mark, sent.tensors)
        return mapped(sent.batch, self._late) if sent.has_others else sent.batch

    def finish(self):
        """Waits for what is under way, and lets go of all of it."""
        last = self._last
        if last:
            self._sender.wait(last)
        if last == self._last:
            self._last = 0
        for mark, _ in tuple(self._held):  # meanwhile another thread's pass may add to it
            mark.synchronize()
        self.let_go()

    def let_go(self):
        """Of what has been copied; RuntimeError where the device is of no use to this process."""
        self._sender.collect()
        for _ in past(self._held):
            pass
        self._uploads.look()

    # ---- each for itself ----

    def _leaf(self, leaf, name, sent, sources):
        if self._jpegs is not None and self._jpegs.takes(leaf):
            sources.append(leaf)
            made = self._resident(self._jpegs.decoded(leaf), name)
        elif isinstance(leaf, torch.Tensor):
            layout = self._recipe.layout_of(leaf, name)
            sent.has_images |= layout is not None
            if layout is not None and leaf.is_floating_point() and leaf.device.type != "cpu":
                sent.has_others = True
                return Later(leaf, layout, self._recipe)
            made = self._tensor(leaf, layout, sources)
        else:
            sent.has_others = True
            return leaf
        sent.tensors.append(made)
        return made

    def _late(self, leaf, name):
        """What moves itself does so when it is given out, and is waited for: what it copies from is not
        known."""
        return leaf if isinstance(leaf, torch.Tensor) else leaf.to(self.device)

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
        return self._run(work, self._sender.send, work.tensor)

    def _resident(self, tensor, name):
        """Of images that this side's stream has made on the device."""
        layout = self._recipe.layout_of(tensor, name)
        if layout is None:
            return tensor
        if tensor.is_floating_point():
            return self._recipe.normalised(tensor, layout)
        return self._run(self._recipe.work(tensor, layout), self._sender.resident)

    def _run(self, work, send, *holder):
        out = self._place.empty(work.shape, self._recipe.dtype)
        self._last = send(work.batch(out), *holder, self._place.stream)
        self._sender.follow(self._last, self._place.stream)
        return self._recipe.shaped(out, work)

    def _lock(self, tensor):
        locked = (self._pin and tensor.layout is torch.strided
                  and self._sender.pin(tensor.data_ptr()))
        self._uploads.add(tensor, locked)
