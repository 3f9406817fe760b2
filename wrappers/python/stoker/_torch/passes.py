"""Counts the passes over DataLoaders and Feeds, for the run's summary: the time of each pass, the time for which its
consumer waited, and the time for which processes made batches.

A pass is an iterator that gave three batches, or came to its end: a program that only looks at a batch makes no pass.
Each sampler is a loader of its own. A loader that is made anew over the same data set, after the former one has ended,
continues its passes.
"""

import collections
import functools
import sys
import weakref
from time import monotonic_ns

import torch

from .. import _core
from .._base.own import attempt
from . import samplers

_LOOKED_AT = 2  # as many batches are no pass yet

_loaders = []
_seen = set()  # the libraries that this process has counted


def install(iterator, module):
    _replace_index(iterator)
    _replace_next(iterator)
    for kind in module._MapDatasetFetcher, module._IterableDatasetFetcher:
        _replace_fetch(kind)


def timed_collate(plain):
    @functools.wraps(plain)
    def collate_tensors(batch, *, collate_fn_map=None):
        began = monotonic_ns()
        try:
            return plain(batch, collate_fn_map=collate_fn_map)
        finally:
            attempt(_core.count, _core.COLLATE_NS, monotonic_ns() - began)

    return collate_tensors


def _replace_fetch(kind):
    plain = kind.fetch

    @functools.wraps(plain)
    def fetch(self, indices):
        began = monotonic_ns()
        try:
            return plain(self, indices)
        finally:
            attempt(_count_fetch, monotonic_ns() - began)

    kind.fetch = fetch


def _count_fetch(took):
    _core.count(_core.FETCH_NS, took)
    if "cv2" not in _seen and "cv2" in sys.modules:
        _seen.add("cv2")
        _core.count(_core.OPENCV)


def _replace_index(kind):
    """Replaces _next_index(), to note the number of samples in each batch, in the order of the batches."""
    plain, reset = kind._next_index, kind._reset

    @functools.wraps(plain)
    def _next_index(self):
        index = plain(self)
        attempt(_append_size, self, index)
        return index

    @functools.wraps(reset)
    def _reset(self, *arguments, **named):
        self.__dict__.pop("_stoker_sizes", None)
        return reset(self, *arguments, **named)

    kind._next_index, kind._reset = _next_index, _reset


def _append_size(iterator, index):
    """`index`: the indices of a batch, or with batch_size=None what a sampler gives: one, or a list of them. None if the
    data set makes the batches."""
    size = 1 if index is not None else None
    if iterator._auto_collation or type(index) in (list, tuple):
        try:
            size = len(index)
        except Exception:  # torch only iterates over them
            pass
    iterator.__dict__.setdefault("_stoker_sizes", collections.deque()).append(size)


def _replace_next(kind):
    plain = kind.__next__

    @functools.wraps(plain)
    def __next__(self):
        began = monotonic_ns()
        current = _pass_of(self, began)
        try:
            batch = plain(self)
        except StopIteration:
            if current is not None:
                attempt(current.end, began)
                self._stoker_pass = None
            raise
        if current is not None:
            attempt(_step, self, current, batch, began)
        return batch

    kind.__next__ = __next__


def _step(iterator, current, batch, began):
    sizes = getattr(iterator, "_stoker_sizes", None)
    size = sizes.popleft() if sizes else 1
    current.step(_rows(batch) if size is None else size, batch, began, monotonic_ns())


def _pass_of(iterator, now):
    """Returns the iterator's Pass, or None if it is not counted, as in a worker."""
    try:
        if iterator._num_yielded == 0:  # new, or reset: workers that stay have one iterator
            iterator._stoker_pass = _begun(iterator, now)
        return getattr(iterator, "_stoker_pass", None)
    except Exception:
        return None


def _begun(iterator, now):
    begun = Pass.begin(iterator._index_sampler, iterator._dataset, iterator._num_workers, now)
    if begun is not None:
        own_length = begun.expected > 0 or samplers.has_length(iterator._index_sampler)
        begun.expected = begun.expected or (0 if own_length else _epoch_of(iterator))
        begun.anew = iterator._num_workers > 0 and not getattr(iterator, "_persistent_workers", True)
        begun.may_be_cut = iterator._dataset_kind != 0  # torch's _DatasetKind.Map
        begun.goes_on = begun.expected > 0 and (not own_length or _is_plain(iterator._index_sampler))
    return begun


def _is_plain(sampler):
    return type(sampler) is torch.utils.data.BatchSampler


