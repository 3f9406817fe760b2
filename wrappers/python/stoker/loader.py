"""Batches of a DataLoader as normalised tensors on a GPU, or here.

    loader = stoker.Loader(dataloader, mean=MEAN, std=STD)
    for images, labels in loader: ...
"""

from __future__ import annotations

import collections
import os
from typing import TYPE_CHECKING

from ._base.numbers import whole_number
from ._gpu import cuda
from ._gpu.device import of as open_device
from ._gpu.device_sink import DeviceSink
from ._gpu.host_sink import HostSink
from ._gpu.images import NCHW, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Literal

    import torch

    _Layout = Literal["NCHW", "NHWC"]
    _Values = float | Sequence[float] | None
    _Name = int | str

__all__ = ["Loader"]

UNDER_WAY = 4  # batches whose copies a device has begun: gpu/gpu.h


class Loader:
    """Gives the batches of a torch DataLoader, or of another iterable of batches, in its order: on a device or on the
    processor, with images of bytes made normalised numbers.

    `source` has the batches; `loader.sampler`, `loader.batch_size` and all further attributes are the source's. A
    source may also be a list of paths: then threads of this process decode the files, by the further arguments of
    stoker.Loader(paths, labels, transform=, batch_size=, ...).

    `device` is a GPU ("cuda", "cuda:1", a number, a torch.device); if it cannot be used, NoDevice gives the reason.
    "cpu" is the processor. None is the GPU that torch would use, or the processor if no GPU works. The numbers are the
    same to the last bit: (byte / 255 - mean) / std, as by torchvision's ToTensor and Normalize, in float32, or rounded
    once more to `dtype` (torch.float16, torch.bfloat16).

    Images are tensors of four dimensions. Their channels are the second or the last dimension, as many as `mean` and
    `std` have values (1 or 3 if they have one value). Images are of uint8; with a mean or a std floats are images as
    well, which torch normalises. If both dimensions could be the channels, it is an error, and `input_layout` ("NCHW",
    "NHWC") chooses one. If further tensors look like images, `images` names the images, by their keys, indices or
    fields in the batch. The results are count x channels x height x width, in the memory format channels_last if
    `layout` is "NHWC". With a mean, a std or `images`, a batch without images is a ValueError if one of its tensors
    looks as if it were meant.

    All other tensors are moved unchanged; strings, numbers, None and objects without a to() stay. Dicts, lists, deques,
    tuples and named tuples keep their types.

    `prefetch` batches are on their way to a GPU before the program asks for them; none if the DataLoader has no
    workers, and none on the processor. A slot (docs/batches.md) is locked for the GPU when a batch first lies in it,
    and so is the memory of decoded files. If it may not be locked, that is a MemoryError; pin=False locks nothing."""

    def __init__(self, source: Iterable[Any], labels: Any = None, *, device: torch.device | str | int | None = None,
                 mean: _Values = None, std: _Values = None, dtype: torch.dtype | None = None, layout: _Layout = NCHW,
                 input_layout: _Layout | None = None, images: _Name | Sequence[_Name] | None = None,
                 prefetch: int = 2, pin: bool = True, **further: Any) -> None:
        """Raises NoDevice for a GPU that cannot be used, RuntimeError if CUDA was begun in the process that has forked
        this one, and ValueError or TypeError if the arguments do not fit together."""
        prefetch = whole_number("prefetch", prefetch, 0)
        recipe = Recipe(mean, std, dtype, layout, input_layout, _names(images))
        self.source: Any = _source(source, labels, further)
        index = cuda.find(device)
        self._sink = HostSink(recipe) if index is None else _device_sink(index, recipe, pin)
        self.device: torch.device = self._sink.device
        # Without workers the data set and the program draw from the same generators, in the order of their calls.
        waits = index is None or getattr(self.source, "num_workers", None) == 0
        self.prefetch: int = 0 if waits else prefetch
        if self.source is not source and index is not None and pin:  # a Feed of this loader's own
            self.source.share(self.prefetch + UNDER_WAY)

    def __iter__(self) -> Iterator[Any]:
        """Begins a pass, for one thread. Several passes may run at the same time if the source allows it. An exception
        of the source comes at its batch; another pass may follow, and the next batch if the source goes on. Raises
        MemoryError if slots cannot be locked, or the device has no memory left. Raises RuntimeError if the driver has
        failed; another Loader opens it anew."""
        self._sink.let_go()
        kind = _Batches if type(self._sink) is HostSink else _Sending
        return kind(iter(self.source), self._sink, self.prefetch)

    def __len__(self) -> int:
        return len(self.source)

    def __getattr__(self, name: str) -> Any:
        if name == "source":  # before there is one
            raise AttributeError(name)
        return getattr(self.source, name)


class _Failed:
    __slots__ = ("error",)

    def __init__(self, error):
        self.error = error


class _Batches:
    """One pass. An error of a batch is raised at that batch's turn."""

    def __init__(self, batches, sink, prefetch):
        self._batches = batches
        self._sink = sink
        self._prefetch = prefetch
        self._begun = collections.deque()
        self._owner = os.getpid()

    def __iter__(self):
        return self

    def __next__(self):
        while self._batches is not None and len(self._begun) <= self._prefetch and self._is_well():
            self._fetch()
        if not self._begun:
            self._finish()
            raise StopIteration
        begun = self._begun.popleft()
        if isinstance(begun, _Failed):
            try:
                raise begun.error
            finally:
                begun = None  # or it would be its own traceback's
        return self._sink.give(begun)

    def _is_well(self):
        return not self._begun or not isinstance(self._begun[-1], _Failed)

    def _fetch(self):
        try:
            self._begun.append(self._sink.begin(next(self._batches)))
        except StopIteration:
            self._batches = None
        except Exception as error:
            self._begun.append(_Failed(error))

    def _finish(self):
        if self._owner == os.getpid():
            self._sink.finish()


class _Sending(_Batches):
    """A pass to a device, which may have batches under way when the program drops it."""

    def __next__(self):
        if self._owner != os.getpid():  # it would wait for a batch that workers give to its parent
            self._sink.let_go()  # raises the reason
        return super().__next__()

    def __del__(self):  # an interrupt in here would be lost, so passes without a device have no __del__
        self._begun.clear()
        self._batches = None
        try:
            self._finish()
        except Exception:  # the program has dropped the pass
            pass


def _names(images):
    if images is None:
        return None
    return frozenset(images if isinstance(images, (list, tuple, set, frozenset)) else [images])


def _device_sink(index, recipe, pin):
    return DeviceSink(open_device(index), cuda.Place(index), recipe, pin)


def _source(source, labels, further):
    if _are_paths(source):
        from ._feed import Feed
        return Feed(source, labels, **further)
    wrong = ["labels"] * (labels is not None) + list(further)
    if wrong:
        if _is_sequence(source) and len(source) == 0:
            raise ValueError("there are no images: the list of paths is empty")
        raise TypeError("only with a list of paths, stoker.Loader(paths, labels, transform=...): "
                        f"{', '.join(wrong)}")
    return source


def _is_sequence(source):
    return (not isinstance(source, (str, bytes, dict))
            and hasattr(source, "__getitem__") and hasattr(source, "__len__"))


def _are_paths(source):
    """Returns true for a sequence of paths. An empty sequence is none."""
    return _is_sequence(source) and len(source) > 0 and isinstance(source[0], (str, bytes, os.PathLike))
