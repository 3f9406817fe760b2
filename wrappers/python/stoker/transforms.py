"""torchvision's pipelines in one call: from a file's bytes to a normalised tensor.

    from stoker import transforms
    transform = transforms.RandomResizedCropFlip(224)           # as it is most often written
    transform = transforms.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(),
                                    T.ToTensor(), T.Normalize(mean, std)])      # or one's own

The tensors are bit for bit those of torchvision's own Compose, and torch's generator gives the same
numbers and is left the same. Each call finds the transforms that can be fused: those of exactly torchvision's
classes, v1 and v2. Any other transform is called as it is, with an image of Pillow's.

A pipeline takes the path of a file, a file's bytes, an image of Pillow's, or an array of bytes
(height x width x 3, or height x width). A path or bytes stand for Image.open(...).convert("RGB"),
an array for Image.fromarray(array).
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import PIL.JpegImagePlugin  # noqa: F401  (before ours: see _torchvision/replaced.py)
import torchvision.transforms  # noqa: F401
from PIL import Image

from ._pillow import take
from ._pillow.plan import Plan
from ._store import sources
from ._pipeline import lazy_images, pipeline, tensor_tail
from ._pipeline.exact import T

__all__ = ["CIFAR10_MEAN", "CIFAR10_STD", "Compose", "IMAGENET_MEAN", "IMAGENET_STD",
           "PadRandomCropFlip", "RandomResizedCropFlip", "ResizeCenterCrop", "ResizeRandomCropFlip"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    import numpy
    from torchvision.transforms import InterpolationMode as _Mode

    _Source = str | os.PathLike[str] | bytes | bytearray | memoryview | Image.Image | numpy.ndarray[Any, Any]
    _Size = int | Sequence[int]
    _Values = Sequence[float] | None
    _Fill = int | tuple[int, int, int]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
CIFAR10_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR10_STD = (0.2470, 0.2435, 0.2616)


class Compose:
    """Transforms one after the other, with as many of them as possible done at once."""

    def __init__(self, transforms: Iterable[Callable[[Any], Any]] | Any) -> None:
        """transforms: a list of callables, or a Compose of torchvision's."""
        self.transforms: list[Callable[[Any], Any]] = list(getattr(transforms, "transforms", transforms))

    def __call__(self, image: _Source) -> Any:
        """Returns a tensor, where the transforms make one, else an image of Pillow's."""
        image = _opened(image)
        lazy = _lazy_of(image) if lazy_images.is_float32() else None
        tensor_tail.know_v2()
        return pipeline.run(self.transforms, image if lazy is None else lazy)

    def __repr__(self):
        lines = "".join(f"\n    {transform}" for transform in self.transforms)
        return f"{type(self).__name__}({lines}\n)"


def _opened(source):
    """Returns a lazy image of a path or of bytes, or an image of Pillow's. Returns any other value unchanged."""
    if isinstance(source, (str, os.PathLike)):
        source = sources.of_path(source)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        source = sources.Bytes(bytes(source))
    else:
        return source
    size = take.jpeg_size(source)
    if size is not None:
        return lazy_images.LazyImage(Plan.whole(source, size))
    return Image.open(io.BytesIO(source.read())).convert("RGB")


def _lazy_of(image):
    if type(image) is lazy_images.LazyImage:
        return image
    return lazy_images.of_image(image) or lazy_images.of_array(image)


# ---- pipelines as they are most often written ----

def _end_of(mean, std):
    return [T.ToTensor()] + ([] if mean is None else [T.Normalize(mean, std)])


class RandomResizedCropFlip(Compose):
    """RandomResizedCrop, RandomHorizontalFlip, ToTensor, Normalize (mean=None: without)."""

    def __init__(self, size: _Size = 224, scale: Sequence[float] = (0.08, 1.0),
                 ratio: Sequence[float] = (3 / 4, 4 / 3), interpolation: _Mode = T.InterpolationMode.BILINEAR,
                 flip: float = 0.5, mean: _Values = IMAGENET_MEAN, std: _Values = IMAGENET_STD) -> None:
        super().__init__([T.RandomResizedCrop(size, scale, ratio, interpolation),
                          T.RandomHorizontalFlip(flip)] + _end_of(mean, std))


class ResizeCenterCrop(Compose):
    """Resize, CenterCrop, ToTensor, Normalize (mean=None: without)."""

    def __init__(self, resize: _Size = 256, size: _Size = 224, interpolation: _Mode = T.InterpolationMode.BILINEAR,
                 mean: _Values = IMAGENET_MEAN, std: _Values = IMAGENET_STD) -> None:
        super().__init__([T.Resize(resize, interpolation), T.CenterCrop(size)] + _end_of(mean, std))


class ResizeRandomCropFlip(Compose):
    """Resize, RandomCrop, RandomHorizontalFlip, ToTensor, Normalize (mean=None: without)."""

    def __init__(self, resize: _Size = (256, 256), size: _Size = 224,
                 interpolation: _Mode = T.InterpolationMode.BILINEAR, flip: float = 0.5,
                 mean: _Values = IMAGENET_MEAN, std: _Values = IMAGENET_STD) -> None:
        super().__init__([T.Resize(resize, interpolation), T.RandomCrop(size),
                          T.RandomHorizontalFlip(flip)] + _end_of(mean, std))


class PadRandomCropFlip(Compose):
    """RandomCrop of the padded image, RandomHorizontalFlip, ToTensor, Normalize (mean=None:
    without)."""

    def __init__(self, size: _Size = 32, padding: _Size = 4, fill: _Fill = 0, flip: float = 0.5,
                 mean: _Values = CIFAR10_MEAN, std: _Values = CIFAR10_STD) -> None:
        super().__init__([T.RandomCrop(size, padding, fill=fill), T.RandomHorizontalFlip(flip)]
                         + _end_of(mean, std))
