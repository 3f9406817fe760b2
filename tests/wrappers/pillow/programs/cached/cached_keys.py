"""Checks that stoker.cached distinguishes the values that a function can distinguish. Two values
have the same key if, and only if, their descriptions are equal.

Each description makes two values. A number describes an atom, (kind, descriptions) a container of values.
"""

import array
import collections
import os
import pathlib
import random
import sys

import numpy

from stoker._store import keys

RECORDS = [("x", "<i4"), ("label", "<i4")]


def filled(dtype, shape=(3,)):
    """Returns an array of this type, with the same bytes for all types."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape)) * dtype.itemsize
    return numpy.frombuffer(bytes(range(1, 1 + count)), numpy.uint8).view(dtype).reshape(shape)


def fields(**parts):
    return numpy.dtype(parts)


def dtypes():
    """Returns different types of eight bytes."""
    names, formats = ["a", "b"], ["<i4", "<i4"]
    return [
        RECORDS, [("y", "<i4"), ("score", "<i4")], [("x", "<f4"), ("label", "<f4")],
        [("x", ">i4"), ("label", "<i4")], [("label", "<i4"), ("x", "<i4")], [("x", "<i8")],
        [("x", "<i4"), ("label", "<u4")], [("x", "<i4"), ("label", "V4")], [("x", "<i4", (2,))],
        [("x", "<i4", (1, 2))], [("x", "<i4", (2, 1))], [("x", "<i2", (2,)), ("y", "<i4")],
        [("x", [("y", "<i4"), ("z", "<i4")])], [("x", [("y", "<i4"), ("w", "<i4")])],
        [("x", [("y", "<i4")]), ("z", "<i4")], [(("title", "x"), "<i4"), ("label", "<i4")],
        [(("other", "x"), "<i4"), ("label", "<i4")], [("x", "S4"), ("label", "S4")],
        [("x", "U1"), ("label", "U1")], [("x", "<M8[ns]")], [("x", "<M8[us]")], [("x", "<m8[us]")],
        fields(names=names, formats=formats), fields(names=names, formats=formats, offsets=[4, 0]),
        fields(names=names, formats=formats, offsets=[0, 0], itemsize=8),
        fields(names=names, formats=["<i2", "<i2"], offsets=[0, 4]),
        fields(names=names, formats=["<i2", "<i2"], offsets=[0, 2], itemsize=8),
        numpy.dtype({"names": names, "formats": ["<i2", "<i4"]}, align=True),
        fields(names=names, formats=["<i2", "<i4"], offsets=[0, 4]),
        numpy.dtype((numpy.record, RECORDS)), numpy.dtype(RECORDS, metadata={"made": 1}),
        numpy.dtype(RECORDS, metadata={"made": True}),
        numpy.dtype([("x", numpy.dtype("<i8", metadata={"a": 1}))]),
        "<i8", ">i8", "<u8", "<f8", "V8", "S8", "<U2", ">U2", "<M8[s]", "<M8[ms]", "<M8[25s]", "<m8[s]",
        "longlong", "<c8",
    ]


def arrays():
    """Yields makers of arrays that differ in kind, order, shape or value."""
    for dtype in dtypes():
        yield lambda dtype=dtype: filled(dtype)
    for shape in (), (1,), (1, 3), (3, 1), (2, 3), (3, 2), (0,), (0, 3):
        yield lambda shape=shape: filled("<i4", shape)
    yield lambda: numpy.asfortranarray(filled("<i4", (2, 3)))
    yield lambda: filled("<i4", (4, 3))[::2]
    yield lambda: filled("<i4", (2, 3))[:, ::-1]
    yield lambda: numpy.array([0.0, -0.0])
    yield lambda: numpy.array([-0.0, 0.0])
    yield lambda: numpy.zeros(2, "?")
    for kind in "int8", "uint8", "bool_", "int64", "longlong", "float64", "float32", "complex64":
        yield lambda kind=kind: getattr(numpy, kind)(1)
    yield lambda: numpy.array(1)
    for kind, *value in (("str_", "1"), ("bytes_", b"1"), ("str_", "1\0"), ("datetime64", 1, "s"),
                         ("datetime64", 1, "ms"), ("timedelta64", 1, "s"), ("void", b"1")):
        yield lambda kind=kind, value=value: getattr(numpy, kind)(*value)
    for dtype in dtypes()[:5]:
        yield lambda dtype=dtype: filled(dtype)[0]


def constants():
    """Returns different plain values."""
    return [
        None, True, False, 0, 1, -1, 2**70, 10**5000, 0.0, -0.0, 1.0, float("inf"), float("nan"), 1j, 1 + 0j,
        complex(-0.0, 0), complex(0, -0.0), complex(0, 0), "", "1", "None", "True", "\0", "\ud800", "é", "e\u0301",
        b"", b"1", b"\0", b"None",
        bytearray(b""), bytearray(b"1"), "i\1\0\0\0",
        pathlib.PurePosixPath("1"), pathlib.PosixPath("1"), pathlib.PureWindowsPath("1"),
        pathlib.PurePosixPath("/1"), pathlib.PurePosixPath("//1"), pathlib.PureWindowsPath("c:1"),
        pathlib.PureWindowsPath("C:1"), pathlib.PureWindowsPath("c:/1"), pathlib.Path("\udcff"),
    ]


ATOMS = [lambda value=value: value for value in constants()] + list(arrays())
# No two of which are equal.
HASHABLE = [place for place, value in enumerate(constants()) if type(value) in (type(None), str, bytes)]
KINDS = ["tuple", "list", "dict", "set", "frozenset"]


def described(draw, depth):
    """Draws a description at random."""
    if depth == 0 or draw.random() < 0.3:
        return draw.randrange(len(ATOMS))
    kind, count = draw.choice(KINDS), draw.randrange(4)
    if "set" in kind:
        return kind, tuple(sorted(draw.sample(HASHABLE, count)))
    parts = tuple(described(draw, depth - 1) for _ in range(count))
    return (kind, tuple(zip(draw.sample(HASHABLE, count), parts))) if kind == "dict" else (kind, parts)


def made(description):
    """Makes a new value of this description."""
    if type(description) is int:
        return ATOMS[description]()
    kind, parts = description
    if kind == "dict":
        return {made(key): made(value) for key, value in parts}
    return {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind](map(made, parts))


class Name(str):
    pass


class Names(list):
    pass


class Whole(int):
    pass


class Place(pathlib.PurePosixPath):
    pass


class Path:
    def __init__(self, state):
        self.state = state

    def __fspath__(self):
        return "1"


Pair = collections.namedtuple("Pair", "x y")


def refused():
    """Returns values with hidden state, or with state that differs between processes."""
    deep = []
    for _ in range(100000):
        deep = [deep]
    itself, mapping = [], {}
    itself.append(itself)
    mapping["it"] = (mapping,)
    return {
        "Name": Name("1"), "Names": Names([1]), "Whole": Whole(1), "Place": Place("1"),
        "Path": Path(1), "Pair": Pair(1, 2), "OrderedDict": collections.OrderedDict(a=1),
        "memoryview": memoryview(b"1"), "array.array": array.array("b", b"1"),
        "range": range(3), "ellipsis": ..., "object": object(), "function": refused, "type": int,
        "array of objects": numpy.array([None]), "array of objects ": numpy.zeros(1, [("x", "O")]),
        "recarray": numpy.rec.array([(1, 2)], RECORDS), "matrix": numpy.matrix([[1]]),
        "MaskedArray": numpy.ma.array([1, 2], mask=[0, 1]), "DirEntry": next(os.scandir("/")),
        "value that holds itself": itself, "value that holds itself ": mapping, "value that holds itself  ": deep,
    }


def wrong_refusals():
    for name, value in refused().items():
        try:
            yield name, keys.encode_whole([value])
        except keys.Unusable as error:
            if name.strip() not in str(error):
                yield name, str(error)


def collisions(descriptions):
    seen = {}
    for description in descriptions:
        key = keys.encode_whole(made(description))
        if key != keys.encode_whole(made(description)):
            yield "not the same", description
        if seen.setdefault(key, description) != description:
            yield seen[key], description


def main(seed):
    draw = random.Random(seed)
    found = list(collisions(range(len(ATOMS))))
    found += collisions([described(draw, 4) for _ in range(20000)])
    for line in sorted({repr(line) for line in found + list(wrong_refusals())}):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1])
