"""Does torch's default_collate of tensors, into a slot."""

import sys

import torch

from .. import _core
from . import lend, rows
from .tensors import is_plain, pixel_strides

PLAIN = {}  # torch's own function


def collate_tensors(batch, *, collate_fn_map=None):
    out = None
    try:
        if lend.is_worker():
            out = _collated(batch)
    except Exception:  # torch will say what is wrong with them
        pass
    return PLAIN["tensors"](batch, collate_fn_map=collate_fn_map) if out is None else out


def _collated(batch):
    """Returns the batch, or None if torch is to make it."""
    if type(batch[0]) is not torch.Tensor:
        batch = _plain(batch)
    first = batch[0]
    if not is_plain(first) or not all(_is_like(first, other) for other in batch):
        return None
    size = len(batch) * first.numel() * first.element_size()
    if size <= lend.SMALL:
        return torch.stack(batch, 0)
    lying = rows.collated(batch)
    if lying is not None:
        return lying
    out = lend.empty(first.dtype, (len(batch), *first.shape), size)
    if out is None:
        return None
    if _are_pixels(batch):
        return _split(batch, out, size // len(batch))
    return torch.stack(batch, 0, out=out)


def _are_pixels(batch):
    """Returns true if these tensors of one shape are images whose pixels' values lie side by side."""
    strides = pixel_strides(batch[0].shape)
    return strides is not None and batch[0].element_size() in (1, 4) and all(
        each.stride() == strides and is_plain(each) for each in batch)


def _split(batch, out, size):
    """Writes the planes of images to `out`, a batch. Torch takes four times as long for bytes, and one and a half times
    as long for floats."""
    to, number_bytes = out.data_ptr(), out.element_size()
    for i, image in enumerate(batch):
        _core.split(_core.memory_at(to + i * size, size), _core.memory_at(image.data_ptr(), size), number_bytes)
    return out


def _plain(batch):
    """Returns torchvision's images, masks and videos as the plain tensors that torch would make a batch of. Returns
    other samples unchanged."""
    module = sys.modules.get("torchvision.tv_tensors")
    kind = type(batch[0])
    if (module is None or kind not in (module.Image, module.Mask, module.Video)
            or any(type(each) is not kind for each in batch)
            or type(batch[0][:0]) is not torch.Tensor):  # set_return_type()
        return batch
    return [each.as_subclass(torch.Tensor) for each in batch]


def _is_like(first, other):
    return (type(other) is torch.Tensor and other.dtype is first.dtype
            and other.shape == first.shape and not other.requires_grad)
