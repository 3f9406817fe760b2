"""A worker's side: its messages to the main process name slots in the place of tensors.

The queue to the main process pickles in a thread of its own. Only in that thread a tensor is pickled as a slot. All that
the thread pickles between two calls of the function that sends is one message. Pickles for other queues are torch's alone.

A large array of NumPy is pickled as a slot, too. Bytes and smaller arrays make a message's pickle large. Such a pickle lies
in a slot itself, and the queue's pipe gets the slot's name.
"""

import copyreg
import os
import pickle
import sys
from _thread import get_ident
from multiprocessing import reduction, util

from .. import _core
from .._base.own import attempt
from . import borrow
from .tensors import bytes_of, contiguous, is_plain, over, storage_of, tensor_of

SMALL = 16 << 10  # bytes that are sent by value: a slot would take at least a page, and a message as well
LARGE = 32 << 10  # bytes of a pickle that are sent by the pipe
MOST_OFFERS = 16  # of slots that the receiver has not mapped: it cannot
HEAD = 4 << 10  # bytes that an array's pickle has beside its values, at the most: both are to fit into one slot
LARGE_ARRAY, MOST_ARRAYS = 512 << 10, 8  # bytes, and arrays in a message: a ring has few slots

PLAIN = {}  # torch's own functions

_worker = None  # the process that has a ring: this one, or the one it was forked from
_queue = None  # the worker's queue to its main process
_message = None  # the message that is being pickled, if it has slots
_offers = 0  # since the receiver has mapped a slot that was offered to it


def is_worker():
    return _worker is not None and _worker == os.getpid()


def begin(queue):
    """Makes this process a worker that sends to its main process by this queue. The queue's thread begins with its first
    message, and takes these functions from it then."""
    global _worker, _queue
    send, failed = queue._send_bytes, queue._on_queue_feeder_error
    _core.ring_begin(int.from_bytes(os.urandom(8), "little"))
    # After the queue's thread has ended, which is at -5.
    util.Finalize(None, _core.ring_end, exitpriority=-100)
    attempt(_lend_arrays)

    def _send_bytes(pickled):
        return send(attempt(_sent, pickled) or pickled)

    def _on_queue_feeder_error(error, message):
        attempt(_take_back)
        return failed(error, message)

    queue._send_bytes, queue._on_queue_feeder_error = _send_bytes, _on_queue_feeder_error
    _worker, _queue = os.getpid(), queue


def _lend_arrays():
    """Pickles arrays as slots, unless the program has a way of its own. NumPy's arrays need no import here: a data set with
    arrays has done it, as has a torch that knows them."""
    kind, registered = sys.modules["numpy"].ndarray, reduction.ForkingPickler._extra_reducers
    if kind not in registered and kind not in copyreg.dispatch_table:
        reduction.ForkingPickler.register(kind, _reduce_array)


# ---- messages ----

def _current():
    """Returns the message that this thread is pickling, or None in any other thread than the queue's."""
    global _message
    thread = _queue and _queue._thread
    if thread is None or thread.ident != get_ident():
        return None
    if _message is None:
        _message = _Message()
    return _message


def _sent(pickled):
    """Ends the message that was pickled. Returns the pickle that the pipe is to take in its place, or None."""
    global _message
    message, _message = _message, None
    if message is not None:
        message.sent(_core.BATCHES)
    offers = message.end_offers() if message is not None else set()
    return _sent_by_slot(pickled, offers) if len(pickled) > LARGE else None


def _take_back():
    """Ends a message that could not be pickled."""
    global _message
    message, _message = _message, None
    if message is not None:
        message.take_back()


