"""torchvision's pipelines in one call. See transforms.py."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy
import PIL.Image
from torchvision.transforms import InterpolationMode as _Mode

_Source = (str | os.PathLike[str] | bytes | bytearray | memoryview | PIL.Image.Image
           | numpy.ndarray[Any, Any])
_Size = int | Sequence[int]
_Values = Sequence[float] | None
_Fill = int | tuple[int, int, int]

IMAGENET_MEAN: tuple[float, float, float]
IMAGENET_STD: tuple[float, float, float]
CIFAR10_MEAN: tuple[float, float, float]
CIFAR10_STD: tuple[float, float, float]

class Compose:
    transforms: list[Callable[[Any], Any]]
    # Any: a Compose of torchvision's, v1 or v2.
    def __init__(self, transforms: Iterable[Callable[[Any], Any]] | Any) -> None: ...
    # A tensor, where the transforms make one, else an image of Pillow's.
    def __call__(self, image: _Source) -> Any: ...

class RandomResizedCropFlip(Compose):
    def __init__(self, size: _Size = ..., scale: Sequence[float] = ...,
                 ratio: Sequence[float] = ..., interpolation: _Mode = ..., flip: float = ...,
                 mean: _Values = ..., std: _Values = ...) -> None: ...

class ResizeCenterCrop(Compose):
    def __init__(self, resize: _Size = ..., size: _Size = ..., interpolation: _Mode = ...,
                 mean: _Values = ..., std: _Values = ...) -> None: ...

class ResizeRandomCropFlip(Compose):
    def __init__(self, resize: _Size = ..., size: _Size = ..., interpolation: _Mode = ...,
                 flip: float = ..., mean: _Values = ..., std: _Values = ...) -> None: ...

class PadRandomCropFlip(Compose):
    def __init__(self, size: _Size = ..., padding: _Size = ..., fill: _Fill = ...,
                 flip: float = ..., mean: _Values = ..., std: _Values = ...) -> None: ...
