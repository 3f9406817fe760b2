"""One pass over a Feed's images: batches are read and decoded ahead by threads of its own."""

import os
import threading
from collections import deque
from time import monotonic_ns

from .. import _core, _slots
from .._processors import processors
from .._store import sources
from .._torch.passes import Pass
from .batch import Batch
from .numbers import Numbers


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
        self._pass = None  # until somebody asks for a batch
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
            return self._counted(monotonic_ns())
        finally:
            self._turn.release()

    def _counted(self, began):
        if self._crew is None:
            raise StopIteration
        if self._pass is None:
            feed = self._feed
            self._pass = Pass.begin(feed.batch_sampler, feed.paths, feed.threads, began)
        batch = self._next()
        if self._pass is not None and batch is None:
            self._pass.end(began)
        if batch is None:
            raise StopIteration
        result = self._result(batch)
        if self._pass is not None:
            self._pass.step(len(batch), result, began, monotonic_ns())
        return result

    def _next(self):
        """The first batch, made; None behind the last one."""
        while not self._is_ready():
            if not self._batches:
                self._end()
                return None
        return self._batches.popleft()

    def _result(self, batch):
        began = monotonic_ns()
        try:
            return batch.result()
        finally:
            _core.count(_slots.FETCH_NS, monotonic_ns() - began)
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
                began = monotonic_ns()
                batch.plan(self._numbers)
                _core.count(_slots.FETCH_NS, monotonic_ns() - began)
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