class _Message:
    """The slots of one message."""

    __slots__ = ("stored", "lent", "new", "offers")

    def __init__(self):
        self.stored = {}  # {a storage's address: its _Stored, once for all its tensors}
        self.lent = []  # the slots, once for each loan
        self.new = []  # the slots that come with a ticket
        self.offers = {}  # {(descriptor, ring, number) of a slot that the receiver has not mapped: a piece of it}

    def sent(self, counter):
        """Counts a message with slots, and closes the descriptors of new ones."""
        if self.lent:
            _core.count(counter)
        for slot in self.new:
            _core.ring_introduced(slot)

    def take_back(self):
        for slot in self.lent:
            _core.ring_take_back(slot)

    def end_offers(self):
        """Returns the places of slots that are offered. The next taker may have these slots."""
        offers, self.offers = set(self.offers), {}
        return offers

    def reduce(self, tensor):
        """Returns the function and arguments that a tensor is pickled as, or None if torch is to pickle it."""
        if not is_plain(tensor):
            return _left(_core.BATCH_KIND)
        storage = storage_of(tensor)
        stored = self.stored.get(storage._cdata)
        if stored is None:
            stored = self._store(storage, tensor.numel() * tensor.element_size())
            if stored is None:
                return None
            self.stored[storage._cdata] = stored
        return borrow.tensor, (stored, tensor.dtype, tensor.storage_offset(), tuple(tensor.shape),
                               tensor.stride())

    def reduce_array(self, array):
        """Returns the function and arguments that an array is pickled as, or None if NumPy is to pickle it."""
        slots = len(self.lent) + len(self.offers)
        if array.nbytes < LARGE_ARRAY or slots >= MOST_ARRAYS or not _is_its_bytes(array):
            return None
        loan = self.put(memoryview(array.reshape(-1).view("uint8")), HEAD)
        return loan and (type(array), (array.shape, array.dtype, _Stored(None, borrow.own_buffer, loan)))

    def put(self, memory, room=0):
        """Copies a memoryview of bytes into a slot that the receiver has mapped, with so much room behind them. Returns (ring,
        number, offset, bytes), or None if there is none."""
        global _offers
        piece = _core.ring_take(_rounded(len(memory) + room)) if _offers < MOST_OFFERS else None
        if piece is None:
            return None
        slot, ring, number, offset, fd = _core.ring_lend(over(piece).data_ptr())
        if fd >= 0:
            _core.ring_offer(slot)
            self.offers[fd, ring, number] = piece  # so that the next array is offered another one
            return None
        _offers = 0
        self.lent.append(slot)
        memoryview(piece)[:len(memory)] = memory
        return ring, number, offset, len(memory)

    def _store(self, storage, wanted):
        """Returns the _Stored of a whole storage, or None. Tensors that share it here then share it in the main
        process."""
        if storage.is_shared():
            return _left(_core.BATCH_SHARED)
        size = storage.nbytes()
        if size <= SMALL:
            return _Stored(storage, borrow.by_value, (bytes(bytes_of(storage).numpy()),))
        arguments = self._lend(storage.data_ptr(), size)
        if arguments is None:
            if size > 2 * wanted:
                return _left(_core.BATCH_PART)
            copy = copied(storage, size)
            if copy is None:
                return _left(_core.BATCH_ROOM)
            _core.count(_core.COPIED)
            arguments = self._lend(copy.data_ptr(), size)
        return arguments and _Stored(storage, borrow.lent, arguments)

    def _lend(self, address, size):
        """Lends the slot at an address. Returns the arguments of borrow.lent(), or None if there is no slot."""
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


def _is_its_bytes(array):
    """Returns true for an array whose values are its bytes, in their order, and can be written."""
    dtype, flags = array.dtype, array.flags
    return flags.c_contiguous and flags.writeable and dtype.isnative and not dtype.hasobject


def _rounded(size):
    """Rounds up by a sixteenth at the most, so that what differs a little fits into the same slots."""
    step = 1 << max(size.bit_length() - 5, 12)
    return -(-size // step) * step


def _left(reason):
    """Counts a tensor that is left to torch. Returns None."""
    _core.count(reason)
    return None


def _sent_by_slot(pickled, offers):
    """Returns the pickle that names a slot with this pickle, or that says where the receiver finds slots for the next
    ones, or None if the pipe is to take it. `pickled` is a memoryview of bytes. `offers`: those of its arrays."""
    message = _Message()
    loan = message.put(pickled)
    offers = offers | message.end_offers()
    if loan is None and not offers:
        return None
    try:
        named = reduction.ForkingPickler.dumps(_offering(offers, loan or bytes(pickled)) if offers
                                               else _Stored(None, borrow.unpickled, loan))
    except Exception:
        message.take_back()
        raise
    message.sent(_core.PICKLES)
    return named


def _offering(offers, pickled):
    """Returns what is pickled as bytes, or as the loan of them, and as the places of these slots."""
    global _offers
    _offers += 1
    return _Stored(None, borrow.offered, (os.getpid(), tuple(offers), pickled))


class _Stored:
    """Stands for memory in a message: pickled once for all tensors of a storage."""

    __slots__ = ("storage", "make", "arguments")

    def __init__(self, storage, make, arguments):
        self.storage = storage  # held, so that no other storage gets its address; or None
        self.make = make
        self.arguments = arguments

    def __reduce__(self):
        return self.make, self.arguments


def copied(storage, size):
    """Returns a storage in a slot with the same bytes, or None."""
    piece = _core.ring_take(size)
    if piece is None:
        return None
    copy = over(piece)
    bytes_of(copy).copy_(bytes_of(storage))
    return copy


def empty(dtype, shape, size):
    """Returns a contiguous tensor in a slot, or None."""
    piece = _core.ring_take(size)
    if piece is None:
        return None
    return tensor_of(over(piece), dtype, 0, shape, contiguous(shape))


def reduce_tensor(tensor):
    """Reduces a tensor for ForkingPickler, in the place of torch's own function."""
    message, sent = attempt(_current), None
    if message is not None:
        try:
            sent = message.reduce(tensor)
        except Exception:  # torch will say what is wrong with it
            sent = None
        if sent is not None:
            return sent
    return PLAIN["reduce_tensor"](tensor)


def _reduce_array(array):
    """Reduces an array for ForkingPickler. The program may have got a way of its own since."""
    registered = copyreg.dispatch_table.get(type(array))
    if registered is not None:
        return registered(array)
    message = attempt(_current)
    sent = None if message is None else attempt(message.reduce_array, array)
    return sent or array.__reduce_ex__(pickle.DEFAULT_PROTOCOL)


# ---- forks: a child is no worker ----

def _be_no_worker():
    global _worker, _queue, _message
    _worker = _queue = _message = None


def heed_forks():
    os.register_at_fork(before=_core.ring_keep, after_in_parent=_core.ring_go_on, after_in_child=_core.ring_leave)
    os.register_at_fork(after_in_child=_be_no_worker)
