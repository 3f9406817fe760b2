"""Rows in place: the end of a pipeline writes its output to the place where the batch will lie, so nothing is left to
collate.

One batch shows which outputs become rows. A worker's pipeline asks for memory the same number of times for each sample,
and default_collate stacks one of these outputs (or several, or none). From the next batch on, memory for these
outputs comes from a slot.

A batch that lies over its rows must differ from a copy in nothing. Only one call of default_collate may return
such a batch: the last thing that torch's own fetcher does for a batch, and only while torch alone collates
(known.py). A data set that collates gets a copy. Each row ends by itself. If a row has not ended when the
fetcher returns, as in a data set that keeps its tensors, the batch becomes a copy. The rows stay their holder's.

PILToTensor and v2's transforms give pixels as they lie in an image: red, green and blue of a pixel side by side. A batch
has planes. Rows of such pixels get a slot as well, so that their memory is used again, and the batch is made of them
in another slot (collate.py).
"""

import contextlib
import os
from _thread import get_ident
from collections import namedtuple

import torch

from .. import _core
from .._base.own import attempt
from . import known, lend
from .tensors import contiguous, over, pixel_strides, storage_of, tensor_of

_LINE = 64  # the alignment of torch's own memory, and of rows
_TRIES = 8  # batches that showed no plan, or differed from it
_KEPT = 2  # batches whose rows the program held: each such row holds the whole slot

_fetching = None  # the batch that is being made
_plan = None
_tries = _kept = 0


def empty(shape, dtype, strides=None):
    """Returns a tensor that may become a row of the current batch; None if it cannot. `strides`: those of pixels, or None
    for a contiguous one."""
    batch = _fetching
    if batch is None or batch.thread != get_ident():
        return None
    return batch.at(batch.reserve(1), shape, dtype, strides)


def _array(tensor):
    return None if tensor is None else tensor.numpy()


def _dtype(is_float):
    return torch.float32 if is_float else torch.uint8


def array(shape, is_float):
    """Returns the tensor of empty() as an array of floats or bytes, or None."""
    return _array(empty(shape, _dtype(is_float)))


def reserve(count):
    """Reserves rows for threads that work for this one: reserve(count)(i) is array() for the i-th of `count`."""
    batch = _fetching
    if batch is None or batch.thread != get_ident():
        return lambda i: array
    first = batch.reserve(count)
    return lambda i: lambda shape, is_float: _array(batch.at(first + i, shape, _dtype(is_float)))


@contextlib.contextmanager
def paused():
    """Gives no rows to work that a pipeline does once, and not for a sample."""
    global _fetching
    batch, _fetching = _fetching, None
    try:
        yield
    finally:
        _fetching = batch


# The outputs of each sample that are rows. `rows`: {place within the period: (shape, dtype, strides)}.
_Plan = namedtuple("_Plan", "period rows")


class _Stream:
    """A slot that gets the rows of a batch."""

    __slots__ = ("piece", "address", "shape", "dtype", "size", "strides", "is_batch", "used")

    def __init__(self, piece, shape, dtype, size, strides):
        self.piece = piece
        self.address = torch.frombuffer(piece, dtype=torch.uint8).data_ptr()
        self.shape, self.dtype, self.size, self.strides = shape, dtype, size, strides
        self.is_batch = strides != pixel_strides(shape)  # the rows lie as the batch does
        self.used = False

    def row(self, i):
        part = self.piece.part(i * self.size, self.size)
        return torch.frombuffer(part, dtype=self.dtype).as_strided_(self.shape, self.strides)

    def batch(self, count):
        """Returns the batch over the rows, or None if it is made of them."""
        self.used = True
        if not self.is_batch:
            return None
        part = self.piece.part(0, count * self.size)
        shape = count, *self.shape
        return tensor_of(over(part), self.dtype, 0, shape, contiguous(shape))


