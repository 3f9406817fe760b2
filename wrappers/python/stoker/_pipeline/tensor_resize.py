"""Compares the decoder's resizes of bytes with those of tensors, once, as _pillow/check.py does with Pillow's.

v2 has torch resize bytes, v1 has it resize floats. torch has several kinds of code for either, and chooses by the processor.
On some the result is another.
"""

import functools
import os

import torch
import torchvision

from .. import _core
from .._pillow.plan import HWC, U8, Plan
from .._proof import answers
from . import exact
from .exact import F, T
from .lazy_tensors import FLOATS, TORCHS

BY_FLOATS = {2: FLOATS}  # {a filter of bytes: that of floats}, in the decoder's numbers
_MODES_V1 = {FLOATS: T.InterpolationMode.BILINEAR}
_MODES_V2 = {2: T.InterpolationMode.BILINEAR, 4: T.InterpolationMode.BICUBIC}
# (width, height) and what it becomes: smaller, larger, one axis, much smaller.
_SIZES = (((37, 53), (19, 7)), ((23, 9), (50, 41)), ((64, 31), (64, 12)), ((30, 48), (17, 48)), ((201, 157), (11, 96)),
          ((160, 120), (112, 112)), ((90, 75), (33, 22)))


def proven():
    """Returns the decoder's numbers of the filters whose resizes are the same: those of v2, too, once the program has
    imported it."""
    return _proven(False) | _proven(True) if exact.v2() else _proven(False)


@functools.cache
def _proven(is_v2):
    """Returns the filters of one of the two. The first call finds them. Each has an answer of its own, since the first program may
    import v1 alone."""
    functional, modes = (exact.v2().functional, _MODES_V2) if is_v2 else (F, _MODES_V1)
    return answers.proven(lambda: _name("torch-bytes" if is_v2 else "torch-floats"), modes,
                          lambda filter: all(_is_same(functional, filter, modes[filter], *sizes) for sizes in _SIZES))


def _name(library):
    capability = getattr(torch.backends, "cpu", None) and torch.backends.cpu.get_cpu_capability()
    parts = [torchvision.__version__, capability, os.environ.get("ATEN_CPU_CAPABILITY")]  # which is all of it in old versions
    return answers.name_of(library, torch.__version__, parts, [torch._C.__file__])


def pixels_of(size):
    """Returns pixels without a pattern, and some of the largest differences."""
    count = size[0] * size[1] * 3
    values = bytearray(n * n * 7 + n // 5 & 255 for n in range(count))
    values[count // 2:] = bytes(255 * (value > 127) for value in values[count // 2:])
    return values


def _is_same(functional, filter, mode, size, wanted):
    pixels = pixels_of(size)
    plan = Plan.whole(None, size).resized(wanted, filter)
    own = _core.transform(pixels, (*size, 3), plan.request(3, HWC, U8, None, TORCHS), None)
    with torch.inference_mode(False), torch.no_grad():
        tensor = torch.frombuffer(pixels, dtype=torch.uint8).view(size[1], size[0], 3).permute(2, 0, 1)
        theirs = exact.plain(functional.resize)(tensor, list(wanted[::-1]), interpolation=mode, antialias=True)
    strides = (wanted[1] * wanted[0], wanted[0], 1) if functional is F else (1, 3 * wanted[0], 3)
    return theirs.stride() == strides and theirs.permute(1, 2, 0).numpy().tobytes() == own

