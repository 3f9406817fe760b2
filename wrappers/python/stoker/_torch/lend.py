"""A worker's side: what its messages to the main process carry in the place of tensors.

Torch's queue pickles in a thread of its own. A message is wrapped so that this thread knows when one
begins and ends: only then, and only there, a tensor is reduced in our way. All else that a worker
pickles, for queues of its own, is torch's matter.
"""

import os
from _thread import get_ident
from multiprocessing import reduction, util

from .. import _core, _slots
from .._own import is_own
from . import borrow
from .tensors import bytes_of, contiguous, is_plain, over, storage_of, tensor_of

SMALL = 16 << 10  # bytes that travel by value: a slot would be a page at least, and a message as well

PLAIN = {}  # torch's own functions

_worker = None  # the process that has a ring: this one, or the one it was forked from
_message = None  # what is being pickled


def is_worker():
    return _worker is not None and _worker == os.getpid()


def begin(queue):
    """This process is a worker from now on, and sends to its main process by this queue."""
    global _worker
    _core.ring_begin(int.from_bytes(os.urandom(8), "little"))
    # After the queue's thread has ended, which is at -5.
    util.Finalize(None, _core.ring_end, exitpriority=-100)
    put = queue.put
    queue.put = lambda message, *rest, **named: put(_Parcel(message), *rest, **named)
    _worker = os.getpid()


# ---- messages ----

class _Parcel:
    """A message. Its parts are pickled in this order. An error would lose it: what fails here leaves its tensors to
    torch."""

    __slots__ = ("message",)

    def __init__(self, message):
        self.message = message

    def __reduce__(self):
        return borrow.opened, (_Begin(), self.message, _End())


class _Begin:
    def __reduce__(self):
        global _message
        unsent, _message = _message, None
        try:
            if unsent is not None:
                unsent.take_back()
            _message = _Message()
        except Exception as error:
            if not is_own(error):
                raise
        return tuple, ()


class _End:
    def __reduce__(self):
        global _message
        message, _message = _message, None
        try:
            if message is not None:
                message.sent()
        except Exception as error:
            if not is_own(error):
                raise
        return tuple, ()


class _Message:
    """What of one message is in slots."""

    __slots__ = ("thread", "stored", "lent", "new")

    def __init__(self):
        self.thread = get_ident()
        self.stored = {}  # a storage's address: what is sent of it, once for all its tensors
        self.lent = []  # the slots, as often as they are
        self.new = []  # those that come with a ticket

    def sent(self):
        if self.lent:
            _core.count(_slots.BATCHES)
        for slot in self.new:
            _core.ring_introduced(slot)

    def take_back(self):
        for slot in self.lent:
            _core.ring_take_back(slot)

    def reduce(self, tensor):
        """What is pickled of a tensor; None: torch's own way."""
        if not is_plain(tensor):
            return _left(_slots.LEFT_KIND)
        storage = storage_of(tensor)
        stored = self.stored.get(storage._cdata)
        if stored is None:
            stored = self._store(storage, tensor.numel() * tensor.element_size())
            if stored is None:
                return None
            self.stored[storage._cdata] = stored
        return borrow.tensor, (stored, tensor.dtype, tensor.storage_offset(), tuple(tensor.shape),
                               tensor.stride())

    def _store(self, storage, wanted):
        """The whole storage, so that what shares it here shares it there; None if it is not to be
        had."""
        if storage.is_shared():
            return _left(_slots.LEFT_SHARED)
        size = storage.nbytes()
        if size <= SMALL:
            return _Stored(storage, borrow.by_value, (bytes(bytes_of(storage).numpy()),))
        arguments = self._lend(storage.data_ptr(), size)
        if arguments is None:
            if size > 2 * wanted:
                return _left(_slots.LEFT_PART)
            copy = copied(storage, size)
            if copy is None:
                return _left(_slots.LEFT_ROOM)
            _core.count(_slots.COPIED)
            arguments = self._lend(copy.data_ptr(), size)
        return arguments and _Stored(storage, borrow.lent, arguments)

    def _lend(self, address, size):
        """Of what lies in a slot."""
        found = _core.ring_lend(address)
        if found is None:
            return None
        slot, ring, number, offset, fd = found
        ticket = None
        if fd >= 0 and slot not in self.new:
            try:
                ticket = reduction.DupFd(fd)
            except Exception:
                _core.ring_take_back(slot)
                return None
            self.new.append(slot)
        self.lent.append(slot)
        return ring, number, offset, size, ticket


def _left(reason):
    """Torch's own way."""
    _core.count(reason)
    return None


class _Stored:
    """What of a message stands for a storage: pickled once, however many tensors have it."""

    __slots__ = ("storage", "make", "arguments")

    def __init__(self, storage, make, arguments):
        self.storage = storage  # held, so that no other one gets its address
        self.make = make
        self.arguments = arguments

    def __reduce__(self):
        return self.make, self.arguments


def copied(storage, size):
    """A storage in a slot with the same bytes, or None."""
    piece = _core.ring_take(size)
    if piece is None:
        return None
    copy = over(piece)
    bytes_of(copy).copy_(bytes_of(storage))
    return copy


def empty(dtype, shape, size):
    """A contiguous tensor in a slot, or None."""
    piece = _core.ring_take(size)
    if piece is None:
        return None
    return tensor_of(over(piece), dtype, 0, shape, contiguous(shape))


def reduce_tensor(tensor):
    """For ForkingPickler, in the place of torch's own."""
    message = _message
    if message is not None and message.thread == get_ident():
        try:
            sent = message.reduce(tensor)
        except Exception:  # torch will say what is wrong with it
            sent = None
        if sent is not None:
            return sent
    return PLAIN["reduce_tensor"](tensor)


# ---- forks: a child is no worker ----

def _be_no_worker():
    global _worker, _message
    _worker = _message = None


def heed_forks():
    os.register_at_fork(before=_core.ring_keep, after_in_parent=_core.ring_go_on, after_in_child=_core.ring_leave)
    os.register_at_fork(after_in_child=_be_no_worker)
