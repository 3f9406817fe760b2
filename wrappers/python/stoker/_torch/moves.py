"""Keeps memory that torch moves: it moves a storage when the storage comes to be shared with other processes.

Arrays over the storage stay at the old place. They hold a tensor, and so its storage, but no longer the memory. torch's
own batches lie in shared memory already and are never moved. So the bytes in a slot stay there, unchanged, for as long
as the storage lives.
"""

import functools

import torch

from .. import _core
from .._base.own import is_own

_held = []  # (weak reference to a storage, the loan that keeps its former memory)
_for_good = []  # loans of storages whose end cannot be seen


def forget_ended():
    if _held:
        _held[:] = [pair for pair in _held if not pair[0].expired()]


def _hold(storage):
    held = _memory_at(storage.data_ptr())
    if held is None:
        return
    try:
        from torch.multiprocessing.reductions import StorageWeakRef
        forget_ended()
        _held.append((StorageWeakRef(storage), held))
    except Exception as error:
        _for_good.append(held)
        if not is_own(error):
            raise


def _memory_at(address):
    held = _core.borrowed_hold(address)
    return _core.ring_hold(address) if held is None else held


def _replace(kind, name):
    plain = getattr(kind, name)

    @functools.wraps(plain)
    def share(self, *arguments, **named):
        if not self.is_shared():
            _hold(self)
        return plain(self, *arguments, **named)

    setattr(kind, name, share)


def install():
    for name in "_share_fd_cpu_", "_share_filename_cpu_":
        if hasattr(torch.UntypedStorage, name):
            _replace(torch.UntypedStorage, name)
