"""The index of an MPO, several JPEGs in a file, as Pillow's parser has it in an image's attributes.

Only an index of the usual form is read here: three tags, and all of their data in place. Pillow reads any other index, since
it may warn of it.
"""

import itertools
import logging
import struct
import sys

from .. import _core
from .._base import header
from . import versions

_FORMAT = {order: order + "IH HHI4s HHII HHII" for order in "<>"}  # the directory behind the order, with its three tags
_VERSION, _COUNT, _ENTRIES = 0xB000, 0xB001, 0xB002  # tags
_LONG, _UNDEFINED = 4, 7  # types
_DIRECTORY, _DIRECTORY_BYTES = 8, 2 + 3 * 12 + 4
_ENTRY_BYTES, _MOST = 16, 16
_KINDS = {0x000000: "Undefined", 0x010001: "Large Thumbnail (VGA Equivalent)",
          0x010002: "Large Thumbnail (Full HD Equivalent)", 0x020001: "Multi-Frame Image (Panorama)",
          0x020002: "Multi-Frame Image: (Disparity)", 0x020003: "Multi-Frame Image: (Multi-Angle)",
          0x030000: "Baseline MP Primary Image"}
_GAIN_MAP = b' hdrgm:Version="'  # in EXIF data it makes Pillow open the first image alone
_PLACES, _FIRST_SIZE = "_MpoImageFile__mpoffsets", "_initial_size"  # attributes; an older Pillow has the last
_METHODS = "__init__", "_unpack", "_ensure_read", "load", "__getitem__", "__setitem__", "_setitem", "__contains__"


class Index:
    """The index of one file."""

    __slots__ = ("data", "begin", "version", "entries")

    def __init__(self, data, begin, version, entries):
        self.data = data
        self.begin = begin  # of the data in the file
        self.version = version
        self.entries = entries

    def info(self):
        """Returns what Pillow's _getmp() does."""
        return {_VERSION: self.version, _COUNT: len(self.entries), _ENTRIES: [_entry(*each) for each in self.entries]}

    def places(self):
        """Returns the beginnings of the images in the file."""
        return [0] + [entry[2] + self.begin for entry in self.entries[1:]]


def _entry(flags, size, place, first, second):
    return {"Attribute": {"DependentParentImageFlag": bool(flags & 1 << 31), "DependentChildImageFlag": bool(flags & 1 << 30),
                          "RepresentativeImageFlag": bool(flags & 1 << 29), "Reserved": (flags & 3 << 27) >> 27,
                          "ImageDataFormat": "JPEG", "MPType": _KINDS.get(flags & 0xFFFFFF, "Unknown")},
            "Size": size, "DataOffset": place, "EntryNo1": first, "EntryNo2": second}


def of(head):
    """Returns the Index in a header, or None if there is none of the usual form."""
    begin, end = header.mp_index(head) or (0, 0)
    data = head[begin + len(header.MPF):end]
    order = header.ORDERS.get(data[:4])
    if order is None or len(data) < _DIRECTORY + _DIRECTORY_BYTES:
        return None
    at, tags, *first, version, two, kind, one, count, three, kind_3, size, place = struct.unpack_from(_FORMAT[order], data, 4)
    if ([at, tags, *first, two, kind, one, three, kind_3, size]
            != [_DIRECTORY, 3, _VERSION, _UNDEFINED, 4, _COUNT, _LONG, 1, _ENTRIES, _UNDEFINED, _ENTRY_BYTES * count]
            or not 1 < count <= _MOST or place + size > len(data)):
        return None
    entries = list(struct.iter_unpack(order + "LLLHH", data[place:place + size]))
    return None if any([entry[0] & 7 << 24 for entry in entries]) else Index(data, begin + len(header.MPF), version, entries)


def of_all_kinds(order):
    """Returns the data of an index with an entry of each kind, and of all flags."""
    flags = [kind | 1 << 27 + n % 5 for n, kind in enumerate((*_KINDS, 0x123456))]
    entries = b"".join(struct.pack(header.ORDERS[order] + "LLLHH", each, 1000 + n, n and 1 << 31 - n, n, 7 * n)
                       for n, each in enumerate(flags))
    place = _DIRECTORY + _DIRECTORY_BYTES + 5
    head = struct.pack(_FORMAT[header.ORDERS[order]], _DIRECTORY, 3, _VERSION, _UNDEFINED, 4, b"0123", _COUNT, _LONG, 1, len(flags),
                       _ENTRIES, _UNDEFINED, len(entries), place)
    return order + head + bytes(4 + 5) + entries


class Place:
    """The places of an index in the attributes of an image."""

    __slots__ = ("_entry", "_is_last", "_is_mpo", "_parts")

    def __init__(self, state, is_mpo):
        """Takes the index out of the attributes."""
        data = header.MPF + state["info"]["mp"]
        self._entry = state["applist"].index(("APP2", data))
        self._is_last = state["app"]["APP2"] == data  # ICC profiles have the same name
        self._is_mpo = is_mpo
        self._parts = _parts(is_mpo)
        if is_mpo:
            state.update({"mpinfo": None, _PLACES: None, "_fp": None})

    def is_known(self, exif):
        """Returns true if Pillow's own functions would read an index, and log nothing of it."""
        return (_core.are_as_seen(self._parts) and not sys.modules["PIL.TiffImagePlugin"].logger.isEnabledFor(logging.DEBUG)
                and (exif is None or _GAIN_MAP not in exif))

    def put(self, own, index):
        """Puts an index into the attributes, as Pillow does."""
        data = header.MPF + index.data
        own["applist"][self._entry] = "APP2", data
        own["info"]["mp"] = index.data
        if self._is_last:
            own["app"]["APP2"] = data
        if self._is_mpo:
            own["mpinfo"], own["n_frames"], own[_PLACES], own["_fp"] = index.info(), len(index.entries), index.places(), own["fp"]
            if _FIRST_SIZE in own:
                own[_FIRST_SIZE] = own["_size"]
        else:
            own["info"]["mpoffset"] = index.begin


def _parts(is_mpo):
    """Returns the functions that read an index, as _core.are_as_seen() takes them. Raises ValueError if one of them is not
    Pillow's."""
    owners = [(sys.modules["PIL.TiffImagePlugin"].ImageFileDirectory_v2, _METHODS)]
    if is_mpo:
        owners.append((sys.modules["PIL.MpoImagePlugin"].MpoImageFile, ("__init__", "_open", "_after_jpeg_open", "adopt")))
    parts = [versions.parts_of(*each) for each in owners]
    if None in parts:
        raise ValueError("not Pillow's own")
    return tuple(itertools.chain(*parts))
