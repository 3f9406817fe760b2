"""Batches of images without worker processes. See docs/feed.md."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

_Path = str | bytes | os.PathLike[str]

class Feed:
    paths: Sequence[_Path]
    labels: Sequence[Any] | None
    transform: Callable[[Any], Any] | None
    generator: torch.Generator | None
    threads: int
    prefetch: int
    encoded: bool
    # ValueError: labels that are not one for each path, a prefetch below 0.
    def __init__(self, paths: Sequence[_Path] | Iterable[_Path], labels: Sequence[Any] | None = ..., *,
                 transform: Callable[[Any], Any] | None = ..., batch_size: int = ...,
                 shuffle: bool = ..., generator: torch.Generator | int | None = ...,
                 threads: int | None = ..., drop_last: bool = ..., prefetch: int = ...,
                 encoded: bool = ...) -> None: ...
    # Of (images, labels): images are a tensor, or what default_collate makes of what the transform
    # returns; labels are what it makes of labels, or None. The iterator has close(). It raises at a
    # batch what went wrong with it, and goes on; RuntimeError in a child of fork.
    def __iter__(self) -> Iterator[tuple[Any, Any]]: ...
    def __len__(self) -> int: ...