def _epoch_of(iterator):
    """Returns the number of batches in an epoch of an endless sampler: those of the sampler that it repeats, or the
    batches of the data set, shared among ranks. 0: unknown."""
    sampler, dataset = iterator._index_sampler, iterator._dataset
    try:
        if not _is_plain(sampler):
            return samplers.length_of(vars(sampler).get("sampler"))
        if iterator._dataset_kind != 0:
            return 0
        together = torch.distributed
        ranks = together.get_world_size() if together.is_available() and together.is_initialized() else 1
        return len(dataset) // ranks // sampler.batch_size
    except Exception:
        return 0


class _Loader:
    """One loader, with the number of its passes."""

    def __init__(self, number):
        self.number, self.passes = number, 0

    def take(self, sampler, dataset):
        self.sampler, self.dataset = weakref.ref(sampler), id(dataset)
        return self


def _loader_of(sampler, dataset):
    for loader in _loaders:
        if loader.sampler() is sampler:
            return loader
    for loader in _loaders:
        if loader.sampler() is None and loader.dataset == id(dataset):
            return loader.take(sampler, dataset)
    _loaders.append(_Loader(len(_loaders)).take(sampler, dataset))
    return _loaders[-1]


class Pass:
    """One pass over the batches of `sampler`, by so many workers or threads."""

    anew = False  # true if each pass starts its workers
    may_be_cut = False  # true if a batch may have fewer samples than it was asked for
    goes_on = False  # true if the iterator may give further epochs, of as many batches each

    @classmethod
    def begin(cls, sampler, dataset, workers, now):
        """Returns a Pass, or None in a worker: the process that takes its batches counts."""
        return cls(sampler, dataset, workers, now) if torch.utils.data.get_worker_info() is None else None

    def __init__(self, sampler, dataset, workers, now):
        self.loader, self.number = _loader_of(sampler, dataset), None
        self.begun = self.last = now
        self.samples = self.batches = self.waited = 0  # not counted yet
        self.given = self.first = 0
        self.workers = workers
        self.expected = samplers.length_of(sampler)

    def step(self, size, batch, began, now):
        if self.begun == 0:
            self.begun = self.last = began
        self.given += 1
        self.first = self.first or now - began
        self.batches += 1
        self.samples += min(size, _length(batch)) if self.may_be_cut else size
        self.waited += now - began
        if self.given > _LOOKED_AT:
            self._tell(now)
        if self.goes_on and self.given == self.expected:
            self._turn(now)

    def _turn(self, now):
        """Ends the epoch. The next one begins when its first batch is asked for."""
        self.end(now)
        self.number, self.anew = None, False
        self.begun = self.given = self.first = 0

    def end(self, now):
        if self.given > 0:
            self._tell(now)

    def _tell(self, now):
        if self.number is None:
            self.number = self.loader.passes
            self.loader.passes += 1
            if self.number > 0 and self.anew:
                _core.count(_core.START_NS, self.first)
            _core.begin_pass(self.loader.number, self.number, self.begun, self.expected, self.workers)
        _core.add_pass(self.loader.number, self.number, now, now - self.last, self.waited, self.samples,
                       self.batches)
        if "cuda" not in _seen and torch.cuda.is_initialized():
            _seen.add("cuda")
            _core.count(_core.CUDA)
        self.last = now
        self.samples = self.batches = self.waited = 0


def _rows(batch):
    """Returns the number of samples in what a data set gives without a batch size: a batch has tensors, and each of
    its members has as many rows. All else is one sample. Calls no method of a class of the program's."""
    if type(batch) in (list, tuple):
        members = batch
    elif type(batch) is dict:
        members = batch.values()
    else:
        return 1
    shapes = {len(member) if type(member) is list else member.shape[0] if _has_rows(member) else 0 for member in members}
    return shapes.pop() if len(members) > 1 and len(shapes) == 1 and any(map(_has_rows, members)) else 1


def _has_rows(member):
    return type(member) is torch.Tensor and member.dim() > 0


def _length(batch):
    """Returns the length of a batch that may end early: that of its first tensor. Calls no method of a class of the
    program's."""
    for _ in range(4):
        if type(batch) is torch.Tensor:
            return batch.shape[0] if batch.dim() else 1
        if isinstance(batch, dict):
            batch = next(iter(dict.values(batch)), None)
        elif isinstance(batch, list):
            batch = next(list.__iter__(batch), None)
        elif isinstance(batch, tuple):
            batch = next(tuple.__iter__(batch), None)
        else:
            break
    return sys.maxsize
