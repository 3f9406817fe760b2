"""Batches of images without worker processes: threads of C read and decode them, in this process.

    feed = Feed(paths, labels, transform=transforms.RandomResizedCropFlip(224), batch_size=64,
                shuffle=True)
    for images, labels in feed: ...

docs/feed.md says what is promised.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torchvision.transforms
from torch import Generator
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

from . import _core, transforms
from ._base.numbers import whole_number
from ._base.processors import processors
from ._feeding.epoch import Epoch
from ._feeding.memory import FileMemory
from ._pipeline import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    _Path = str | bytes | os.PathLike[str]

__all__ = ["Feed"]


def _transforms_of(transform):
    """Returns the callables that are called one after the other."""
    if transform is None:
        return []
    composes = [torchvision.transforms.Compose, getattr(exact.v2(), "Compose", None)]
    is_plain = type(transform) in composes or (
        isinstance(transform, transforms.Compose)
        and type(transform).__call__ is transforms.Compose.__call__)
    return transform.transforms if is_plain else [transform]


def _sampler(count, shuffle, generator):
    every = range(count)
    return RandomSampler(every, generator=generator) if shuffle else SequentialSampler(every)


def _sequence(name, values):
    """Returns the values as a sequence. Raises TypeError if they are a single value or a mapping."""
    if isinstance(values, (str, bytes, os.PathLike, Mapping)):
        raise TypeError(f"{name} is a sequence, one for each image, and no {type(values).__name__}")
    return values if hasattr(values, "__getitem__") else list(values)


def _generator(given):
    """Returns a torch.Generator, or None for torch's default one. Raises TypeError for other types."""
    if given is None or isinstance(given, Generator):
        return given
    try:
        return Generator().manual_seed(operator.index(given))
    except TypeError:
        raise TypeError("generator is a torch.Generator, a whole number to seed one with, or None, and no "
                        f"{type(given).__name__}") from None


class Feed:
    """Gives the same batches as torch's DataLoader with num_workers=1: each file is opened by Pillow, converted to RGB,
    transformed, and collated."""

    def __init__(self, paths: Sequence[_Path] | Iterable[_Path], labels: Sequence[Any] | None = None, *,
                 transform: Callable[[Any], Any] | None = None, batch_size: int = 1, shuffle: bool = False,
                 generator: Generator | int | None = None, threads: int | None = None, drop_last: bool = False,
                 prefetch: int = 2) -> None:
        """paths      of the images
        labels     one for each; None: there are none, and None is given in their place
        transform  of stoker.transforms, of torchvision, or any callable: from an image to a tensor, or to
                   an image, whose bytes the batch then has (height x width x 3)
        generator  as DataLoader's, or a number to seed one with
        threads    that read and decode; None: as many as there are processors
        prefetch   how many batches are made ahead

        Raises ValueError for labels that are not one for each path, and for a prefetch below 0.
        """
        self.paths: Sequence[_Path] = _sequence("paths", paths)
        self.labels: Sequence[Any] | None = None if labels is None else _sequence("labels", labels)
        if labels is not None and len(labels) != len(self.paths):
            raise ValueError(f"{len(labels)} labels for {len(self.paths)} paths")
        if not all(map(callable, _transforms_of(transform))):
            raise TypeError(f"transform is {transform!r}, which cannot be called")
        self.transform = transform
        self.generator: Generator | None = _generator(generator)
        self.threads: int = processors() if threads is None else whole_number("threads", threads, 1)
        self.prefetch: int = whole_number("prefetch", prefetch, 0)
        self.batch_sampler = BatchSampler(_sampler(len(self.paths), shuffle, self.generator),
                                          batch_size, drop_last)
        self.buffer_pool = _core.feed_buffer_pool(self.prefetch + 2, False)
        self.files = FileMemory(self.prefetch + 2)

    def share(self, ahead):
        """Makes batches lie in memory that a device may lock, of which `ahead` further ones are held. Called before the
        first pass. Children of a fork see writes to this memory."""
        self.buffer_pool = _core.feed_buffer_pool(self.prefetch + 2 + ahead, True)

    @property
    def transforms(self):
        """Returns the callables for each image, as they are now."""
        return _transforms_of(self.transform)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Yields (images, labels): default_collate's results for the transform's values and for the labels, or None.
        The iterator has close(). It raises a batch's error at that batch, and goes on. Raises RuntimeError in a child
        of fork."""
        return Epoch(self)

    def __len__(self) -> int:
        return len(self.batch_sampler)
