"""Values of EXIF data that was read, and the bytes that Pillow's Exif.tobytes() makes of it.

exif_transpose() takes one value of each photograph, and makes the bytes anew for those that it turns. Pillow converts each value
twice, in an object with a log for each tag. Here plain values of the usual types are read and written as Pillow does it.
Pillow keeps all else: values of other types, what it would warn of, and what it would log.
"""

import io
import struct
import sys
from collections.abc import Mapping
from itertools import chain

from PIL import ExifTags, TiffTags

from .. import _core
from .._base import header
from .._base.own import attempt
from . import exif, versions

_ASCII, _SHORT, _LONG, _RATIONAL = 2, 3, 4, 5  # types of TIFF
_EXIF, _GPS, _INTEROP = 0x8769, 0x8825, 0xA005  # tags of directories

_EXIF_METHODS = "__iter__", "__contains__", "_fixup", "_fixup_dict", "_get_ifd_dict", "get_ifd", "_get_head"
_OF_CLASS = "endian", "bigtiff", "_loaded"  # values that the class has until an object has its own
_METHODS = ("__init__", "__getitem__", "__setitem__", "__delitem__", "__iter__", "__contains__", "_setitem", "_pack", "_unpack",
            "load", "tobytes")
_SAMPLE = {
    0x010F: (2, 19, b"a maker of cameras\0"), 0x0112: (3, 1, "H", 6), 0x011A: (5, 1, "2L", 600, 2), 0x0128: (3, 1, "H", 2),
    0x9C9B: (1, 7, b"a title"),
    _EXIF: {0x829A: (5, 1, "2L", 10, 1000), 0x8827: (3, 1, "H", 400), 0x9000: (7, 4, b"0232"), 0x9201: (10, 1, "2l", -6, 4),
            0x9003: (2, 20, b"2010:01:01 10:10:10\0"), 0x9286: (7, 9, b"a comment"), 0xA002: (4, 1, "L", 70000),
            _INTEROP: {1: (2, 4, b"R98\0")}},
    _GPS: {0: (1, 4, b"\2\3\0\0"), 1: (2, 2, b"N\0"), 2: (5, 3, "6L", 47, 1, 0, 7, 2500, 200)}}

_INTEGERS = int, getattr(ExifTags, "Base", int)  # Pillow's exif_transpose() names its tag


class Left(Exception):
    """These values are left to Pillow."""


class _Known:
    """Pillow's own functions and classes."""

    is_right, kind = False, None

    def look_at(self, plugin):
        kind, info = plugin.ImageFileDirectory_v2, TiffTags.TagInfo
        self.kind, self.sizes, self.rational, self.info = kind, exif.sizes_of(kind), plugin.IFDRational, info
        self.fraction = sys.modules["fractions"].Fraction  # not imported here: in a subinterpreter that warns
        self.reads_groups = "group" in exif.EXIF_CLASS._get_ifd_dict.__code__.co_varnames
        methods = [versions.parts_of(*each) for each in (
            (exif.EXIF_CLASS, _EXIF_METHODS), (kind, _METHODS), (TiffTags, ("lookup",)), (info, ("cvt_enum",)),
            (self.rational, ("__init__", "limit_rational")), (plugin, ("_limit_rational", "_limit_signed_rational")))]
        tables = kind._load_dispatch, kind._write_dispatch
        self.parts = (exif.EXIF_CLASS, ("__getitem__", item, "items", Mapping.items, "get", Mapping.get),
                      *chain.from_iterable(each or () for each in methods),
                      plugin, ("IFDRational", self.rational, "ImageFileDirectory_v2", kind),
                      TiffTags, ("TAGS_V2", TiffTags.TAGS_V2, "TAGS_V2_GROUPS", TiffTags.TAGS_V2_GROUPS, "TagInfo", info),
                      *chain.from_iterable((table, tuple(chain.from_iterable(table.items()))) for table in tables))
        self.is_right = all(methods) and _core.are_as_seen(self.parts) and all(map(self._is_same, header.ORDERS))
        return self

    def _is_same(self, mark):
        """Compares what both functions make of an example, and how they leave it."""
        data, made = exif.sample(mark, _SAMPLE), []
        for function in (versions.PLAIN["Exif.tobytes"], lambda one: _tobytes(self, one, 8)):
            one = exif.EXIF_CLASS()
            versions.PLAIN["Exif.load"](one, data)
            self.attributes, self.info_attributes = {*vars(one), *_OF_CLASS}, frozenset(vars(one._info))
            try:
                made.append((function(one), _seen(one)))
            except Left:
                return False
        return made[0] == made[1]

    def may_write(self):
        return self.is_right and _core.are_as_seen(self.parts) and exif.may_read()


_finding = exif.Finding(_Known)


def _seen(one):
    """Returns what is kept of EXIF data, in its order."""
    return ([*one._data.items()], [*one._ifds.items()], [*map(list, one._ifds.values())], one.fp.tell(), [*vars(one)],
            [(name, value) for name, value in vars(one._info).items()])


# ---- values ----

def _info(tag, group):
    """Returns (the type, the number of values, the names of values) of a tag in Pillow's tables."""
    found = _table(group).get(tag)
    return (None, None, None) if found is None else (found.type, found.length, found.enum)


def _table(group):
    return TiffTags.TAGS_V2 if group is None else TiffTags.TAGS_V2_GROUPS.get(group, {})


