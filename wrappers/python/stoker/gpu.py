"""Normalised batches out of bytes, on an NVIDIA GPU or on the processor, with the same results.

    from stoker import gpu
    images = torch.from_numpy(data).cuda()          # all of it: N x 32 x 32 x 3 bytes
    batch = gpu.augment(images, indices, mean=CIFAR10_MEAN, std=CIFAR10_STD, padding=4, flip=True)

One pass over the bytes pads, crops, flips and normalises (docs/gpu.md). On the processor it is what
torchvision's functions make of the same crops and flips, to the last bit.
"""

from __future__ import annotations

import concurrent.futures
from typing import TYPE_CHECKING

import torch

from . import _gpu_core
from ._gpu import device
from ._gpu.images import bytes_of, each, image_table, type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NoDevice", "augment"]

NoDevice: type[RuntimeError] = device.NoDevice


def _draw(count, spare, padding, flip, generator):
    """Draws the windows: three draws for the whole batch, each only if it is wanted. `spare` has the pixels by which an
    image is wider and higher than a window."""
    zeros = torch.zeros(count, dtype=torch.int32, device="cpu")
    if padding == 0:
        left = top = zeros
    else:
        left, top = (_places(count, -padding, pixels + padding, generator) for pixels in spare)
    flips = (torch.rand(count, generator=generator, device="cpu") < 0.5).int() if flip else zeros
    return left, top, flips


def _places(count, first, last, generator):
    """Draws the edges of windows. A window that is larger than the padded image lies around it anywhere."""
    first, last = sorted((first, last))
    return torch.randint(first, last + 1, (count,), generator=generator, dtype=torch.int32, device="cpu")


def _image_table(images, indices, left, top, flips):
    """Returns the kernel's table of images, a `struct stk_gpu_image` for each."""
    _, height, width, channels = images.shape
    made = image_table(images.data_ptr() + indices * (height * width * channels), width, height,
                       width * channels)
    made[:, 5], made[:, 6], made[:, 7] = left, top, flips
    return made


def _check(images, indices):
    if images.dtype != torch.uint8 or images.dim() != 4 or not images.is_contiguous():
        raise ValueError("images are contiguous bytes: count x height x width x channels")
    is_whole = not indices.is_floating_point() and indices.dtype is not torch.bool
    if indices.dim() != 1 or len(indices) == 0 or not is_whole:
        raise ValueError("indices are some whole numbers in a row; of a mask, mask.nonzero().flatten()")
    if indices.min() < 0 or indices.max() >= len(images):
        raise IndexError("there is no image of that number")


def _run(batch, count, threads):
    if threads <= 1:
        _gpu_core.run(batch, 0, count)
        return
    bounds = [count * i // threads for i in range(threads + 1)]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda i: _gpu_core.run(batch, bounds[i], bounds[i + 1]), range(threads)))


def augment(images: torch.Tensor, indices: torch.Tensor | Sequence[int] | None = None, *,
            mean: float | Sequence[float], std: float | Sequence[float], padding: int = 0, flip: bool = False,
            fill: int | Sequence[int] = 0, size: tuple[int, int] | None = None, dtype: torch.dtype = torch.float32,
            channels_last: bool = False, generator: torch.Generator | None = None, threads: int = 1) -> torch.Tensor:
    """Returns a batch of normalised images: (byte / 255 - mean) / std.

    `images` are all there are, as bytes, count x height x width x channels, on a GPU or not; `indices`
    are those that are wanted (None: all of them). With `padding` each is padded by so many pixels of
    the value `fill`, and cropped to its size again at a place by chance; with `flip` half of them are
    mirrored. `size` is (height, width) of the crop if it is another than the image's; without padding
    it lies in the upper left corner. Chance is torch's `generator`: for the whole batch first all left
    edges, then all upper ones, then flips.
    The result is count x channels x height x width where the images are, in the memory format
    channels_last if that is wanted. On the processor `threads` share the work."""
    if padding < 0:
        raise ValueError("padding is a number of pixels, from 0 upwards")
    indices = (torch.arange(len(images), device="cpu") if indices is None
               else torch.as_tensor(indices, device="cpu"))
    _check(images, indices)
    indices = indices.long()
    channels, (height, width) = images.shape[3], size or images.shape[1:3]
    plan = _gpu_core.plan(type_of(dtype), int(channels_last), channels, width, height,
                          each(mean, channels), each(std, channels), each(fill, channels))
    spare = images.shape[2] - width, images.shape[1] - height
    wanted = _image_table(images, indices, *_draw(len(indices), spare, padding, flip, generator))
    shape = (height, width, channels) if channels_last else (channels, height, width)
    out = torch.empty((len(indices), *shape), dtype=dtype, device=images.device)
    batch = (plan, bytes_of(wanted), images.data_ptr(), images.numel(),
             out.data_ptr(), out.numel() * out.element_size())
    if images.is_cuda:
        stream = torch.cuda.current_stream(images.device).cuda_stream
        opened = device.of(images.device.index)
        opened.follow(opened.resident(batch, stream), stream)
    else:
        _run(batch, len(indices), threads)
    return out.permute(0, 3, 1, 2) if channels_last else out
