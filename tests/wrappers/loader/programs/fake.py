"""A GPU of the tests: the driver of tests/gpu, and what torch would do there.

A thread does copies of torch's, later than they could be. If the memory is let go of before that,
they copy other bytes. Memory of the device is fetched when the stream that it was handed to has
come so far, and not before.
"""

import collections
import contextlib
import ctypes
import gc
import math
import os
import pathlib
import queue
import sys
import threading
import time
import weakref

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "lib/tensors"))

from cuda_world import fetch, library, take, world  # noqa: E402

from stoker._gpu import cuda  # noqa: E402
from stoker._gpu import device as devices  # noqa: E402

LATE_S = 0.002
COPIER, PATIENCE_S = "copier", 60


class Memory:
    """Memory of the device, in the place of a tensor. As torch's, it is the next one's of its size.
    Work that the next one begins with it comes after all that was begun before."""

    _free = weakref.WeakKeyDictionary()  # of each device: addresses, by their sizes

    def __init__(self, device, shape, dtype):
        self.shape, self.dtype = tuple(shape), dtype
        size = self.numel() * self.element_size()
        self._pool = self._free.setdefault(device, {}).setdefault(size, [])
        self._address = self._pool.pop() if self._pool else take(size)
        self._order = None

    def __del__(self):
        if hasattr(self, "_address"):
            self._pool.append(self._address)

    def data_ptr(self):
        return self._address

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return torch.empty((), dtype=self.dtype).element_size()

    def permute(self, *order):
        self._order = order
        return self

    def fetched(self):
        data = bytearray(fetch(self._address, self.numel() * self.element_size()))
        made = torch.frombuffer(data, dtype=self.dtype).reshape(self.shape)
        return made if self._order is None else made.permute(*self._order)


class Fence:
    def __init__(self):
        self.event = threading.Event()

    def query(self):
        return self.event.is_set()

    def synchronize(self):
        assert self.event.wait(PATIENCE_S)


class Place:
    """In the place of stoker._gpu.cuda.Place."""

    def __init__(self, index):
        self.device = torch.device("cpu")
        self.stream = 0  # the driver's default one
        self._device = devices.of(index)
        self._begun = queue.SimpleQueue()
        threading.Thread(target=_copy, args=(self._begun,), daemon=True, name=COPIER).start()

    def __del__(self):
        self._begun.put(None)

    def inside(self):
        return contextlib.nullcontext()

    def empty(self, shape, dtype):
        return Memory(self._device, shape, dtype)

    def move(self, tensor):
        """Copies from where the tensor lies, without a hold on it. A tensor that is elsewhere is
        there already."""
        if tensor.device.type != "cpu":
            return tensor
        made = torch.empty_like(tensor)
        size = tensor.untyped_storage().nbytes() if hasattr(tensor, "untyped_storage") else \
            tensor.storage().nbytes()
        self._begun.put((made, tensor.data_ptr(), min(size, tensor.numel() * tensor.element_size())))
        return made

    def fence(self):
        fence = Fence()
        self._begun.put(fence)
        return fence

    def hand_over(self, fence, tensors):
        fence.synchronize()


def _copy(begun):
    while (what := begun.get()) is not None:
        if isinstance(what, Fence):
            what.event.set()
        else:
            time.sleep(LATE_S)
            made, address, size = what
            ctypes.memmove(made.data_ptr(), address, size)


def copiers_ended():
    """Those of places that are no more: each ends a moment later than its place."""
    for thread in threading.enumerate():
        if thread.name == COPIER:
            thread.join(PATIENCE_S)


def fetched(batch):
    """Once the consumer's stream has come so far: that is the driver's default one."""
    if library.cuStreamSynchronize(None) != 0:
        raise RuntimeError("the consumer's own call has failed")
    return _fetched(batch)


def _fetched(what):
    if isinstance(what, Memory):
        return what.fetched()
    if isinstance(what, dict):
        return {key: _fetched(value) for key, value in what.items()}
    if isinstance(what, tuple) and hasattr(what, "_fields"):
        return type(what)(*map(_fetched, what))
    if isinstance(what, (list, tuple)):
        return type(what)(map(_fetched, what))
    return what


class Arrival:
    """The work begun on the driver's stream so far, and the time when it was done."""

    def __init__(self):
        self.at = None
        event = ctypes.c_void_p()
        assert library.cuEventCreate(ctypes.byref(event), 0) == 0
        assert library.cuEventRecord(event, None) == 0
        self._waiting = threading.Thread(target=self._wait, args=(event,))
        self._waiting.start()

    def _wait(self, event):
        assert library.cuEventSynchronize(event) == 0
        self.at = time.monotonic_ns()

    def query(self):
        return self.at is not None

    def synchronize(self):
        self._waiting.join()


class Timed(Place):
    """A device whose copies all are the driver's. Its consumer waits for a batch when its step
    begins: so its stream never has anything else to do."""

    def __init__(self, index):
        super().__init__(index)
        context = ctypes.c_void_p()
        assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), index) == 0
        assert library.cuCtxPushCurrent_v2(context) == 0
        self.handed_over = None

    def move(self, tensor):
        made = self.empty(tensor.shape, tensor.dtype)
        size = tensor.numel() * tensor.element_size()
        if size <= 1 << 16:  # what is small goes with the command
            ctypes.memmove(made.data_ptr(), tensor.data_ptr(), size)
            return made
        assert library.cuMemcpyHtoDAsync_v2(ctypes.c_ulonglong(made.data_ptr()),
                                            ctypes.c_void_p(tensor.data_ptr()), size, None) == 0
        return made

    def fence(self):
        return Arrival()

    def hand_over(self, fence, tensors):
        self.handed_over = fence

    def is_locked(self, tensor):
        return False

    def is_idle(self):
        return True

    def note(self):
        return time.monotonic_ns()

    def between_ns(self, noted, fence):
        return max(0, fence.at - noted)


def install(place=Place):
    cuda.Place = place
    cuda._check_torch = lambda: None


Left = collections.namedtuple("Left", "locks memories events streams modules retained wild")


def left():
    return Left(*(getattr(world, name) for name in Left._fields))


def fail_for_good(fail, step):
    """Calls fail(at, seen) for each step-th call of the driver, which fails from then on. The
    driver is not to be begun with again, so each runs in a child. Returns True, or how a child
    ended in which something was wrong, and with which call."""
    at, step = 1, 1 if os.environ.get("STOKER_ALL") == "1" else step
    gc.freeze()
    while True:
        pid = os.fork()
        if pid == 0:
            seen, world.for_good = {}, True
            failed = fail(at, seen)
            os._exit(2 if not failed else 0 if not any(seen.values()) else print(seen, file=sys.stderr) or 1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            return status == 2 and at > 50 or [status, at]
        at += step
