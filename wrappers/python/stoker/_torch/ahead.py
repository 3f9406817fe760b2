"""Sends to the command the order in which a pass over a DataLoader is going to open files. The command reads these
ahead of the job (cli/ahead).

Each pass has a connection of its own, which ends with the pass. Paths are sent as the pass goes on, as many as the
command takes. The indices that the loader asks for are compared with the order: the first difference ends it.
"""

import fcntl
import functools
import os
import resource
import socket
import struct
import sys
import weakref
from array import array

import torch

from .._base.own import is_own
from . import foretell, sample_paths

_SWITCH = "STOKER_AHEAD"
_PLACE = "STOKER_ORDERS"
_MAGIC = 0x31726564726f6b73  # of order_message in cli/ahead/order.h
_ENCODING = sys.getfilesystemencoding()
_HEAD = struct.Struct("=QQ")
_WINDOW = 2048  # samples ahead of what the loader has asked for
_BLOCK = 256  # samples whose paths are sent at a time,
_BLOCK_BYTES = 1 << 15  # unless their paths are long
_STEP = 64  # samples that workers are done with between two messages
_HIGH = 512  # descriptors of ours are not the program's next ones

_PROBES = 64  # ORDER_PROBES of cli/ahead/order.h

_connections = set()
_doubted = {}  # weak references to data sets, by their ids: the command has not believed their orders


def install(iterator):
    if os.environ.get(_PLACE) and os.environ.get(_SWITCH) != "off":
        _replace_index(iterator)
        os.register_at_fork(after_in_child=_close_all)


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
    connection = paths and _connect()
    return Order(indices, paths, connection, weakref.ref(iterator._dataset)) if connection else None


def _is_doubted(dataset):
    doubted = _doubted.get(id(dataset))
    return doubted is not None and doubted() is dataset


def _connect():
    """Returns a connection to the command, at a high number, or None."""
    low = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        low.connect("\0" + os.environ[_PLACE])
        high = min(_HIGH, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        return socket.socket(fileno=fcntl.fcntl(low.fileno(), fcntl.F_DUPFD_CLOEXEC, high))
    except OSError:
        return None
    finally:
        low.close()


def _close_all():
    """In a child: its parent alone sends."""
    for connection in list(_connections):
        connection.close()
    _connections.clear()


class Order:
    """The order of one pass. If it is not foretold, it is what the loader has asked for so far: its workers have yet
    to come to that."""

    def __init__(self, indices, paths, connection, dataset):
        self._foretold = indices is not None
        self._indices = indices if self._foretold else array("q")
        self._paths, self._connection, self._dataset = paths, connection, dataset
        self._sent = self._asked = self._done = self._sent_done = 0  # samples
        self._files = 0  # that were sent
        self._waiting = b""  # paths for which the command had no room yet
        _connections.add(connection)
        self._send()

    def __del__(self):
        self.close()

    def close(self):
        if self._connection is not None:
            if self._asked >= _PROBES and not self._is_believed():
                _doubted[id(self._dataset())] = self._dataset
            _connections.discard(self._connection)
            self._connection.close()
            self._connection = None

    def _is_believed(self):
        try:
            return self._connection.recv(1, socket.MSG_DONTWAIT) != b""
        except OSError:
            return False

    def follow(self, index, outstanding):
        """Compares what the loader asks for next with the order, and sends more of the order. `outstanding`: the
        batches that workers have not returned yet."""
        if self._connection is None:
            return
        asked = [index] if type(index) is int else index
        if self._is_as_foretold(asked):
            self._done = max(0, self._asked - outstanding * len(asked))
            self._asked += len(asked)
            self._send()
        else:
            self.close()

    def _is_as_foretold(self, asked):
        if type(asked) is not list:
            return False
        if not self._foretold:
            self._indices.extend(asked)
            return True
        return self._indices[self._asked:self._asked + len(asked)].tolist() == asked

    def _send(self):
        try:
            while self._send_block():
                pass
            if self._done >= self._sent_done + _STEP:
                self._send_message(b"")
        except BlockingIOError:
            pass
        except OSError:  # the command does not want more
            self.close()

    def _send_block(self):
        """Sends what fits into a message. Returns false if there is nothing to send."""
        if not self._waiting and self._sent + _BLOCK <= self._asked + _WINDOW:
            self._waiting = self._next_block()
        if not self._waiting:
            return False
        self._send_message(self._waiting)
        self._waiting = b""
        return True

    def _send_message(self, paths):
        head = _HEAD.pack(_MAGIC, self._done * self._files // self._sent)
        self._connection.send(head + paths, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        self._sent_done = self._done

    def _next_block(self):
        names, size, cwd = [], 0, os.getcwd()
        while self._sent < len(self._indices) and len(names) < _BLOCK and size < _BLOCK_BYTES:
            for path in self._paths(self._indices[self._sent]):
                names.append(path if path.startswith("/") else os.path.join(cwd, path))
                size += len(names[-1])
            self._sent += 1
        self._files += len(names)
        return "\0".join([*names, ""]).encode(_ENCODING, "surrogateescape")
