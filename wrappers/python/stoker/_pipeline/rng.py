"""torchvision's random choices: the same numbers of torch's generator, drawn without torch (core/steps)."""

import functools

import torch

from .. import _core
from .._base import cache
from .._base.own import is_own

_log_ratios = {}
_understood = None

# These count or find modes of functions, such as a default device, modes of kernels, such as FakeTensorMode, and
# transforms of functions, such as vmap. Each stands between a program and torch's own kernels.
# A torch without them has types in their place, int() is 0 and NoneType() is None: functions here might fail.
function_modes = getattr(torch._C, "_len_torch_function_stack", int)
kernel_modes = getattr(torch._C, "_len_torch_dispatch_stack", int)
function_transform = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", type(None))


def as_one(function, *arguments):
    """Calls a function of this package that draws, and returns its result. After an error of the package's own the
    result is None, and the generator has its former state."""
    state = None
    try:
        state = torch._C.default_generator.get_state()
        return function(*arguments)
    except Exception as error:
        if not is_own(error):
            raise
        if state is not None:
            torch._C.default_generator.set_state(state)
        return None


def memory_of(state):
    """Returns the memory of a generator's state. The caller holds the state."""
    return _core.memory_at(state.data_ptr(), state.numel())


def _are_understood():
    """Returns true if torch draws from a generator's state as core/steps/numbers.h does."""
    generator = torch.Generator().manual_seed(20)
    state = generator.get_state()
    shares = torch.empty(1000, dtype=torch.float32, device="cpu").uniform_(generator=generator)
    whole = torch.empty(300, dtype=torch.int64, device="cpu").random_(999, generator=generator)
    try:
        words = torch.tensor(_core.words(1300, memory_of(state)), device="cpu")
    except ValueError:
        return False
    return (torch.equal(shares, (words[:1000] % 2**24).to(torch.float32) / 2**24)
            and torch.equal(whole, words[1000:] % 999) and torch.equal(state, generator.get_state()))


def can_draw():
    """Returns true if the numbers of torch's random functions are drawn here: on the CPU, in float32."""
    global _understood
    if (torch.get_default_dtype() is not torch.float32 or function_modes() or kernel_modes()
            or function_transform() is not None):
        return False
    if _understood is None:
        _understood = _are_understood()
    return _understood


def drawn_at_once(draw, *arguments):
    """Returns draw(next_words, arguments): next_words(count) returns words of the generator, which has its new state in the
    end. After an error it has its former one."""
    generator = torch._C.default_generator
    state = generator.get_state()
    memory = memory_of(state)
    result = draw(lambda count: _core.words(count, memory), *arguments)
    generator.set_state(state)
    return result


# ---- the numbers of changes of colours ----

def jitter(ranges):
    """Draws the order of torch.randperm(4), and what uniform_() makes of each range. Returns [(kind, factor)] in that order,
    without the kinds whose range is None."""
    return _core.jitter(ranges, torch._C.default_generator)


def share():
    """Draws torch.rand(1)."""
    return _core.share(torch._C.default_generator)


def is_range(values):
    """Returns true for two plain numbers between which uniform_() draws."""
    return is_pair(values) and -1e6 < values[0] <= values[1] < 1e6


def can_draw_colours():
    """Returns true if the numbers of changes of colours are drawn here."""
    return can_draw() and _colours_are_understood()


@functools.cache
def _colours_are_understood():
    """Returns true if torch draws as share() and jitter() do."""
    generator = torch.Generator().manual_seed(21)
    other = torch.Generator().manual_seed(21)
    ranges = (0.6, 1.4), None, (0.0, 1.9), (-0.5, 0.1)
    for _ in range(100):
        if torch.rand(1, generator=generator, device="cpu").item() != _core.share(other):
            return False
        order = torch.randperm(4, generator=generator, device="cpu").tolist()
        factors = [each and torch.empty(1, dtype=torch.float32, device="cpu").uniform_(*each, generator=generator).item()
                   for each in ranges]
        if _core.jitter(ranges, other) != [(kind, factors[kind]) for kind in order if ranges[kind] is not None]:
            return False
    return torch.equal(other.get_state(), generator.get_state())


def is_pair(values):
    """Returns true for a list or tuple of two plain numbers."""
    return (type(values) in (tuple, list) and len(values) == 2
            and type(values[0]) in (float, int) and type(values[1]) in (float, int))


def are_usual(values):
    """Returns true if (least, most) of the area's share and of the ratio's logarithm are in the usual range."""
    return 0 <= values[0] <= values[1] < 1e6 and -20 < values[2] <= values[3] < 20


def log_ratio(ratio):
    """Returns torch.log of the ratio's two numbers."""
    key = (tuple(ratio), torch.get_default_dtype())
    found = _log_ratios.get(key)
    if found is None:
        found = cache.put(_log_ratios, key, torch.log(torch.tensor(ratio)).tolist())
    return found


def note(steps, at, geometry, channels):
    """Returns _core.note() of these steps, with torch's own generator."""
    return _core.note(steps, at, geometry, channels, torch._C.default_generator if can_draw() else None)
