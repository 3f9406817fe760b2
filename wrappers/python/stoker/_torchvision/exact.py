"""Is a transform exactly torchvision's own, with nothing hung on it?

Whoever derives from a class of torchvision's, puts a hook on a transform or replaces one of its
functions gets what they wrote: only what is found here as torchvision made it is ever replaced or
left out. Nothing here knows what the transforms do.
"""

import os
import sys

import torch.nn.modules.module as _module
import torchvision
from torchvision.transforms import functional as F
from torchvision.transforms import transforms as T

_HOME = (os.path.dirname(torchvision.__file__) + os.sep,
         os.path.dirname(os.path.dirname(__file__)) + os.sep,
         os.path.dirname(_module.__file__) + os.sep)

# What a transform's instance must not have of its own.
_METHODS = frozenset(("forward", "transform", "make_params", "_get_params", "_transform",
                      "get_params", "check_inputs", "_check_inputs", "_call_kernel",
                      "_needs_transform_list", "_call_impl", "_compiled_call_impl"))
_METHOD_NAMES = tuple(sorted(_METHODS | {"__call__"}))
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS = tuple(
    hooks for name in ("_global_forward_hooks", "_global_forward_pre_hooks",
                       "_global_backward_hooks", "_global_backward_pre_hooks")
    if (hooks := getattr(_module, name, None)) is not None)

_FUNCTIONS = ("to_tensor", "pil_to_tensor", "convert_image_dtype", "normalize", "resize",
              "resized_crop", "crop", "center_crop", "pad", "hflip", "vflip", "get_dimensions")

_expected = {}  # (an owner's identity, name): (how to get it, name, the function there)
_watched = ()  # the same, for those that look while another thread adds to it
_classes = {}  # each class that was looked at: is it as torchvision made it?


def v2():
    """torchvision.transforms.v2, if the program has it."""
    return sys.modules.get("torchvision.transforms.v2")


def is_own(function):
    """Written by torchvision, by torch, or by us in its place."""
    function = getattr(function, "__func__", function)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return code is None or (code.co_filename.startswith(_HOME)
                            and function.__code__.co_filename.startswith(_HOME))


def _expect(owner, name):
    global _watched
    value = owner.__dict__.get(name)
    _expected[id(owner), name] = (owner.__dict__.get, name, value)
    _watched = tuple(_expected.values())
    return value is None or is_own(value)


def _know_class(kind):
    own = all([_expect(each, name) for each in kind.__mro__ if each.__module__ != "builtins"
               for name in _METHOD_NAMES if name in each.__dict__])
    _classes[kind] = own
    return own


def functions_are_own():
    """Nothing that was looked at has been replaced since, and nobody watches all modules."""
    for get, name, value in _watched:
        if get(name) is not value:
            return False
    for hooks in _GLOBAL_HOOKS:
        if hooks:
            return False
    return _functions


def is_bare(transform):
    """An object of exactly this class of torchvision's, without a hook or a method of its own.
    To be asked after functions_are_own()."""
    kind = type(transform)
    own = _classes.get(kind)
    if not (_know_class(kind) if own is None else own):
        return False
    state = transform.__dict__
    if not _METHODS.isdisjoint(state):
        return False
    for name in _HOOKS:
        if state.get(name):
            return False
    return True


def expect_again(owner, name):
    """A function was replaced by one of ours: that one is expected from now on."""
    if (id(owner), name) in _expected:
        _expect(owner, name)


_functions = all([_expect(F, name) for name in _FUNCTIONS])

__all__ = ["F", "T", "expect_again", "functions_are_own", "is_bare", "v2"]
