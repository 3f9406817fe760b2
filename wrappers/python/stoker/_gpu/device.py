"""Devices, each of which a process opens once. This module does not use torch.

A slot (docs/batches.md), or a buffer of a Feed's batches, is locked when a batch in it is first sent. It is unlocked
before it is unmapped: other memory may get its address, and the driver would take that for locked.
"""

import functools
import weakref

from .. import _core, _gpu_core

NoDevice = _gpu_core.NoDevice
NO_STREAM = None

_devices = {}


def of(index):
    """Returns the device of this number. Raises NoDevice, or RuntimeError in a child of a process that has begun with
    CUDA."""
    if index not in _devices:
        _devices[index] = Device(index)
    return _devices[index]


def begun():
    """Returns the devices that this process or its parent has opened."""
    return list(_devices.values())


class Device:
    def __init__(self, index):
        self.index = index
        self._opened = _gpu_core.open(index)
        self._known = set()  # the addresses of locked memory

    def _call(self, function, *arguments):
        """Calls a function of _gpu_core. A device that has failed is dropped: the next use opens it again."""
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

    # ---- locked memory ----

    def pin(self, address):
        """Locks in RAM (pins) the slot or the buffer that holds an address. Returns false if none does. Raises MemoryError, with the
        limit."""
        region = _core.region_at(address)
        if region is None:
            return False
        begin, size = region
        if begin in self._known:
            return True
        try:
            self._call(_gpu_core.pin, begin, size)
            end = _unpin
        except ValueError:  # another device of this process has locked it, for all of them
            end = _forget
        self._known.add(begin)
        _core.region_before_unmap(begin, functools.partial(end, weakref.ref(self), begin))
        return True

    def pinned(self):
        """Returns the number of locked slots and buffers."""
        return len(self._known)


def _forget(reference, begin):
    device = reference()
    if device is not None:
        device._known.discard(begin)
    return device


def _unpin(reference, begin):
    """Unlocks memory. An error is ignored: in a child of fork the lock is the parent's, and a failed device has
    none."""
    device = _forget(reference, begin)
    if device is not None:
        try:
            device._call(_gpu_core.unpin, begin)
        except (RuntimeError, ValueError):
            pass
