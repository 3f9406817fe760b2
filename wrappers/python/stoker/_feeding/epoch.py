"""One pass over a Feed's images: batches are read and decoded ahead by threads of its own."""

import os
import threading
from collections import deque

from .. import _core
from .._store import sources
from .batch import Batch
from .numbers import Numbers


def processors():
    """How many this process may use now."""
    return len(os.sched_getaffinity(0))


class Epoch:
    """An iterator. Its threads end with it: at the last batch, by close(), or when nobody has it any
    more."""

    def __init__(self, feed):
        sources.is_ready()
        self._feed = feed
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._numbers = Numbers(feed.generator)
        self._indices = iter(feed.batch_sampler)
        self._batches = deque()  # all that have been begun, in their order
        self._idle = []  # Files of batches that were handed out
        self._crew = _core.feed_crew(feed.threads, processors())
        self._read_ahead()

    def __iter__(self):
        return self

    def __next__(self):
        if self._process != os.getpid():
            raise RuntimeError("this pass over a Feed was begun by another process, which has its "
                               "threads: iterate over the Feed once more here")
        if not self._turn.acquire(blocking=False):
            raise RuntimeError("another thread, or a signal's handler, waits for this batch")
        try:
            return self._next()
        finally:
            self._turn.release()

    def _next(self):
        if self._crew is None:
            raise StopIteration
        while not self._is_ready():
            if not self._batches:
                self._end()
                raise StopIteration
        batch = self._batches.popleft()
        try:
            return batch.result()
        finally:
            if batch.files is not None:
                batch.files.let_go()
                self._idle.append(batch.files)

    def _is_ready(self):
        """Begins what can be begun; whether the first batch is made, after some waiting if it is not."""
        ends = self._crew.ends()
        self._read_ahead()
        all_planned = self._plan_ahead()
        first = self._batches[0] if self._batches else None
        if first is None or (first.is_planned and first.files.are_done()):
            return first is not None
        (first.files if all_planned else self._crew).wait(ends)
        return False

    def _read_ahead(self):
        """One batch further than is planned."""
        while self._indices is not None and len(self._batches) < self._feed.prefetch + 2:
            indices = next(self._indices, None)
            if indices is None:
                self._indices = None
                return
            files = self._idle.pop() if self._idle else self._crew.files()
            self._batches.append(Batch(self._feed, files, indices))

    def _plan_ahead(self):
        """Whether all that may be planned now have been."""
        for batch in list(self._batches)[:self._feed.prefetch + 1]:
            if not batch.is_planned:
                if not batch.files.are_done():
                    return False
                batch.plan(self._numbers)
        return True

    def close(self):
        """Ends it: what was read ahead is dropped. To be called as often as one likes."""
        if self._process != os.getpid():
            self._turn = threading.Lock()  # whoever had it is not here
        if not self._turn.acquire(blocking=False):
            raise RuntimeError("another thread, or a signal's handler, waits for a batch")
        try:
            self._end()
        finally:
            self._turn.release()

    def _end(self):
        crew, self._crew, self._indices = self._crew, None, None
        if crew is not None:
            crew.close()
        self._batches.clear()
        self._idle.clear()