def _converted(known, order, found, read_group, group):
    """Returns ({tag: the value as Exif gives it}, {tag: (type, count, bytes) as Pillow writes it})."""
    data, kinds = found
    made = _core.exif_values(data, kinds, order == "<", _table(read_group), _table(group), known.rational,
                             known.info)
    if made is None:
        raise Left
    return made


def _written(known, order, value, info):
    """Returns (type, count, bytes) of a value that was taken before, or set."""
    kind, _, names = info
    if type(value) is int and kind in (None, _SHORT, _LONG):
        kind = kind or (_SHORT if value < 1 << 16 else _LONG)
        if 0 <= value < 1 << (16 if kind == _SHORT else 32):
            return kind, 1, struct.pack(order + ("H" if kind == _SHORT else "L"), value)
    elif type(value) is str and kind in (None, _ASCII) and not names:
        data = value.encode("ascii", "replace") + b"\0"
        return _ASCII, len(data), data
    elif type(value) is known.rational and type(value._val) is known.fraction and kind in (None, _RATIONAL):
        parts = value._val.numerator, value._val.denominator  # reduced, as Pillow does it
        if 0 <= min(parts) and max(parts) < 1 << 32:
            return _RATIONAL, 1, struct.pack(order + "2L", *parts)
    raise Left


# ---- directories ----

class _Inner:
    """The directories in one directory, as Exif.get_ifd() reads them."""

    def __init__(self, known, one):
        self._known, self._order = known, one._info._endian
        self._body = one.fp.getvalue()
        self.found, self.end = {}, None

    def entries(self, tag, place):
        """Returns the entries of a directory at that place, with those of the directory in it."""
        values, entries = self._read(tag, place, None)
        if tag == _EXIF and _INTEROP in values:
            entries[_INTEROP] = self._read(ExifTags.IFD.Interop, values[_INTEROP], _EXIF)[1]
        return entries

    def _read(self, tag, place, group):
        """`group`: of the directory that the tag is in."""
        found = None
        if type(place) is int and _info(tag, group)[0] == _LONG:
            found = _core.exif_directory(self._body, place, self._order == "<", self._known.sizes)
        if found is None:
            raise Left
        known, data = self._known, found[0]
        values, entries = _converted(known, self._order, found[:2], tag if known.reads_groups else None, tag)
        self.found[tag] = {each: values[each] for each in set(data) | set()}  # the order in which Pillow has them
        self.end = place + 2 + exif.ENTRY_BYTES * len(data) + 4
        return values, entries


def _is_of_pillow(known, one):
    """Returns true unless a class, or an attribute of the object's own, is the program's."""
    info = one._info
    return (type(one) is exif.EXIF_CLASS and type(info) is known.kind and known.attributes.issuperset(vars(one))
            and known.info_attributes.issuperset(vars(info)))


def _is_plain(known, one):
    """Returns true for EXIF data as it is once it was read, but for single tags that were taken, set or deleted."""
    info = one._info
    return (_is_of_pillow(known, one) and type(one.fp) is io.BytesIO and not one._ifds and not one._hidden_data
            and not info._tags_v2 and not getattr(one, "bigtiff", False)
            and getattr(info, "group", None) is None and one.endian == info._endian)


def _tobytes(known, one, offset):
    """Returns the bytes, and leaves the data as Pillow leaves it: with each value taken. Raises Left before a change."""
    if not _is_plain(known, one):
        raise Left
    info, order, inner = one._info, one.endian, _Inner(known, one)
    values, entries = _converted(known, order, (info._tagdata, info.tagtype), None, None)
    for tag, value in one._data.items():
        entries[tag] = _written(known, order, value, _info(tag, None))
    tags = set(one._data)
    tags.update(iter(set(info._tagdata) | set()))  # one by one, as Pillow does: a set has an order of its own
    for tag in filter((_EXIF, _GPS).__contains__, tags):
        entries[tag] = inner.entries(tag, values[tag] if tag in values else one._data[tag])
    directory = _core.exif_write(entries, order == "<", offset)
    if directory is None:
        raise Left
    made = header.EXIF + one._get_head() + directory
    one._data.update([(tag, values[tag]) for tag in tags if tag in values])
    info._tagdata.clear()
    one._ifds.update(inner.found)
    if inner.end is not None:
        one.fp.seek(inner.end)
    return made


def _take(known, one, tag):
    """Returns a value, and leaves the data as Exif's [] leaves it. Raises Left, or KeyError, before a change."""
    info = one._info
    if not _is_of_pillow(known, one) or tag in one._data or info._tags_v2:
        raise Left
    found = {tag: info._tagdata[tag]}, {tag: info.tagtype[tag]}
    value = one._data[tag] = _converted(known, info._endian, found, getattr(info, "group", None), None)[0][tag]
    del info._tagdata[tag]
    return value


def _try(function, one, argument):
    """Returns what a function returns, or None if Pillow is to do it."""
    if one._info is None or type(argument) not in _INTEGERS:
        return None
    known = _finding.get()
    try:
        return function(known, one, argument) if known is not None and known.may_write() else None
    except (Left, KeyError):
        return None


def tobytes(self, offset=8):
    made = attempt(_try, _tobytes, self, offset)
    return versions.PLAIN["Exif.tobytes"](self, offset) if made is None else made


def item(self, tag):
    value = attempt(_try, _take, self, tag) if _may_have(self, tag) else None
    return versions.PLAIN["Exif.item"](self, tag) if value is None else value


def _may_have(one, tag):
    """Returns false if the data surely has no such tag that is still to be converted: many programs look for some."""
    known = _finding.known
    return known is None or type(one._info) is not known.kind or tag in one._info._tagdata
