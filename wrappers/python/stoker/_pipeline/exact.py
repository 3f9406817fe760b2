"""Finds transforms that are exactly torchvision's own, without a hook or a patch, and so is Pillow below them.

A program may derive from a class of torchvision's, put a hook on a transform or replace one of its functions; then its
own code runs. A transform is only ever replaced or left out if it is found here as torchvision made it. This module
does not know what the transforms do.
"""

import operator
import os
import sys
from enum import Enum
from itertools import chain
from types import FunctionType

import PIL
import torch
import torch.nn.modules.module as _module
import torchvision
from PIL import Image, ImageEnhance, ImageOps, JpegImagePlugin
from torchvision.transforms import functional as F
from torchvision.transforms import transforms as T

from .. import _core
from . import rng

_HOME = (os.path.dirname(torchvision.__file__) + os.sep,
         os.path.dirname(os.path.dirname(__file__)) + os.sep,
         os.path.dirname(_module.__file__) + os.sep,
         os.path.dirname(PIL.__file__) + os.sep)

# Methods that a transform's instance must not have of its own.
_METHODS = frozenset(("forward", "transform", "make_params", "_get_params", "_transform",
                      "get_params", "check_inputs", "_check_inputs", "_call_kernel", "_generate_value",
                      "_needs_transform_list", "_transformed_types", "_call_impl", "_compiled_call_impl"))
_METHOD_NAMES = tuple(sorted(_METHODS | {"__call__"}))
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS = tuple(
    hooks for name in ("_global_forward_hooks", "_global_forward_pre_hooks",
                       "_global_backward_hooks", "_global_backward_pre_hooks")
    if (hooks := getattr(_module, name, None)) is not None)

# The types of which a known transform may consist, besides containers of them.
_SIMPLE = int, float, str, type(None), type, torch.dtype, torch.Tensor, T.InterpolationMode

_MOST_NUMBERS = 4  # of a tensor that a transform has

_FUNCTIONS = ("to_tensor", "pil_to_tensor", "convert_image_dtype", "normalize", "resize",
              "resized_crop", "crop", "center_crop", "pad", "hflip", "vflip", "get_dimensions")

_PILLOW_FUNCTIONS = _TENSOR_FUNCTIONS = "resize", "crop", "pad", "hflip", "vflip"

# Pillow's functions that torchvision's call, and its images' methods.
_OF_PILLOW = ((Image, ("blend", "merge", "fromarray", "new")), (ImageOps, ("expand",)),
              (ImageEnhance, ("Brightness", "Contrast", "Color")), (ImageEnhance._Enhance, ("enhance",)),
              *((kind, ("__init__",)) for kind in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)))
_OF_IMAGES = ("resize", "crop", "transpose", "convert", "split", "tobytes", "getbands", "__array_interface__")

# The functions that draw numbers for torchvision's transforms.
_DRAWING = "rand", "randint", "randperm", "empty"

_trusted = set()  # code that others wrote, and that is known here
_owners = {}  # {an inspected module or class: {name: function}}
_watched = ()  # _owners as _core.are_as_seen() takes them; a tuple, since other threads may add an owner
_classes = {}  # {an inspected class: true if it is as torchvision made it}


_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)  # None: this torch has no compiler


def is_compiling():
    """Returns true while torch compiles the caller."""
    return _is_compiling is not None and _is_compiling()


def if_torch_is_alone(new, plain):
    """Returns the replacement of a function. torch.compile() compiles the plain function instead: its graphs take no calls
    of C. In a mode the plain function is called as well: a mode may change the results of torch's functions, and a
    table of values that was made in one would be kept."""
    is_compiling = _is_compiling or bool  # bool() is False
    function_modes, kernel_modes, function_transform = rng.function_modes, rng.kernel_modes, rng.function_transform

    def either(*arguments, **named):
        if is_compiling() or function_modes() or kernel_modes() or function_transform() is not None:
            return plain(*arguments, **named)
        return new(*arguments, **named)
    return either


def v2():
    """Returns torchvision.transforms.v2 if the program has imported it, else None."""
    return sys.modules.get("torchvision.transforms.v2")


def is_own(function):
    """Returns true if torchvision, torch, Pillow or this package wrote the function, or if it is trusted."""
    if isinstance(function, property):
        function = function.fget
    function = getattr(function, "__func__", function)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return code is None or code in _trusted or (code.co_filename.startswith(_HOME)
                            and function.__code__.co_filename.startswith(_HOME))


def plain(function):
    """Returns torchvision's function, for itself and for the one that stands in its place."""
    return getattr(function, "__wrapped__", function)


def has_names(function, names):
    """Returns true if the function's code uses these names, in this order."""
    return getattr(getattr(function, "__code__", None), "co_names", None) == names


def trust(function):
    """Takes a function of another library's as torchvision's own."""
    _trusted.add(function.__code__)


