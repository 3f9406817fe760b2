"""Devices: each is opened once in a process, for whoever wants it. Knows nothing of torch.

A slot (docs/batches.md), or an area that a Feed's batches lie in, is locked once when it is sent from, and unlocked
before it is unmapped: what lies at its address afterwards is something else, which the driver would take for
locked.
"""

import functools
import weakref

from .. import _core, _gpu_core
from . import nvjpeg

NoDevice = _gpu_core.NoDevice
NO_STREAM = None

_devices = {}


def of(index):
    """The device of that number; NoDevice, or in a child of a process that has begun with CUDA
    RuntimeError."""
    if index not in _devices:
        _devices[index] = Device(index)
    return _devices[index]


def begun():
    """Those that this process, or the one that forked it, has opened."""
    return list(_devices.values())


class Device:
    def __init__(self, index):
        self.index = index
        self._opened = _gpu_core.open(index)
        self._known = set()  # where that begins which is locked
        self._jpegs = None  # nvJPEG, once it was wanted

    def _call(self, function, *arguments):
        """A device that has failed is of no more use: the next one who asks opens it again."""
        try:
            return function(self._opened, *arguments)
        except _gpu_core.Failed:
            if _devices.get(self.index) is self:
                del _devices[self.index]
            raise

    def name(self):
        return self._call(_gpu_core.name)

    # ---- batches: see _gpu_core ----

    def send(self, batch, holder, stream=NO_STREAM):
        return self._call(_gpu_core.send, batch, holder, stream)

    def resident(self, batch, stream=NO_STREAM):
        return self._call(_gpu_core.resident, batch, stream)

    def follow(self, number, stream):
        self._call(_gpu_core.follow, number, stream)

    def wait(self, number):
        self._call(_gpu_core.wait, number)

    def collect(self):
        return self._call(_gpu_core.collect)

    # ---- JPEGs ----

    def jpegs_name(self):
        """Of nvJPEG, which begins here; NoDevice, with what to do."""
        if self._jpegs is None:
            try:
                self._jpegs = self._call(_gpu_core.jpegs, nvjpeg.libraries())
            except NoDevice as why:
                raise NoDevice(nvjpeg.missing(why)) from None
        return _gpu_core.jpegs_name(self._jpegs)

    def decode(self, images, stream):
        """Which of them have been begun: see _gpu_core."""
        return self._call(lambda _: _gpu_core.jpegs_decode(self._jpegs, images, stream))

    # ---- locked memory ----

    def pin(self, address):
        """Locks the slot or the area in which it lies: whether it lies in one; MemoryError, with the limit."""
        memory = _core.borrowed_at(address) or _core.feed_area_at(address)
        if memory is None:
            return False
        begin, size = memory.memory()
        if begin in self._known:
            return True
        try:
            self._call(_gpu_core.pin, begin, size)
            end = _unpin
        except ValueError:  # another device of this process has locked it, for all of them
            end = _forget
        self._known.add(begin)
        memory.before_unmap(functools.partial(end, weakref.ref(self), begin))
        return True

    def pinned(self):
        """How many slots and areas are."""
        return len(self._known)


def _forget(reference, begin):
    device = reference()
    if device is not None:
        device._known.discard(begin)
    return device


def _unpin(reference, begin):
    """In a child of fork it is the parent's, and of a device that has failed nothing is left."""
    device = _forget(reference, begin)
    if device is not None:
        try:
            device._call(_gpu_core.unpin, begin)
        except (RuntimeError, ValueError):
            pass
