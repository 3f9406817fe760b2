"""What the run's summary is told of uploads: how much was sent, and how long the job's steps were held up.

Nothing is waited for. Sending holds a step up where the device has nothing else to do meanwhile; a batch
that is handed over before it has arrived, from the moment at which the step's stream has come so far. The
device notes that moment, and the arrival; who sends later looks what lies between.
"""

import collections
import os
from time import monotonic_ns

from .. import _core, _slots
from .marked import past


def are_counted():
    return bool(os.environ.get("STOKER_RUN"))


class Uploads:
    """Of one loader. `place` says when (cuda.py)."""

    def __init__(self, place):
        self._place = place
        self._late = collections.deque()  # (when it is there, when it was asked for)
        self._bytes = self._floats = self._unlocked = 0
        self._began = 0

    def begin(self):
        self._bytes = self._floats = self._unlocked = 0
        self._began = monotonic_ns()

    def add(self, tensor, locked):
        """A tensor of the batch that was begun."""
        size = tensor.numel() * tensor.element_size()
        self._bytes += size
        self._floats += size if tensor.is_floating_point() else 0
        self._unlocked += 0 if locked or self._place.is_locked(tensor) else size

    def end(self):
        """All of the batch is on its way."""
        if self._place.is_idle():
            _core.count(_slots.UPLOAD_SENDING_NS, monotonic_ns() - self._began)
        _core.count(_slots.UPLOADS)
        _core.count(_slots.UPLOAD_BYTES, self._bytes)
        _core.count(_slots.UPLOAD_FLOAT_BYTES, self._floats)
        _core.count(_slots.UPLOAD_UNLOCKED_BYTES, self._unlocked)

    def ask(self, mark):
        """The batch before this mark is asked for."""
        if not mark.query():
            self._late.append((mark, self._place.note()))

    def look(self):
        for mark, noted in past(self._late):
            _core.count(_slots.UPLOAD_STALLED_NS, self._place.between_ns(noted, mark))


class Uncounted:
    """The same, where there is no run."""

    def begin(self):
        pass

    def add(self, tensor, locked):
        pass

    def end(self):
        pass

    def ask(self, mark):
        pass

    def look(self):
        pass
