"""Sends paths to the command, which reads the files ahead of the job (cli/ahead/order_queue.h)."""

import fcntl
import os
import resource
import socket
import struct
import sys

_MAGIC = 0x32726564726f6b73  # of order_message in cli/ahead/order.h
_ENCODING = sys.getfilesystemencoding()
_HEAD = struct.Struct("=QQQ")
_STEP = 64  # files that workers are done with between two messages
_HIGH = 512  # descriptors of ours are not the program's next ones

UNORDERED = (1 << 64) - 1  # ORDER_UNORDERED of cli/ahead/order.h

_senders = set()


class Block:
    """The paths of one message."""
    SAMPLES = 256  # whose paths are sent at a time,
    _BYTES = 1 << 15  # unless their paths are long

    def __init__(self):
        self._samples = self._size = 0
        self.names = []
        self._cwd = None  # until a path is relative

    def has_room(self):
        return self._samples < self.SAMPLES and self._size < self._BYTES

    def add(self, paths):
        """Adds the paths of one sample."""
        for path in paths:
            self.names.append(path if path.startswith("/") else self._absolute(path))
            self._size += len(self.names[-1])
        self._samples += 1

    def _absolute(self, path):
        if self._cwd is None:
            self._cwd = os.getcwd()
        return os.path.join(self._cwd, path)

    def encoded(self):
        return "\0".join([*self.names, ""]).encode(_ENCODING, "surrogateescape")


def connect(place):
    """Returns a Sender to the command at that socket, or None."""
    low = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        low.connect("\0" + place)
        high = min(_HIGH, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        return Sender(socket.socket(fileno=fcntl.fcntl(low.fileno(), fcntl.F_DUPFD_CLOEXEC, high)))
    except OSError:
        return None
    finally:
        low.close()


def close_all():
    """In a child: its parent alone sends."""
    for sender in list(_senders):
        sender.close()


class Sender:
    """A connection, at a high number, for one order. It never waits: what the command has no room for is sent later."""

    def __init__(self, connection):
        self._connection = connection
        self._waiting = b""  # paths for which the command had no room yet
        self._done = 0  # that was sent last
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

    def is_believed(self):
        """Returns true if the command has seen that the files are opened. It says so once."""
        try:
            return self._connection.recv(1, socket.MSG_DONTWAIT) != b""
        except OSError:
            return False

    def send(self, next_block, done, asked=0):
        """Sends what `next_block()` returns until that is empty. `done`: how many files workers are done with, of how
        many that were `asked` for."""
        if self._connection is None:
            return
        try:
            while self._send_block(next_block, done, asked):
                pass
            if done >= self._done + _STEP and done != UNORDERED:
                self._send_message(b"", done, asked)
        except BlockingIOError:
            pass
        except OSError:  # the command does not want more
            self.close()

    def _send_block(self, next_block, done, asked):
        if not self._waiting:
            block = next_block()
            self.files += len(block.names)
            self._waiting = block.encoded() if block.names else b""
        if not self._waiting:
            return False
        self._send_message(self._waiting, done, asked)
        self._waiting = b""
        return True

    def _send_message(self, paths, done, asked):
        self._connection.send(_HEAD.pack(_MAGIC, done, asked) + paths, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        self._done = done
