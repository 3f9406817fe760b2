"""The main process's side: tensors over slots that workers have lent.

A worker's messages name the functions here. The first message with a slot brings its descriptor, and the slot is
mapped; later messages only name it. A loan is given back when its storage ends, which views, arrays and further
tensors may hold for long.
"""

import os
import pickle

import torch

from .. import _core
from .._base.own import attempt, is_own
from . import moves
from .tensors import over, tensor_of

_slots = {}  # {(ring, number): the mapped slot}


def tensor(storage, dtype, offset, shape, strides):
    return tensor_of(storage, dtype, offset, shape, strides)


def by_value(data):
    """Returns a storage with these bytes."""
    storage = torch.UntypedStorage(len(data))
    if data:
        memory = tensor_of(storage, torch.uint8, 0, (len(data),), (1,))
        memory.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
    return storage


def lent(ring, number, offset, size, ticket):
    """Returns a storage over `size` bytes of a slot. `ticket` fetches the descriptor of a new slot."""
    attempt(moves.forget_ended)
    if ticket is not None:
        fd = ticket.detach()
        try:
            slot = _core.borrow(fd, False)
        except Exception as error:
            if not is_own(error):
                raise
            return _read(fd, offset, size)
        finally:
            os.close(fd)
        attempt(let_go, ())  # before there are more and more of them
        _slots[ring, number] = slot
    return over(_slot(ring, number).loan(offset, size, False))


def _slot(*name):
    slot = _slots.get(name)
    if slot is None:
        raise RuntimeError("a DataLoader's batch came to a process that does not know its worker")
    return slot


def unpickled(ring, number, offset, size):
    """Returns what is pickled in these bytes of a slot. Their loan ends with that."""
    return pickle.loads(_slot(ring, number).loan(offset, size, False))


def own_buffer(ring, number, offset, size):
    """Returns a buffer for an array. As in other arrays, what a child of this process writes stays the child's own."""
    slot = _slot(ring, number)
    return slot.loan(offset, size, True) or bytearray(slot.loan(offset, size, False))


def offered(pid, offers, pickled):
    """Returns what is pickled here, in bytes or a loan of them. The slots behind a worker's descriptors may hold the next
    ones: if one can be mapped, the worker learns that by the slot itself."""
    for descriptor, ring, number in offers:
        if (ring, number) not in _slots:
            attempt(_accept, f"/proc/{pid}/fd/{descriptor}", (ring, number))
    return unpickled(*pickled) if type(pickled) is tuple else pickle.loads(pickled)


def _accept(path, name):
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:  # another user's process, another pid namespace, no descriptor left
        return
    try:
        slot = _core.borrow(fd, True)
    finally:
        os.close(fd)
    if slot.name() == name:
        attempt(let_go, ())  # before there are more and more of them
        _slots[name] = slot
        slot.accept()


def _read(fd, offset, size):
    """Returns a copy of the bytes, if the slot cannot be mapped. The slot stays lent, so that no other message names
    it."""
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = os.preadv(fd, [rest], offset + size - len(rest))
        if count == 0:
            raise EOFError("a worker's memory ended early")
        rest = rest[count:]
    return over(data)


def let_go(workers, slots=_slots):
    """Unmaps slots that no message will name any more: those of these workers (pids), which have ended, and those that
    other workers have dropped. A slot that is still in use stays mapped until its last loan ends."""
    for name, slot in list(slots.items()):
        if slot.is_over() or slot.owner() in workers:
            slots.pop(name, None)


# ---- forks: a child keeps the loans that there were, and nothing else ----

def _keep(slots=_slots):
    for slot in list(slots.values()):
        slot.keep()


def heed_forks():
    os.register_at_fork(before=_keep, after_in_child=_slots.clear)
