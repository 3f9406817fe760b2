"""torchvision's random choices: the same draws from torch's generator, in the same order, with less
around them."""

import math
import struct

import torch

_log_ratios = {}
_MOST = 64


def log_ratio(ratio):
    """torch.log of the ratio's two numbers."""
    key = (tuple(ratio), torch.get_default_dtype())
    found = _log_ratios.get(key)
    if found is None:
        if len(_log_ratios) >= _MOST:
            _log_ratios.clear()
        found = _log_ratios[key] = torch.log(torch.tensor(ratio)).tolist()
    return found


def below(limit):
    """A whole number from 0 to limit - 1."""
    return torch.randint(0, limit, size=(1,)).item()


def chance(p):
    """torch.rand(1) < p, which torch compares in single precision."""
    return torch.rand(1).item() < struct.unpack("f", struct.pack("f", p))[0]


def region(width, height, scale, ratio, log_ratio):
    """(top, left, height, width) of a RandomResizedCrop."""
    area = height * width
    for _ in range(10):
        target_area = area * torch.empty(1).uniform_(scale[0], scale[1]).item()
        aspect_ratio = torch.exp(torch.empty(1).uniform_(log_ratio[0], log_ratio[1])).item()
        w = int(round(math.sqrt(target_area * aspect_ratio)))
        h = int(round(math.sqrt(target_area / aspect_ratio)))
        if 0 < w <= width and 0 < h <= height:
            top = below(height - h + 1)
            return top, below(width - w + 1), h, w
    return _central_region(width, height, ratio)


def _central_region(width, height, ratio):
    w, h = width, height
    if width / height < min(ratio):
        h = int(round(w / min(ratio)))
    elif width / height > max(ratio):
        w = int(round(h * max(ratio)))
    return (height - h) // 2, (width - w) // 2, h, w
