"""The end of a pipeline: from a Pillow image to a tensor, normalised or not, in one pass.

ToTensor, Normalize and their like treat each value by itself, so a chain of them is a table of 256 values for each
channel. torchvision's own transforms fill the table, from an image that holds each value once. Their result also shows
the tensor's type and strides. So the table is right for each version of torchvision.
"""

import itertools

import torch
from PIL import Image

from .. import _core
from .._base import cache
from .._pillow.plan import CHW, F32, HWC, U8
from .._torch import rows
from . import exact
from .exact import T

_CHANNELS = {"RGB": 3, "L": 1}
_CPU = torch.device("cpu")
_MOST = 64  # chains that are remembered


class _Ramp(Image.Image):
    """A class that is not exactly Pillow's, so no replacement of ours takes it."""


class TensorTail:
    """A chain of transforms for images of one mode: from pixels to a tensor."""

    __slots__ = ("channels", "end", "like", "_is_chw", "_dtype", "_item_bytes")

    def __init__(self, channels, layout, type, table, like):
        """`type` is U8 or F32, `table` the bytes of channels x 256 floats."""
        self.channels = channels
        # The layout of the pixels (core/decode/plan_request.h).
        self.end = channels, layout, type, table
        self.like = like  # the class of tensor, if it is not torch's own
        self._is_chw = layout == CHW
        self._dtype, self._item_bytes = (torch.float32, 4) if type else (torch.uint8, 1)

    def tensor(self, size):
        """Returns (a new tensor for an image of this size, its memory)."""
        width, height = size
        channels, plane = self.channels, height * width
        shape = channels, height, width
        strides = (plane, width, 1) if self._is_chw else (1, channels * width, channels)
        tensor = rows.empty(shape, self._dtype, strides)
        if tensor is None:
            tensor = torch.empty_strided(shape, strides, dtype=self._dtype, device=_CPU)
        return tensor, _core.memory_at(tensor.data_ptr(), channels * plane * self._item_bytes)

    def is_bytes(self):
        """Returns true if the tensor has the bytes of the image."""
        return self.end[2] == U8

    def finished(self, tensor):
        return tensor if self.like is None else tensor.as_subclass(self.like)


# ---- the transforms of a chain, and keys that differ if two of a class do ----

def _numbers(values):
    """Returns a key of these means or deviations, or None if torchvision is to use them."""
    if type(values) is torch.Tensor:
        return _tensor_numbers(values)
    if type(values) not in (list, tuple):
        return None
    for value in values:
        if type(value) is not float and type(value) is not int:
            return None
    return tuple(values)


def _tensor_numbers(values):
    if not exact.is_readable(values):
        return None
    return values.dtype, tuple(values.shape), *values.flatten().tolist()


def _normalize_key(transform):
    mean, std = _numbers(transform.mean), _numbers(transform.std)
    return None if mean is None or std is None else (mean, std)


def _dtype_key(transform):
    dtype = transform.dtype
    return (dtype, getattr(transform, "scale", True)) if type(dtype) is torch.dtype else None


def _no_key(transform):
    return ()


_numbers_of = {}
_new_numbers = itertools.count()  # each number once
_known_v2 = None

# A chain begins with one of the first; the second are its other links.
_starts = {T.ToTensor: _no_key, T.PILToTensor: _no_key}
_links = {T.Normalize: _normalize_key, T.ConvertImageDtype: _dtype_key}


def _add(kinds, module, names, key):
    for name in names:
        kind = getattr(module, name, None)
        if kind is not None:
            kinds[kind] = key


def know_v2():
    """Takes the classes of torchvision.transforms.v2 into account, if the program has them."""
    global _known_v2
    module = exact.v2()
    if module is not _known_v2:
        _known_v2 = module
        _add(_starts, module, ("ToTensor", "PILToTensor", "ToImage"), _no_key)
        _add(_links, module, ("ToImage", "ToPureTensor"), _no_key)
        _add(_links, module, ("Normalize",), _normalize_key)
        _add(_links, module, ("ConvertImageDtype", "ToDtype"), _dtype_key)


# All names that the code of timm's MaybeToTensor uses: it makes a tensor of what is none. A version that uses others does
# more than is known here.
_TIMMS_NAMES = {"isinstance", "torch", "Tensor", "F", "to_tensor"}


