"""The order of one pass, and the files that are sent in that order.

Paths are sent as the pass goes on, as many as the command takes. The indices that the loader asks for are compared with
the order: the first difference ends it.
"""

import sys
from array import array

from .._base.own import attempt_beside
from .name_lists import encoded
from .plain import is_plain
from .sender import BLOCK

WINDOW = 2048  # samples ahead of what the loader has asked for
_LEAST, _MOST, _BATCHES = 64, 128, 4  # samples that are compared at a time: those of so many batches, within bounds
_PROBES = 64  # ORDER_PROBES of cli/ahead/orders/order.h


def call(function, *arguments):
    """Calls a function of ours. If it fails, or what it calls of Python's library, also for want of memory, nothing is read
    ahead."""
    try:
        return attempt_beside(function, *arguments)
    except MemoryError:
        return None


class Files:
    """One file of each sample, by a list of their names."""

    def __init__(self, names, sender, doubt):
        """`doubt`: is called if the job does not open these files."""
        self.names, self._sender, self._doubt = names, sender, doubt
        self._unsent = None
        self._sent = self._asked = self._done = 0  # samples

    @property
    def is_open(self):
        return self._sender is not None and self._sender.is_open

    def close(self, is_over=False):
        """`is_over`: the pass is, so workers have opened what they open of these files."""
        if self._sender is not None:
            if (self._asked if is_over else self._done) >= _PROBES and self._sender.is_refuted():
                self._doubt()
            self._sender.close()

    def add(self, indices):
        """`indices`: an array, each time of the same type."""
        if self._unsent is None:
            self._unsent = indices[:]
        else:
            self._unsent += indices

    def send(self, asked, done):
        """Sends paths for a window behind the samples that were `asked` for. Workers are done with some of these."""
        self._asked, self._done = asked, done
        if self.is_open and not call(self._send, done):
            self.close()

    def _send(self, done):
        self._sender.send(self._next_names, self._files_of(done), self._files_of(self._asked))
        return True

    def _files_of(self, samples):
        """Returns how many files the first samples have."""
        return samples * self._sender.files // self._sent if self._sent > 0 else 0

    def _next_names(self):
        if self._sent + BLOCK > self._asked + WINDOW:
            return b""
        block = self._unsent[:BLOCK]
        del self._unsent[:BLOCK]
        self._sent += len(block)
        return encoded(self.names, block)


class Order:
    """The order of one pass. If it is not foretold, it is what the loader has asked for so far: its workers have yet
    to come to that. Then the other files of the data set are sent as well (rest.py)."""

    goes_on = False  # true if another pass begins once this one is used up
    is_over = False  # true once the loader has asked for all
    rests = ()

    def __init__(self, foretold, first, files):
        """`first`: what was taken of what is foretold."""
        self._foretold, self._files = foretold, files
        self._expected = first[:0]  # foretold, and not asked for yet
        self.new = []  # asked for, and not compared yet
        self.compared = _LEAST  # samples at a time
        self._asked = 0
        self._expect(first)
        self._send(0)

    def __del__(self, is_ending=sys.is_finalizing):
        if not is_ending():  # then modules lose their names
            self.close()

    def close(self):
        is_over = self.is_over or self.is_used_up()
        for each in self._files:
            each.close(is_over)
        for each in self.rests:
            each.close()

    @property
    def is_foretold(self):
        return self._foretold is not None

    def is_used_up(self):
        return self._foretold is not None and self._foretold.is_over and len(self._expected) <= len(self.new)

    def note(self, index):
        """Notes what the loader asks for next. Returns true if it is time to compare(): each index costs as little as
        can be."""
        new = self.new
        if type(index) is list:
            new += index
        else:
            new.append(index)
        return len(new) >= self.compared or self._foretold is None

    def compare(self, index, outstanding):
        """Compares what the loader has asked for with the order, and sends more of the order. Returns true if the pass is
        as it was foretold. `index`: the last. `outstanding`: the batches that workers have not returned yet."""
        batch = len(index) if type(index) is list else 1
        self.compared = min(_MOST, max(_LEAST, _BATCHES * batch))  # a message wakes the command
        new = self.new[:]
        self.new.clear()  # in place: the caller may hold it
        if not any(each.is_open for each in self._files) or not self._is_as_foretold(new):
            return False
        self._asked += len(new)
        self._send(max(0, self._asked - (outstanding + 1) * batch))
        for each in self.rests:
            each.follow(new)
        return True

    def _is_as_foretold(self, new):
        if self._foretold is None:
            if not is_plain(new, 1):
                return False
            for each in self._files:
                each.add(array("q", new))
            return True
        self._foresee(len(new) - len(self._expected))
        is_same = self._expected[:len(new)].tolist() == new
        del self._expected[:len(new)]
        return is_same

    def _foresee(self, least):
        if least > 0 and not self._foretold.is_over:
            self._expect(self._foretold.take(least))

    def _expect(self, indices):
        self._expected += indices
        for each in self._files:
            each.add(indices)

    def _send(self, done):
        if self._foretold is not None and len(self._expected) + BLOCK <= WINDOW:
            self._foresee(WINDOW - len(self._expected))
        for each in self._files:
            each.send(self._asked, done)
