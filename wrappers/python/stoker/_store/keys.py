"""Arguments as bytes, the same for equal arguments in every process."""

import os
import struct


class Unusable(TypeError):
    """A value of which no key can be made."""


def frame(kind, *parts):
    sizes = struct.pack(f"<{len(parts)}Q", *map(len, parts))
    return b"".join([kind, struct.pack("<I", len(parts)), sizes, *parts])


def _array(value):
    kind = f"{value.dtype.str}{value.shape}".encode()
    if value.dtype.hasobject:
        raise Unusable("an array of objects")
    return frame(b"a", kind, value.tobytes())


def _refuse(value):
    kind = type(value)
    raise Unusable(f"a {kind.__module__}.{kind.__qualname__}")


def encode(value, other=_refuse):
    """bytes; Unusable for what is neither a plain value, nor a path, nor an array of NumPy, nor made
    of such: unless `other` gives bytes of it."""
    kind = type(value)
    if value is None or kind is bool:
        return repr(value).encode()
    if kind is int:
        return frame(b"i", str(value).encode())
    if kind is float:
        return frame(b"f", struct.pack("<d", value))
    if kind is complex:
        return frame(b"c", struct.pack("<dd", value.real, value.imag))
    if kind is str:
        return frame(b"s", value.encode("utf-8", "surrogatepass"))
    if kind in (bytes, bytearray):
        return frame(b"b", bytes(value))
    if kind in (tuple, list):
        return frame(b"t" if kind is tuple else b"l", *(encode(each, other) for each in value))
    if kind in (set, frozenset):
        return frame(b"S", *sorted(encode(each, other) for each in value))
    if kind is dict:
        pairs = sorted((encode(key, other), encode(item, other)) for key, item in value.items())
        return frame(b"d", *(part for pair in pairs for part in pair))
    if isinstance(value, os.PathLike):
        return frame(b"p", os.fsencode(value))
    if kind.__module__ == "numpy" and hasattr(value, "dtype"):
        return _array(value)
    return other(value)