def know_timm(kind):
    """Takes timm's class into account that is torchvision's ToTensor for images."""
    call = kind.__dict__.get("__call__")
    code = getattr(call, "__code__", None)
    if code is not None and _TIMMS_NAMES.issuperset(code.co_names) and call.__globals__.get("F") is exact.F:
        exact.trust(call)
        _starts[kind] = _no_key


def knows(kind):
    """Returns true if transforms of this class may belong to a chain."""
    return kind in _starts or kind in _links


def keys_of(transform):
    """Returns (key as the first of a chain, key as a further one) of a transform as it is now. A key is None if the
    transform cannot stand there."""
    return _key(transform, _starts), _key(transform, _links)


def _key(transform, kinds):
    """Returns a number for the transform's class and values, or None."""
    key_of = kinds.get(type(transform))
    key = None if key_of is None else key_of(transform)
    if key is None:
        return None
    if len(_numbers_of) >= _MOST:
        _numbers_of.clear()
    return _numbers_of.setdefault((type(transform), *key), next(_new_numbers))


# ---- what a chain does ----

_tails = {}


def tail_of(transforms, at, key, mode):
    """Returns the TensorTail of the chain with this key, or None if one pass cannot do it. The mode is an image's, or
    (class, layout) of a tensor of bytes."""
    if mode not in _CHANNELS and type(mode) is not tuple or torch.get_default_dtype() is not torch.float32:
        return None
    try:
        return _tails[key, mode]
    except KeyError:
        pass
    try:
        tail = _find_tail(transforms[at:at + len(key)], mode)
    except Exception:  # torchvision will raise it where it belongs
        tail = None
    return cache.put(_tails, (key, mode), tail)


def _ramp(mode):
    channels = _CHANNELS.get(mode, 3)
    values = bytes(value for value in range(256) for _ in range(channels))
    if type(mode) is tuple:
        kind, layout = mode
        pixels = torch.frombuffer(bytearray(values), dtype=torch.uint8).view(16, 16, 3).permute(2, 0, 1)
        return (pixels if layout == HWC else pixels.contiguous()).as_subclass(kind)
    image = Image.frombytes(mode, (16, 16), values)
    image.__class__ = _Ramp
    return image


def _find_tail(transforms, mode):
    """Makes the TensorTail: the transforms themselves work on each value once."""
    image = _ramp(mode)
    with rows.paused(), torch.inference_mode(False), torch.no_grad():
        for transform in transforms:
            image = transform(image)
    channels = _CHANNELS.get(mode, 3)
    if image.shape != (channels, 16, 16) or image.device.type != "cpu" or image.requires_grad:
        return None
    layout = {(256, 16, 1): CHW, (1, 16 * channels, channels): HWC}.get(image.stride())
    type_ = {torch.uint8: U8, torch.float32: F32}.get(image.dtype)
    if layout is None or type_ is None:
        return None
    like = None if type(image) is torch.Tensor else type(image)
    values = image.as_subclass(torch.Tensor).reshape(channels, 256).contiguous()
    if type_ == U8:
        if not torch.equal(values, torch.arange(256, dtype=torch.uint8).repeat(channels, 1)):
            return None
        return TensorTail(channels, layout, U8, None, like)
    return TensorTail(channels, layout, F32, values.numpy().tobytes(), like)


def of_bytes(kind, layout):
    """Returns the TensorTail that makes a tensor of this class and layout of a colour image's bytes."""
    return TensorTail(3, layout, U8, None, None if kind is torch.Tensor else kind)


# ---- the images that it is for ----

def is_pillows(image):
    """Returns true for an image of one of Pillow's own classes."""
    kind = type(image)
    return kind is Image.Image or (kind.__module__.startswith("PIL.")
                                   and isinstance(image, Image.Image))


def of_to_tensor(mode):
    """Returns the TensorTail of ToTensor alone for images of this mode, or None."""
    return tail_of(_TO_TENSOR, 0, _TO_TENSOR_KEY, mode)


_TO_TENSOR = (T.ToTensor(),)
_TO_TENSOR_KEY = (_key(_TO_TENSOR[0], _starts),)

__all__ = ["is_pillows", "keys_of", "know_v2", "knows", "of_to_tensor", "tail_of"]
