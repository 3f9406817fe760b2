"""torchvision.io's decode_jpeg, decode_image and read_image of JPEGs and PNGs."""

import functools
import pathlib
import sys

import torch

from .. import _core
from .._base.own import tried
from .._store import sources
from . import ignored
from .library import GREY, RGB, RGBA, Library, Way

_CPU = torch.device("cpu")

_plain = {}  # torchvision's own functions
_signatures = {}  # {a function's name: (the names of its parameters, {name: default})}
_library = None

_MODES = {0: Way(RGB, GREY, False, RGBA), 1: Way(GREY, GREY, False), 3: Way(RGB, RGB, False)}

# The names that the code of the functions may use. A version whose functions use others does more than is known here.
_KNOWN = frozenset((
    "torch", "jit", "is_scripting", "is_tracing", "_log_api_usage_once", "decode_jpeg", "decode_image", "read_image",
    "read_file", "_warn_deprecated", "_assert_has_image_ops", "isinstance", "str", "Tensor", "device", "ImageReadMode",
    "upper", "list", "len", "ValueError", "all", "type", "ops", "image", "decode_jpeg_cuda", "decode_jpegs_cuda",
    "value"))
_WARNING = frozenset(("torch", "jit", "is_scripting", "is_tracing", "warnings", "warn", "_DEPRECATION_MSG", "DeprecationWarning"))
_NAMES = "decode_jpeg", "decode_image", "read_image"


class _TorchVision(Library):
    name = "torchvision"

    def __init__(self):
        super().__init__()
        self.ways = {str(mode): way for mode, way in _MODES.items()}
        if "apply_exif_orientation" in _signatures["decode_jpeg"][0]:
            self.ways.update((f"{mode}t", Way(way.colour, way.grey, True, way.alpha)) for mode, way in _MODES.items())

    def about(self):
        return sys.modules["torchvision"].__version__, sorted(torch.ops.loaded_libraries)

    def own(self, image, way):
        more = [way.endswith("t")] if "0t" in self.ways else []
        return torch.ops.image.decode_image(torch.frombuffer(bytearray(image), dtype=torch.uint8), int(way[0]), *more)

    def empty(self, shape):
        pixels = torch.empty(shape, dtype=torch.uint8, device=_CPU)
        return pixels.permute(2, 0, 1), _memory_of(pixels)

    def turned(self, image, orientation):
        if orientation in (6, 8):
            return torch.rot90(image, 1 if orientation == 8 else -1, (1, 2))
        if orientation in (5, 7):
            image = image.transpose(1, 2)
        flips = {2: (-1,), 3: (-1, -2), 4: (-2,), 7: (-1, -2)}.get(orientation)
        return image if flips is None else image.flip(flips)

    def seen(self, image):
        return (image.shape, image.stride(), image.dtype, image.storage_offset(), image._is_view(),
                image.is_contiguous(), image.contiguous().numpy().tobytes())


def _signature(plain):
    names = plain.__code__.co_varnames[:plain.__code__.co_argcount]
    return names, dict(zip(names[len(names) - len(plain.__defaults__):], plain.__defaults__))


def _memory_of(tensor):
    """Returns the memory of a contiguous tensor of bytes. Tensor.numpy() would forbid resizes of it from then on. Raises
    ValueError for a tensor without memory, as a mode of torch's makes it."""
    if type(tensor) is not torch.Tensor:
        raise ValueError("no memory")
    return _core.memory_at(tensor.data_ptr(), tensor.numel())


# ---- the functions ----

class _Call:
    """The arguments of a call by their names."""

    __slots__ = ("values", "is_known")

    def __init__(self, name, arguments, named):
        names, defaults = _signatures[name]
        given = dict(zip(names, arguments))
        self.values = {**defaults, **given, **named}
        self.is_known = (len(given) == len(arguments) and given.keys().isdisjoint(named)
                         and self.values.keys() == set(names))

    def way(self):
        """Returns the name of the way, or None."""
        mode = self.values["mode"]
        kind = sys.modules["torchvision.io.image"].ImageReadMode
        if type(mode) is str and "upper" in _plain["decode_jpeg"].__code__.co_names:
            mode = kind.__members__.get(mode.upper())
        turns = self.values.get("apply_exif_orientation", False)
        if type(mode) is not kind or type(turns) is not bool or torch.jit.is_tracing():
            return None
        way = f"{mode.value}t" if turns else str(mode.value)
        return way if _library.takes(way) else None


