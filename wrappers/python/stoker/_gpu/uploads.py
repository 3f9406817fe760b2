"""Counts uploads for the run's summary: the bytes sent, and the time for which they delayed the job's steps.

Counting never waits. Sending delays a step if the device has no other work meanwhile. A batch that is handed over
before its arrival delays the step from the moment at which the step's stream reaches it. The device notes that moment
and the arrival, and a later batch of the loader reads the time between them.
"""

import collections
import os
from time import monotonic_ns

from .. import _core
from .fences import passed


def are_counted():
    return bool(os.environ.get("STOKER_RUN"))


class Uploads:
    """The uploads of one loader. `place` (cuda.py) has the times."""

    def __init__(self, place):
        self._place = place
        self._late = collections.deque()  # (fence of its arrival, event of its request)
        self._bytes = self._floats = self._unlocked = 0
        self._began = 0

    def begin(self):
        self._bytes = self._floats = self._unlocked = 0
        self._began = monotonic_ns()

    def add(self, tensor, locked):
        """Counts a tensor of the begun batch."""
        size = tensor.numel() * tensor.element_size()
        self._bytes += size
        self._floats += size if tensor.is_floating_point() else 0
        self._unlocked += 0 if locked or self._place.is_locked(tensor) else size

    def end(self):
        """Counts the begun batch, all of which is on its way."""
        if self._place.is_idle():
            _core.count(_core.UPLOAD_SENDING_NS, monotonic_ns() - self._began)
        _core.count(_core.UPLOADS)
        _core.count(_core.UPLOAD_BYTES, self._bytes)
        _core.count(_core.UPLOAD_FLOAT_BYTES, self._floats)
        _core.count(_core.UPLOAD_UNLOCKED_BYTES, self._unlocked)

    def ask(self, fence):
        """Notes that the program takes the batch before this fence."""
        if not fence.query():
            self._late.append((fence, self._place.note()))

    def look(self):
        for fence, noted in passed(self._late):
            _core.count(_core.UPLOAD_STALLED_NS, self._place.between_ns(noted, fence))


class Uncounted:
    """Counts nothing, without a run."""

    def begin(self, *_):
        pass

    add = end = ask = look = begin
