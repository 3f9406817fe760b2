"""torchvision's random choices: the same draws from torch's generator, in the same order, with less
around them."""

import math
import struct
import threading

import torch

from .. import _core
from .._own import is_own

_log_ratios = {}
_MOST = 64
_singles = {}

# Whether anything stands between a program and torch's own functions, such as a default device.
_functions_in_between = getattr(torch._C, "_len_torch_function_stack", lambda: 0)


def _values(tensor, format):
    """The memory of a tensor that somebody holds, as numbers."""
    return _core.memory_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()).cast(format)


class _Numbers:
    """A thread's tensors for its draws. To fill one again draws what a new one would, for half of
    the time; and what was drawn is read where it lies."""

    __slots__ = "real", "other_real", "first", "second", "reals", "whole"

    def __init__(self):
        with torch.inference_mode(False):
            reals = torch.empty(2, dtype=torch.float32, device="cpu")
            whole = torch.empty(2, dtype=torch.int64, device="cpu")
        self.real, self.other_real = reals[0:1], reals[1:2]
        self.first, self.second = whole[0:1], whole[1:2]
        self.reals, self.whole = _values(reals, "f"), _values(whole, "q")


def as_one(function, *arguments):
    """Returns what a function of this package returns that draws. None if it fails of itself: the generator is then
    as it was before."""
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
        self.numbers = _Numbers()


_thread = _Thread()


def are_ordinary():
    """Whether torch would make its own tensors of this kind."""
    return torch.get_default_dtype() is torch.float32 and not _functions_in_between()


def are_usual(values):
    """Whether (least, most) of a share, and of a ratio's logarithm, are such as one draws between."""
    return 0 < values[0] <= values[1] < 1e6 and -20 < values[2] <= values[3] < 20


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
    if _functions_in_between():
        return torch.randint(0, limit, size=(1,)).item()
    numbers = _thread.numbers
    numbers.first.random_(limit)
    return numbers.whole[0]


def pair_below(limit, other):
    """Two of them, drawn in this order."""
    if _functions_in_between():
        return below(limit), below(other)
    return _pair_by(_thread.numbers, limit, other)


def _pair_by(numbers, limit, other):
    numbers.first.random_(limit)
    numbers.second.random_(other)
    return numbers.whole.tolist()


def chance(p):
    """torch.rand(1) < p, which torch compares in single precision."""
    single = _singles.get(p)
    if single is None:
        if len(_singles) >= _MOST:
            _singles.clear()
        single = _singles[p] = struct.unpack("f", struct.pack("f", p))[0]
    if not are_ordinary():
        return torch.rand(1).item() < single
    numbers = _thread.numbers
    numbers.real.uniform_()
    return numbers.reals[0] < single


def _drawn_anew(scale, log_ratio):
    """What share of the area, and e to a number between the logarithms."""
    share = torch.empty(1).uniform_(scale[0], scale[1]).item()
    return share, torch.exp(torch.empty(1).uniform_(log_ratio[0], log_ratio[1])).item()


def _drawn_by(numbers, scale, log_ratio):
    """The same in the place of what was drawn before."""
    numbers.real.uniform_(scale[0], scale[1])
    numbers.other_real.uniform_(log_ratio[0], log_ratio[1]).exp_()
    return numbers.reals.tolist()


def region(width, height, scale, ratio, log_ratio):
    """(top, left, height, width) of a RandomResizedCrop."""
    area = height * width
    numbers = _thread.numbers if are_ordinary() else None
    for _ in range(10):
        share, aspect_ratio = (_drawn_anew(scale, log_ratio) if numbers is None
                               else _drawn_by(numbers, scale, log_ratio))
        target_area = area * share
        w = round(math.sqrt(target_area * aspect_ratio))
        h = round(math.sqrt(target_area / aspect_ratio))
        if 0 < w <= width and 0 < h <= height:
            top, left = (pair_below(height - h + 1, width - w + 1) if numbers is None else
                         _pair_by(numbers, height - h + 1, width - w + 1))
            return top, left, h, w
    return _central_region(width, height, ratio)


def _central_region(width, height, ratio):
    w, h = width, height
    if width / height < min(ratio):
        h = int(round(w / min(ratio)))
    elif width / height > max(ratio):
        w = int(round(h * max(ratio)))
    return (height - h) // 2, (width - w) // 2, h, w