def _decode_jpeg(*arguments, **named):
    call = _Call("decode_jpeg", arguments, named)
    way = call.way() if call.is_known and call.values["device"] == "cpu" else None
    source = _source_of(call, way)
    return None if source is None or source.is_png() else _of_source(source, way, 1)


def _decode_image(*arguments, **named):
    call = _Call("decode_image", arguments, named)
    if not call.is_known:
        return None
    is_path = "read_file" in _plain["decode_image"].__code__.co_names and type(call.values["input"]) is not torch.Tensor
    if is_path:
        return _of_path(call, "input", 2)
    way = call.way()
    return _of_source(_source_of(call, way), way, 1)


def _read_image(*arguments, **named):
    call = _Call("read_image", arguments, named)
    return _of_path(call, "path", 3) if call.is_known else None


def _source_of(call, way):
    """Returns the source of an image in a tensor, or None. While torch traces there is no way: the tensor is not read."""
    data = call.values["input"]
    if (way is None or type(data) is not torch.Tensor or data.dtype != torch.uint8 or data.dim() != 1
            or data.device.type != "cpu" or not data.is_contiguous()):
        return None
    return sources.image_of_memory(_memory_of(data)) if data.numel() else None


def _of_path(call, name, warnings):
    """Returns the pixels of a file, or None."""
    path, way = call.values[name], call.way()
    if type(path) is pathlib.PosixPath and "str" in _plain["read_image"].__globals__["read_file"].__code__.co_names:
        path = str(path)
    if way is None or type(path) is not str:
        return None
    return _of_source(sources.image_of_path(path), way, warnings)


def _of_source(source, way, warnings):
    image = None if source is None else _library.decoded(source, way)
    if image is not None:
        warn = sys.modules["torchvision.io.image"].__dict__.get("_warn_deprecated")
        for _ in range(warnings if warn is not None else 0):
            warn()
    return image


def _as_scripted(new, plain):
    """Marks the function: torch.jit.script compiles the original one instead."""
    new.__script_if_tracing_wrapper = True
    new.__original_fn = plain
    return new


def _replace(module, name, new):
    plain = _plain[name]
    setattr(module, name, _as_scripted(functools.wraps(plain)(tried(new, plain)), plain))


def _replace_warning(module):
    """Puts a function in the place of the one by which functions of this version warn that they are deprecated."""
    plain = module.__dict__.get("_warn_deprecated")
    code = getattr(plain, "__code__", None)
    if code is not None and _WARNING.issuperset(code.co_names) and set(code.co_consts) == {None} and ignored.is_possible():
        new = ignored.unless_ignored(plain, module._DEPRECATION_MSG, DeprecationWarning, module.__name__)
        setattr(module, "_warn_deprecated", _as_scripted(new, plain))


def install():
    """Puts the functions in place, once torchvision.io.image has been imported."""
    global _library
    module = sys.modules["torchvision.io.image"]
    functions = {name: module.__dict__.get(name) for name in (*_NAMES, "read_file")}
    codes = [getattr(function, "__code__", None) for function in functions.values()]
    if _plain or None in codes or not all(_KNOWN.issuperset(code.co_names) for code in codes):
        return
    _plain.update(functions)
    _signatures.update((name, _signature(functions[name])) for name in _NAMES)
    if hasattr(torch.ops.image, "decode_jpeg"):
        _library = _TorchVision()
        for name, new in zip(_NAMES, (_decode_jpeg, _decode_image, _read_image)):
            _replace(module, name, new)
        _replace_warning(module)
