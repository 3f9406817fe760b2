"""Sends to the command the order in which a pass over a DataLoader is going to open files. The command reads these
ahead of the job (cli/ahead).

Each pass has a connection of its own, which ends with the pass. Paths are sent as the pass goes on, as many as the
command takes. The indices that the loader asks for are compared with the order: the first difference ends it.
"""

import functools
import os
import weakref
from array import array

import torch

from .._base.own import is_own
from . import foretell, rest, sample_paths
from .sender import Block, close_all, connect

_SWITCH = "STOKER_AHEAD"
_PLACE = "STOKER_ORDERS"
_WINDOW = 2048  # samples ahead of what the loader has asked for
_PROBES = 64  # ORDER_PROBES of cli/ahead/order.h

_doubted = {}  # weak references to data sets, by their ids: the command has not believed their orders


def install(iterator):
    if os.environ.get(_PLACE) and os.environ.get(_SWITCH) != "off":
        _replace_index(iterator)
        os.register_at_fork(after_in_child=close_all)


def _replace_index(kind):
    plain, reset = kind._next_index, kind._reset

    @functools.wraps(plain)
    def _next_index(self):
        order = _order_of(self)
        index = plain(self)
        if order is not None:
            _call(order.follow, index, getattr(self, "_tasks_outstanding", 0))
        return index

    @functools.wraps(reset)
    def _reset(self, *arguments, **named):
        _call(_end, self)
        return reset(self, *arguments, **named)

    kind._next_index, kind._reset = _next_index, _reset


def _call(function, *arguments):
    """Calls a function of ours. If it fails, nothing is read ahead."""
    try:
        return function(*arguments)
    except Exception as error:
        if not (is_own(error) or isinstance(error, OSError)):
            raise
        return None


def _order_of(iterator):
    state = iterator.__dict__
    if "_stoker_order" not in state:
        state["_stoker_order"] = None
        state["_stoker_order"] = _call(_begin, iterator)
    return state["_stoker_order"]


def _end(iterator):
    order = iterator.__dict__.pop("_stoker_order", None)
    if order is not None:
        order.close()


def _begin(iterator):
    """Returns the Order of a pass that begins, or None if nothing can be said of it."""
    is_map = iterator._dataset_kind == 0
    if torch.utils.data.get_worker_info() is not None or not is_map or _is_doubted(iterator._dataset):
        return None
    indices = foretell.order_of(iterator._index_sampler)
    paths = sample_paths.paths_of(iterator._dataset, max(indices or (), default=0))
    sender = paths and connect(os.environ[_PLACE])
    order = Order(indices, paths, sender, weakref.ref(iterator._dataset)) if sender else None
    if order is not None and indices is None:
        order.rest = rest.begin(paths, os.environ[_PLACE])
    return order


def _is_doubted(dataset):
    doubted = _doubted.get(id(dataset))
    return doubted is not None and doubted() is dataset


class Order:
    """The order of one pass. If it is not foretold, it is what the loader has asked for so far: its workers have yet
    to come to that. Then the other files of the data set are sent as well (rest.py)."""

    def __init__(self, indices, paths, sender, dataset):
        self._foretold = indices is not None
        self._indices = indices if self._foretold else array("q")
        self._paths, self._sender, self._dataset = paths, sender, dataset
        self._sent = self._asked = self._done = 0  # samples
        self.rest = None
        self._send()

    def __del__(self):
        self.close()

    def close(self):
        if self._sender.is_open and self._asked >= _PROBES and not self._sender.is_believed():
            _doubted[id(self._dataset())] = self._dataset
        self._sender.close()
        if self.rest is not None:
            self.rest.close()

    def follow(self, index, outstanding):
        """Compares what the loader asks for next with the order, and sends more of the order. `outstanding`: the
        batches that workers have not returned yet."""
        if not self._sender.is_open:
            return
        asked = [index] if type(index) is int else index
        if not self._is_as_foretold(asked):
            self.close()
            return
        self._done = max(0, self._asked - outstanding * len(asked))
        self._asked += len(asked)
        self._send()
        if self.rest is not None:
            self.rest.follow(asked)

    def _is_as_foretold(self, asked):
        if type(asked) is not list:
            return False
        if not self._foretold:
            self._indices.extend(asked)
            return True
        return self._indices[self._asked:self._asked + len(asked)].tolist() == asked

    def _send(self):
        self._sender.send(self._next_block, self._files_of(self._done), self._files_of(self._asked))

    def _files_of(self, samples):
        """Returns how many files the first samples have."""
        return samples * self._sender.files // self._sent if self._sent > 0 else 0

    def _next_block(self):
        block = Block()
        if self._sent + Block.SAMPLES <= self._asked + _WINDOW:
            while self._sent < len(self._indices) and block.has_room():
                block.add(self._paths(self._indices[self._sent]))
                self._sent += 1
        return block
