"""One pass over a Feed's images. Threads of its own read and decode batches ahead."""

import os
import threading
from collections import deque
from time import monotonic_ns

from .. import _core
from .._base.processors import processors
from .._store import sources
from .._torch import ahead
from .._torch.order import call
from .._torch.passes import Pass
from .._torch.sample_paths import names_of
from .batch import Batch
from .worker_rng import WorkerRng


class Epoch:
    """An iterator. Its threads end at the last batch, by close(), or when the iterator is deleted."""

    def __init__(self, feed):
        sources.is_ready()
        self._feed = feed
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._rng = WorkerRng(feed.generator)
        self._indices = iter(feed.batch_sampler)
        self._order = call(ahead.begin, self._indices, feed, lambda most: names_of(feed.paths, most))
        self._batches = deque()  # the begun batches, in order
        self._idle = []  # Files of batches that were handed out
        self._pool = _core.feed_thread_pool(feed.threads, processors())
        self._pass = None  # until the program asks for a batch
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
        if self._pool is None:
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
        """Returns the next batch when it is made, or None behind the last one."""
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
            _core.count(_core.FETCH_NS, monotonic_ns() - began)
            batch.files.let_go()
            self._idle.append(batch.files)

    def _is_ready(self):
        """Begins all work that can begin. Returns true if the first batch is made; else waits a while."""
        ends = self._pool.ends()
        self._read_ahead()
        all_planned = self._plan_ahead()
        first = self._batches[0] if self._batches else None
        if first is None or (first.is_planned and first.files.are_done()):
            return first is not None
        (first.files if all_planned else self._pool).wait(ends)
        return False

    def _read_ahead(self):
        """Reads one batch further than batches are planned."""
        while self._indices is not None and len(self._batches) < self._feed.prefetch + 2:
            indices = next(self._indices, None)
            if indices is None:
                self._indices = None
                return
            if self._order is not None:
                ahead.follow(self._order, indices, len(self._batches))
            files = self._idle.pop() if self._idle else self._pool.files()
            self._batches.append(Batch(self._feed, files, indices))

    def _plan_ahead(self):
        """Plans batches. Returns true if all that may be planned now are planned."""
        for batch in list(self._batches)[:self._feed.prefetch + 1]:
            if not batch.is_planned:
                if not batch.files.are_done():
                    return False
                began = monotonic_ns()
                batch.plan(self._rng)
                _core.count(_core.FETCH_NS, monotonic_ns() - began)
        return True

    def close(self):
        """Ends the pass, and drops batches that were read ahead. It may be called again."""
        if self._process != os.getpid():
            self._turn = threading.Lock()  # the thread that held it is not in this process
        if not self._turn.acquire(blocking=False):
            raise RuntimeError("another thread, or a signal's handler, waits for a batch")
        try:
            self._end()
        finally:
            self._turn.release()

    def _end(self):
        pool, self._pool, self._indices, self._order = self._pool, None, None, None
        if pool is not None:
            pool.close()
        self._batches.clear()
        self._idle.clear()