class _Batch:
    """One batch in the making."""

    def __init__(self, count, default_collate):
        self.thread = get_ident()
        self.default_collate = default_collate
        self.is_last = False  # true while torch alone collates, the fetcher's last step
        self.count = count
        self.asked = 0
        self.seen = {}  # while there is no plan: {an output's address: (its number, shape, dtype, strides)}
        self.found = {}  # {first number of stacked outputs: (period, shape, dtype, strides)}
        self.streams = {}
        self.made = []  # (the number of rows, the batch over them or None, their stream)

    def reserve(self, count):
        first = self.asked
        self.asked += count
        if _plan is not None and first == 0:  # here, as several threads may fill them
            self.streams = {place: self._stream(*like) for place, like in _plan.rows.items()}
        return first

    def at(self, place, shape, dtype, strides=None):
        strides = strides or contiguous(shape)
        if _plan is None:
            tensor = torch.empty_strided(shape, strides, dtype=dtype, device="cpu")
            self.seen[tensor.data_ptr()] = place, shape, dtype, strides
            return tensor
        row, place = divmod(place, _plan.period)
        if row >= self.count or _plan.rows.get(place) != (shape, dtype, strides):
            return None
        stream = self.streams.get(place)
        return stream and stream.row(row)

    def _stream(self, shape, dtype, strides):
        like = torch.empty((), dtype=dtype, device="cpu").expand(shape)
        size = like.numel() * like.element_size()
        piece = _core.ring_take(size * self.count)
        return piece and _Stream(piece, shape, dtype, size, strides)

    # ---- called by default_collate ----

    def collate(self, samples):
        """Makes the batch, in the place of the fetcher's default_collate."""
        self.is_last = attempt(known.are_known, samples)
        try:
            return self.default_collate(samples)
        finally:
            self.is_last = False

    def collated(self, tensors):
        """Returns the batch of these equal-shaped tensors, if it lies over the rows of a slot; else None."""
        if not self.is_last:
            return None
        if _plan is None:
            self._note(tensors)
            return None
        first = tensors[0].data_ptr()
        for stream in self.streams.values():
            if stream and stream.address == first and not stream.used and self._lie(tensors, stream):
                made = stream.batch(len(tensors))
                self.made.append((len(tensors), made, stream))
                return made
        return None

    def _lie(self, tensors, stream):
        address = stream.address
        for tensor in tensors:
            if (tensor.data_ptr() != address or tensor.stride() != stream.strides
                    or tensor.shape != stream.shape or tensor.dtype is not stream.dtype):
                return False
            address += stream.size
        return True

    def _note(self, tensors):
        """Notes tensors that are outputs in regular distances: these become rows."""
        first = tensors[0]
        like = tuple(first.shape), first.dtype, first.stride()
        seen = [self.seen.get(tensor.data_ptr(), (-1, *like)) for tensor in tensors]
        if len(tensors) != self.count or not self._may_be_row(first) or any(
                each[1:] != like for each in seen):
            return
        places = [place for place, *_ in seen]
        period = places[1] - places[0] if self.count > 1 else self.asked
        if 0 <= places[0] < period and places == list(
                range(places[0], places[0] + period * self.count, period)):
            self.found[places[0]] = period, *like

    def _may_be_row(self, tensor):
        size = tensor.numel() * tensor.element_size()
        lies_so = tensor.is_contiguous() or tensor.stride() == pixel_strides(tensor.shape)
        return lies_so and size % _LINE == 0 and size * self.count > lend.SMALL

    # ---- the end ----

    def close(self):
        """Called when torch holds no sample any more. A batch with a held row becomes a copy."""
        ended = kept = 0
        for count, made, stream in self.made:
            others = attempt(stream.piece.others)
            if others is not None and others <= stream.is_batch:  # no more than the batch
                ended += count
                continue
            kept += 1
            if stream.is_batch:
                _copy(made)
        attempt(self._learn, ended, kept > 0)

    def _learn(self, ended, is_any_kept):
        global _plan, _tries, _kept
        _core.count(_core.ROWS, ended)
        _kept += is_any_kept
        if _plan is None:
            periods = {period for period, *_ in self.found.values()}
            if len(periods) == 1 and self.asked == self.count * min(periods):
                rows = {place: tuple(like) for place, (_, *like) in self.found.items()}
                _plan = _Plan(periods.pop(), rows)
            _tries += bool(self.asked)
        elif len(self.made) == len(_plan.rows):
            _tries = 0
        elif self.asked:
            _plan = None
            _tries += 1


def _copy(batch):
    """Makes the batch a copy, which shares its memory with no row."""
    with torch.inference_mode(batch.is_inference()):
        copy = attempt(lend.empty, batch.dtype, tuple(batch.shape), batch.numel() * batch.element_size())
        copy = batch.clone() if copy is None else copy.copy_(batch)
        batch.set_(storage_of(copy), 0, tuple(batch.shape), batch.stride())


# ---- torch's fetchers ----

def collated(tensors):
    batch = _fetching
    if batch is None or batch.thread != get_ident():
        return None
    return batch.collated(tensors)


def _new_batch(count, default_collate):
    """Returns a new _Batch, or None if no rows are wanted."""
    is_wanted = _fetching is None and _tries < _TRIES and _kept < _KEPT and lend.is_worker()
    return _Batch(count, default_collate) if is_wanted else None


def fetch(plain, fetcher, indices):
    """Returns the batch of these indices, by torch's own fetcher. After an error of rows, the batch is made without
    them."""
    global _fetching
    default_collate = fetcher.collate_fn
    batch = attempt(_new_batch, len(indices), default_collate)
    if batch is None:
        return plain(fetcher, indices)
    _fetching = batch
    fetcher.collate_fn = batch.collate
    try:
        fetched = plain(fetcher, indices)
    finally:
        fetcher.collate_fn = default_collate
        _fetching = None
    batch.close()
    return fetched


# ---- forks: a child makes no rows ----

def _make_none():
    global _fetching
    _fetching = None


def heed_forks():
    os.register_at_fork(after_in_child=_make_none)
