"""A function as bytes. Functions with equal bytes compute equal results from equal arguments.

The bytes hold its code with all constants, its defaults, and the values that it closes over. Functions among these
are encoded likewise, classes and modules by their names, and other objects by the parts that pickle makes them of.
The bytes do not depend on the process: neither on its string hashes nor on its addresses.
"""

import copyreg
import functools
import os
import sys
import types

from . import keys
from .keys import Unusable, frame

_PROTOCOL = 4

# Wrappers of a function whose other state does not change the function's result.
_SHELLS = type(functools.lru_cache(len)), staticmethod, classmethod

_EMPTY = object()

_path_of_script = functools.lru_cache(maxsize=16)(os.path.realpath)


def module_of(object):
    """Returns the name of an object's module. For a script it is the script's path, which is the same in all of its
    processes and differs from other scripts."""
    module = str(getattr(object, "__module__", None))
    if module in ("__main__", "__mp_main__"):
        space = getattr(object, "__globals__", None)  # a class has none
        file = space.get("__file__") if space else getattr(sys.modules.get(module), "__file__", None)
        return _path_of_script(file) if file else "__main__"
    return module


def _place_of(object):
    return keys.encode([module_of(object), object.__qualname__])


def _constant(value):
    if type(value) is types.CodeType:
        return _code(value)
    return frame(b"k", repr(value).encode())  # Ellipsis


@functools.lru_cache(maxsize=256)
def _code(code):
    """Encodes a code object without its file and lines. Another version of Python has other code."""
    shape = [sys.implementation.cache_tag, code.co_argcount, code.co_posonlyargcount,
             code.co_kwonlyargcount, code.co_flags, code.co_names, code.co_varnames,
             code.co_freevars, code.co_cellvars]
    return frame(b"C", code.co_code, code.co_exceptiontable, keys.encode(shape),
                 keys.encode(code.co_consts, _constant))


def _reduced(value):
    """Returns the parts that pickle would make the value of. Raises Unusable."""
    kind = type(value)
    reduce = copyreg.dispatch_table.get(kind)
    try:
        return reduce(value) if reduce else value.__reduce_ex__(_PROTOCOL)
    except Exception:
        raise Unusable(f"a {kind.__module__}.{kind.__qualname__}") from None


def _is_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _content(cell):
    """Returns the value of a closure's cell, or _EMPTY while the cell has none."""
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


class _Reader:
    """Encodes one function."""

    def __init__(self, is_lenient):
        self._is_lenient = is_lenient
        self._begun = []  # the values that we are inside of

    def encode(self, value):
        return keys.encode(value, self.other)

    def other(self, value):
        """Encodes a value that is no plain value (keys.py)."""
        if isinstance(value, (type, types.ModuleType)):
            return frame(b"T", keys.encode(value.__name__) if isinstance(value, types.ModuleType)
                         else _place_of(value))
        for place, begun in enumerate(self._begun):
            if begun is value:
                return frame(b"r", str(place).encode())
        self._begun.append(value)
        try:
            return self._inside(value)
        except Unusable:
            if not self._is_lenient:
                raise
            return frame(b"?", _place_of(type(value)))
        finally:
            self._begun.pop()

    def _inside(self, value):
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return frame(b"m", self._named("self", value.__self__), self.encode(value.__func__))
        if type(value) in _SHELLS:
            return frame(b"w", _place_of(type(value)), self.encode(value.__wrapped__))
        if _is_tensor(value):
            return self._tensor(value)
        return self._object(value)

    def _function(self, function):
        cells = list(zip(function.__code__.co_freevars, function.__closure__ or ()))
        return frame(b"F", _place_of(function), _code(function.__code__),
                     self._named("defaults", function.__defaults__),
                     self._named("defaults", function.__kwdefaults__), self._attributes(function, cells),
                     *(self._cell(name, cell) for name, cell in cells))

    def _attributes(self, function, cells):
        """Encodes a function's attributes. functools.wraps copies the wrapped function into them; it is left out
        if a cell holds it as well, as is usual."""
        own = dict(vars(function))
        if "__wrapped__" in own and any(own["__wrapped__"] is _content(cell) for _, cell in cells):
            del own["__wrapped__"]
        return self._named("attributes", own)

    def _cell(self, name, cell):
        value = _content(cell)
        return b"empty" if value is _EMPTY else self._named(name, value)

    def _named(self, name, value):
        try:
            return self.encode(value)
        except Unusable as error:
            raise Unusable(f"{error} in {name!r}") from None

    def _tensor(self, value):
        """Encodes a tensor by its values. Pickle's parts would hold the address of its memory."""
        said = [str(value.dtype), str(value.device), value.requires_grad, value.is_leaf, vars(value)]
        try:
            values = keys.encode(value.detach().cpu().numpy())
        except (RuntimeError, TypeError):
            raise Unusable(f"a {value.dtype} tensor") from None
        return frame(b"t", _place_of(type(value)), self.encode(said), values)

    def _object(self, value):
        reduced = _reduced(value)
        if isinstance(reduced, str):
            wrapped = getattr(value, "__wrapped__", None)  # a name stands for one function at a time
            return frame(b"T", keys.encode([module_of(value), reduced]), self.encode(wrapped))
        make, *parts = reduced
        if make is type(value) and isinstance(value, (set, frozenset)):  # of a subclass; they have no order
            return frame(b"s", self.encode([make, set(value), parts[1:]]))
        parts = [list(part) if hasattr(part, "__next__") else part for part in parts]
        return frame(b"o", self.encode(make), self.encode(parts))


def encode(function, is_lenient=False):
    """Returns the bytes of a function, or of values that hold functions. Raises Unusable for a value whose bytes
    differ between processes; with `is_lenient`, such a value's class stands for it."""
    return keys.encode_whole(function, _Reader(is_lenient).other)
