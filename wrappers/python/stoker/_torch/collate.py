"""torch's default_collate of tensors, into a slot."""

import torch

from . import lend
from .tensors import is_plain

PLAIN = {}  # torch's own function


def collate_tensors(batch, *, collate_fn_map=None):
    out = _collated(batch) if lend.is_worker() else None
    return PLAIN["tensors"](batch, collate_fn_map=collate_fn_map) if out is None else out


def _collated(batch):
    """None where torch shall do it."""
    first = batch[0]
    if not is_plain(first) or not all(_is_like(first, other) for other in batch):
        return None
    size = len(batch) * first.numel() * first.element_size()
    if size <= lend.SMALL:
        return torch.stack(batch, 0)
    out = lend.empty(first.dtype, (len(batch), *first.shape), size)
    return None if out is None else torch.stack(batch, 0, out=out)


def _is_like(first, other):
    return (type(other) is torch.Tensor and other.dtype is first.dtype
            and other.shape == first.shape and not other.requires_grad)
