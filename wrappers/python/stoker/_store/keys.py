"""Arguments as bytes, equal in every process. Two values have the same bytes if, and only if, a function that
only reads them sees no difference.

Each type has bytes of its own, and only exact types are taken: a subclass may have more state. A dict's order
and an array's memory layout are part of the value. The identity of objects and the order of a set are not.
"""

import functools
import pathlib
import struct
import sys


class Unusable(TypeError):
    """A value of which no key can be made."""


def frame(kind, *parts):
    sizes = struct.pack(f"<{len(parts)}Q", *map(len, parts))
    return b"".join([kind, struct.pack("<I", len(parts)), sizes, *parts])


# ---- plain values ----

def _text(value):
    return value.encode("utf-8", "surrogatepass")


def _named(value, _):
    return repr(value).encode()


def _sequence(kind, value, other):
    return frame(kind, *[encode(each, other) for each in value])


def _set(kind, value, other):
    return frame(kind, *sorted(encode(each, other) for each in value))


def _dict(value, other):
    return frame(b"d", *[encode(part, other) for pair in value.items() for part in pair])


def _path(value, _):
    """Encodes a path and its parts: two different Windows paths may have the same text."""
    return frame(b"p", type(value).__name__.encode(), *map(_text, (str(value), *value.parts)))


_ENCODERS = {
    type(None): _named,
    bool: _named,
    int: lambda value, _: frame(b"i", hex(value).encode()),  # str() refuses thousands of digits
    float: lambda value, _: frame(b"f", struct.pack("<d", value)),
    complex: lambda value, _: frame(b"c", struct.pack("<dd", value.real, value.imag)),
    str: lambda value, _: frame(b"s", _text(value)),
    bytes: lambda value, _: frame(b"b", value),
    bytearray: lambda value, _: frame(b"B", value),
    tuple: functools.partial(_sequence, b"t"),
    list: functools.partial(_sequence, b"l"),
    set: functools.partial(_set, b"S"),
    frozenset: functools.partial(_set, b"Z"),
    dict: _dict,
    pathlib.PurePosixPath: _path,
    pathlib.PureWindowsPath: _path,
    pathlib.PosixPath: _path,
}


# ---- NumPy's ----

def _field(dtype, name, other):
    kind, *place = dtype.fields[name]
    return frame(b"F", _dtype(kind, other), encode([name, *place], other))


def _dtype(dtype, other):
    """Encodes a dtype. Equal dtypes may differ in class and metadata; dtypes with one `str`, in their fields."""
    if type(dtype).__module__.partition(".")[0] != "numpy":
        return other(dtype)
    kind, metadata = dtype.type, dict(dtype.metadata or ()) or None
    said = [kind.__module__, kind.__qualname__, dtype.str, dtype.char, dtype.isalignedstruct, metadata]
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return frame(b"U", _dtype(base, other), encode(shape, other), encode(said, other))
    return frame(b"D", encode(said, other), *[_field(dtype, name, other) for name in dtype.names or ()])


def _array(value, other):
    """Encodes an array, with its strides unless its rows lie one behind the other, as in most arrays."""
    strides = None if value.flags.c_contiguous else value.strides
    return frame(b"a", _dtype(value.dtype, other), encode([value.shape, strides]), value.tobytes())


def _scalar(value, other):
    return frame(b"n", _dtype(value.dtype, other), value.tobytes())


def _numpys_encoder(value):
    """Returns the encoder for a value of NumPy's own classes, or None for other values."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)) or value.dtype.hasobject:
        return None
    if type(value) is numpy.ndarray:
        return _array
    return _scalar if type(value) is value.dtype.type else None


# ---- any value ----

def _refuse(value):
    kind = type(value)
    is_array = kind.__module__ == "numpy" and kind.__name__ == "ndarray"
    raise Unusable("an array of objects" if is_array else f"a {kind.__module__}.{kind.__qualname__}")


def encode(value, other=_refuse):
    """Returns the bytes of a plain value, a path of pathlib's, an array of NumPy's, or a container of such
    values. `other` gives the bytes of all other values, or raises Unusable."""
    encoder = _ENCODERS.get(type(value)) or _numpys_encoder(value)
    return other(value) if encoder is None else encoder(value, other)


def encode_whole(value, other=_refuse):
    """Returns the bytes of encode(). Raises Unusable for a value that holds itself, too."""
    try:
        return encode(value, other)
    except RecursionError:
        raise Unusable("a value that holds itself, or is nested too deeply") from None
