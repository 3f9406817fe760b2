"""Sends paths to the command, which reads the files ahead of the job (cli/ahead/orders/order_queue.h)."""

import contextlib
import fcntl
import functools
import os
import resource
import socket
import struct

_MAGIC = 0x34726564726f6b73  # of order_message in cli/ahead/orders/order.h
_HEAD = struct.Struct("=QQQQ")
_INDEX = 8  # bytes of an index
BLOCK = 256  # samples whose paths are sent at a time
_STEP = 64  # files that workers are done with, or were asked for, between two messages
_MOST = 48 << 10  # bytes of paths; with one more path a message has less than ORDER_MESSAGE_BYTES
_HIGH = 512  # descriptors of ours are not the program's next ones

_PROBED, _REFUTED = b"p", b"r"  # ORDER_PROBED and ORDER_REFUTED of cli/ahead/orders/order.h

UNORDERED = (1 << 64) - 1  # ORDER_UNORDERED of cli/ahead/orders/order.h
OPENED = (1 << 64) - 4  # ORDER_OPENED
BESIDE = (1 << 64) - 5  # ORDER_BESIDE
LIST = (1 << 64) - 6  # ORDER_LIST
IDS = (1 << 64) - 7  # ORDER_IDS

_senders = set()


def _messages(paths):
    """Returns these paths, each with a zero behind it, as messages, none of which is too long."""
    messages = []
    while paths:
        end = len(paths) if len(paths) <= _MOST else paths.rfind(b"\0", 0, _MOST) + 1 or paths.index(b"\0") + 1
        messages.append(paths[:end])
        paths = paths[end:]
    return messages


@functools.lru_cache(maxsize=None)
def _heed_forks():
    os.register_at_fork(after_in_child=_close_all)


def _close_all():
    """In a child: its parent alone sends."""
    for sender in list(_senders):
        sender.close()


def _socket():
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)


def report(place, dataset, kind, opened):
    """Reports to the command at that socket what samples of a data set have opened. `kind`: OPENED or BESIDE. A report
    without room is lost."""
    with _socket() as connection:
        try:
            connection.connect("\0" + place)
            connection.send(_HEAD.pack(_MAGIC, dataset, kind, 0) + opened, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError:
            pass


def connect(place, dataset=0, list_of=0, kind=LIST):
    """Returns a Sender to the command at that socket, or None. `dataset`: what it sends are indices of that data set's
    samples, in arrays. `list_of`: what it sends are paths of a list of that data set, or ids, as `kind` says."""
    _heed_forks()
    low = _socket()
    try:
        low.connect("\0" + place)
        high = min(_HIGH, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        sender = Sender(socket.socket(fileno=fcntl.fcntl(low.fileno(), fcntl.F_DUPFD_CLOEXEC, high)), dataset)
    except OSError:
        return None
    finally:
        low.close()
    if list_of:
        sender.say_list_of(list_of, kind)
    return sender


class Sender:
    """A connection, at a high number, for one order. It never waits: what the command has no room for is sent later."""

    def __init__(self, connection, dataset):
        self._connection, self._dataset = connection, dataset
        self._waiting = []  # messages for which the command had no room yet
        self._done = self._asked = 0  # that were sent last
        self._words = set()  # of the command
        self.files = 0  # that were sent
        _senders.add(self)

    @property
    def is_open(self):
        return self._connection is not None

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            _senders.discard(self)

    def say_list_of(self, dataset, kind):
        """Has the command read what samples of that data set open beside the files of the list."""
        with contextlib.suppress(OSError):
            self._connection.send(_HEAD.pack(_MAGIC, dataset, kind, 0), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def is_refuted(self):
        """Returns true if the command has read some of the files, and has not seen the job open them."""
        if self._connection is not None:
            self._hear()
        return self._words == {_PROBED} or _REFUTED in self._words

    def _hear(self):
        with contextlib.suppress(OSError):  # no word has come, or none comes any more
            while word := self._hear_one():
                self._words.add(word)

    def _hear_one(self):
        try:
            return self._connection.recv(1, socket.MSG_DONTWAIT)
        except ConnectionResetError:  # the command has closed it: what it said before comes then
            return self._connection.recv(1, socket.MSG_DONTWAIT)

    def send(self, next_names, done, asked=0):
        """Sends the paths, or the indices, that `next_names()` returns until these are none. `done`: how many files
        workers are done with, of how many that were `asked` for."""
        if self._connection is None:
            return
        try:
            while self._waiting or self._take(next_names()):
                self._send_message(self._waiting[0], done, asked)
                self._waiting.pop(0)
            if done != UNORDERED and (done >= self._done + _STEP or asked >= self._asked + _STEP):
                self._send_message(b"", done, asked)
        except BlockingIOError:
            pass
        except OSError:  # the command does not want more
            self._hear()
            self.close()

    def _take(self, names):
        self.files += len(names) // _INDEX if self._dataset else names.count(b"\0")
        self._waiting = [names] if names and self._dataset else _messages(names)
        return self._waiting

    def _send_message(self, paths, done, asked):
        self._connection.send(_HEAD.pack(_MAGIC, self._dataset, done, asked) + paths, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        self._done, self._asked = done, asked