def _items(dictionary):
    return tuple(chain.from_iterable(list(dictionary.items())))


def _expect(owner, name):
    """Returns true if the function is torchvision's own, and watches it: a replacement is noticed from now on."""
    global _watched
    value = getattr(owner, name, None)
    if getattr(owner, name, None) is not value:  # made anew each time
        return False
    _owners.setdefault(owner, {})[name] = value
    _watched = tuple(part for owner, values in list(_owners.items())
                     for part in (owner, _items(values)))
    return value is None or is_own(value)


def _has(kind, name):
    return any(name in each.__dict__ for each in kind.__mro__)


def _know_class(kind):
    own = all([_expect(each, name) for each in kind.__mro__ if each.__module__ != "builtins"
               for name in _METHOD_NAMES
               if name in each.__dict__ or each is kind and _has(kind, name)])
    _classes[kind] = own
    return own


def functions_are_own():
    """Returns true if no watched function was replaced, and no hook is set for all modules."""
    return _functions and _core.are_as_seen(_watched) and not any(_GLOBAL_HOOKS)


def is_bare(transform):
    """Returns true for an object of exactly a class of torchvision's, without a hook or a method of its own. Called
    after functions_are_own()."""
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


def _is_simple(value):
    """Returns true if the value refers to no object of the program's."""
    if isinstance(value, dict):
        return all(map(_is_simple, list(chain.from_iterable(value.items()))))
    if isinstance(value, (list, tuple, set)):
        return all(map(_is_simple, value))
    return isinstance(value, _SIMPLE) or is_torchvisions(value)


def _are_same(values, objects):
    return type(values) in (list, tuple) and len(values) == len(objects) and all(map(operator.is_, values, objects))


def is_torchvisions(value):
    """Returns true for a function or a named value of torchvision's."""
    if type(value) is FunctionType:
        return value.__closure__ is None and is_own(value)
    return isinstance(value, Enum) and type(value).__module__.startswith("torchvision.")


def is_readable(tensor):
    """Returns true for a list of few numbers, which are compared with those of before for each image. No mode of torch's
    sees that."""
    return (type(tensor) is torch.Tensor and tensor.device.type == "cpu" and not tensor.requires_grad
            and 0 < tensor.ndim and tensor.numel() <= _MOST_NUMBERS and rng.can_draw())


def seen(transform, inside=()):
    """Returns the objects that must stay unchanged for a transform's Inspection to stay valid (_core.found()). Returns
    None if changes cannot be seen, or if the result would hold objects of the program's. `inside`: all transforms that the
    transform has, in a list or a tuple."""
    state = transform.__dict__
    if not all(_is_simple(value) or _are_same(value, inside) for value in list(state.values())):
        return None
    parts = [type(transform), state, _items(state)]
    for each in inside:
        found = seen(each)
        if found is None:
            return None
        parts += each, ("__class__", type(each), "__dict__", each.__dict__), *found[1:]
    for name, value in list(state.items()):
        if name in _HOOKS and isinstance(value, dict):
            parts += value, _items(value)
        elif type(value) is list:
            parts += value, tuple(value)
        elif isinstance(value, torch.Tensor):
            if not is_readable(value):
                return None
            parts += value, ("requires_grad", False, "dtype", value.dtype), value, value.tolist()
    return tuple(parts)


def expect_again(owner, name):
    """Expects our function from now on, after it has replaced torchvision's."""
    for known, values in list(_owners.items()):
        if name in values and (known is owner or isinstance(owner, type)
                               and isinstance(known, type) and issubclass(known, owner)):
            _expect(known, name)


def watch(owner, names):
    """Watches functions of torchvision's: functions_are_own() is false if one of them is not, or is replaced."""
    global _functions
    _functions = all([_expect(owner, name) for name in names]) and _functions


def watch_pillow():
    """Watches Pillow's functions. Called when the hook has replaced some of them."""
    for owner, names in (*_OF_PILLOW, (Image.Image, _OF_IMAGES), (JpegImagePlugin.JpegImageFile, _OF_IMAGES)):
        watch(owner, names)


def watch_boxes(modules):
    """Watches v2's functions of boxes, as watch() does: boxes_are_own() is false if one of them is not own. `modules`:
    (a module, names)."""
    global _boxes
    _boxes = all([_expect(owner, name) and getattr(owner, name, None) is not None
                  for owner, names in modules for name in names])


def boxes_are_own():
    """Returns true if v2's functions of boxes are torchvision's own. Called after functions_are_own()."""
    return _boxes


_boxes = False
_functions = True
watch(F, _FUNCTIONS)
watch(F.F_pil, _PILLOW_FUNCTIONS)
watch(F.F_t, _TENSOR_FUNCTIONS)
watch(torch, _DRAWING)

__all__ = ["F", "T", "expect_again", "functions_are_own", "if_torch_is_alone", "is_bare", "is_compiling", "seen", "v2", "watch", "watch_pillow"]
