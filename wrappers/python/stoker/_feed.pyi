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
    # ValueError: labels that are not one for each path, a prefetch below 0.
    def __init__(self, paths: Sequence[_Path] | Iterable[_Path], labels: Sequence[Any] | None = ..., *,
                 transform: Callable[[Any], Any] | None = ..., batch_size: int = ...,
                 shuffle: bool = ..., generator: torch.Generator | int | None = ...,
                 threads: int | None = ..., drop_last: bool = ..., prefetch: int = ...) -> None: ...
    # Yields (images, labels): default_collate's results for the transform's values and for the labels; labels may be
    # None. The iterator has close(). It raises a batch's error at that batch, and goes on. Raises RuntimeError in a
    # child of fork.
    def __iter__(self) -> Iterator[tuple[Any, Any]]: ...
    def __len__(self) -> int: ...
