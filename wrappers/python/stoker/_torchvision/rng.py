"""torchvision's random choices: the same numbers of torch's generator, in the same order, with fewer calls around
them."""

import math
import struct
import threading

import torch

from .. import _core
from .._base import cache
from .._base.own import is_own

_log_ratios = {}
_singles = {}

# True if anything stands between a program and torch's own functions, such as a default device.
_functions_in_between = getattr(torch._C, "_len_torch_function_stack", lambda: 0)


def _values(tensor, format):
    """Returns the memory of a tensor as numbers. The caller holds the tensor."""
    return _core.memory_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()).cast(format)


class _Buffers:
    """A thread's tensors for random numbers. Filling a tensor again draws the same numbers as a new tensor, in half the
    time, and the numbers are read in its memory."""

    __slots__ = "real", "other_real", "first", "second", "reals", "whole"

    def __init__(self):
        with torch.inference_mode(False):
            reals = torch.empty(2, dtype=torch.float32, device="cpu")
            whole = torch.empty(2, dtype=torch.int64, device="cpu")
        self.real, self.other_real = reals[0:1], reals[1:2]
        self.first, self.second = whole[0:1], whole[1:2]
        self.reals, self.whole = _values(reals, "f"), _values(whole, "q")


def as_one(function, *arguments):
    """Calls a function of this package that draws, and returns its result. After an error of the package's own the
    result is None, and the generator has its former state."""
    state = None
    try:
        state = torch.default_generator.get_state()
        return function(*arguments)
    except Exception as error:
        if not is_own(error):
            raise
        if state is not None:
            torch.default_generator.set_state(state)
        return None


class _Thread(threading.local):
    def __init__(self):
        self.buffers = _Buffers()


_thread = _Thread()


def are_ordinary():
    """Returns true if torch's random functions would make their own tensors on the CPU in float32."""
    return torch.get_default_dtype() is torch.float32 and not _functions_in_between()


def is_pair(values):
    """Returns true for a list or tuple of two plain numbers."""
    return (type(values) in (tuple, list) and len(values) == 2
            and type(values[0]) in (float, int) and type(values[1]) in (float, int))


def are_usual(values):
    """Returns true if (least, most) of the area's share and of the ratio's logarithm are in the usual range."""
    return 0 < values[0] <= values[1] < 1e6 and -20 < values[2] <= values[3] < 20


def log_ratio(ratio):
    """Returns torch.log of the ratio's two numbers."""
    key = (tuple(ratio), torch.get_default_dtype())
    found = _log_ratios.get(key)
    if found is None:
        found = cache.put(_log_ratios, key, torch.log(torch.tensor(ratio)).tolist())
    return found


def below(limit):
    """Draws a whole number from 0 to limit - 1."""
    if _functions_in_between():
        return torch.randint(0, limit, size=(1,)).item()
    buffers = _thread.buffers
    buffers.first.random_(limit)
    return buffers.whole[0]


def pair_below(limit, other):
    """Draws a whole number below each limit, in this order."""
    if _functions_in_between():
        return below(limit), below(other)
    return _pair_by(_thread.buffers, limit, other)


def _pair_by(buffers, limit, other):
    buffers.first.random_(limit)
    buffers.second.random_(other)
    return buffers.whole.tolist()


def chance(p):
    """Returns torch.rand(1) < p, compared in single precision as torch does."""
    single = _singles.get(p)
    if single is None:
        single = cache.put(_singles, p, struct.unpack("f", struct.pack("f", p))[0])
    if not are_ordinary():
        return torch.rand(1).item() < single
    buffers = _thread.buffers
    buffers.real.uniform_()
    return buffers.reals[0] < single


def _drawn_anew(scale, log_ratio):
    """Draws a share of the area, and e to a number between the logarithms, in new tensors."""
    share = torch.empty(1).uniform_(scale[0], scale[1]).item()
    return share, torch.exp(torch.empty(1).uniform_(log_ratio[0], log_ratio[1])).item()


def _drawn_by(buffers, scale, log_ratio):
    """Draws the numbers of _drawn_anew(), in the thread's tensors."""
    buffers.real.uniform_(scale[0], scale[1])
    buffers.other_real.uniform_(log_ratio[0], log_ratio[1]).exp_()
    return buffers.reals.tolist()


def region(width, height, scale, ratio, log_ratio):
    """Draws (top, left, height, width) of a RandomResizedCrop."""
    area = height * width
    buffers = _thread.buffers if are_ordinary() else None
    for _ in range(10):
        share, aspect_ratio = (_drawn_anew(scale, log_ratio) if buffers is None
                               else _drawn_by(buffers, scale, log_ratio))
        target_area = area * share
        w = round(math.sqrt(target_area * aspect_ratio))
        h = round(math.sqrt(target_area / aspect_ratio))
        if 0 < w <= width and 0 < h <= height:
            top, left = (pair_below(height - h + 1, width - w + 1) if buffers is None else
                         _pair_by(buffers, height - h + 1, width - w + 1))
            return top, left, h, w
    return _central_region(width, height, ratio)


def _central_region(width, height, ratio):
    w, h = width, height
    if width / height < min(ratio):
        h = int(round(w / min(ratio)))
    elif width / height > max(ratio):
        w = int(round(h * max(ratio)))
    return (height - h) // 2, (width - w) // 2, h, w
