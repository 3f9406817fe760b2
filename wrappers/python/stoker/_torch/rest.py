"""The files that a loader has not asked for yet, in the order of the data set's list.

A sampler of the program's own is not asked for its order. But most samplers come to nearly all of the list in the end.
The command reads only a few of these files until the job has opened some of them, so a sampler that takes one file in a
hundred costs no more than these.
"""

from array import array
from itertools import islice

from .name_lists import encoded
from .sender import BLOCK, UNORDERED, connect

_MORE = 8  # times as many as were asked for: so much is read in vain if the pass ends here


class Rest:
    """The files in one list of names, which are sent to the command at `place`."""

    def __init__(self, names, place):
        self._names, self._sender = names, connect(place)
        self._asked = bytearray(names.count)
        self._further = filter(lambda index: not self._asked[index], range(names.count))
        self._wanted = 0

    def close(self):
        if self._sender is not None:
            self._sender.close()

    def follow(self, asked):
        """Notes what the loader asks for next, and sends more of the rest."""
        if self._sender is None:
            return
        for index in asked:
            if 0 <= index < len(self._asked):
                self._asked[index] = 1
        self._wanted += _MORE * len(asked)
        self._sender.send(self._next_names, UNORDERED)

    def _next_names(self):
        if self._wanted < BLOCK:
            return b""
        self._wanted -= BLOCK
        return encoded(self._names, array("q", islice(self._further, BLOCK)))
