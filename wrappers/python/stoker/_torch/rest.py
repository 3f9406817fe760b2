"""The files that a loader has not asked for yet, in the order of the data set's list.

A sampler of the program's own is not asked for its order. But most samplers come to nearly all of the list in the end.
The command reads only a few of these files until the job has opened some of them, so a sampler that takes one file in a
hundred costs no more than these.
"""

from .sender import UNORDERED, Block, connect

_MORE = 8  # times as many as were asked for: so much is read in vain if the pass ends here


def begin(paths, place):
    """Returns the Rest of a pass that begins, or None."""
    sender = connect(place)
    return Rest(paths, sender) if sender else None


class Rest:
    def __init__(self, paths, sender):
        self._paths, self._sender = paths, sender
        self._asked = bytearray(paths.count)
        self._next = self._wanted = 0

    def close(self):
        self._sender.close()

    def follow(self, asked):
        """Notes what the loader asks for next, and sends more of the rest."""
        for index in asked:
            if type(index) is int and 0 <= index < len(self._asked):
                self._asked[index] = 1
        self._wanted += _MORE * len(asked)
        self._sender.send(self._next_block, UNORDERED)

    def _next_block(self):
        block = Block()
        if self._wanted >= Block.SAMPLES:
            self._fill(block)
            self._wanted -= Block.SAMPLES
        return block

    def _fill(self, block):
        while self._next < len(self._asked) and block.has_room():
            if not self._asked[self._next]:
                block.add(self._paths(self._next))
            self._next += 1
