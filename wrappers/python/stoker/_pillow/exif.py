"""EXIF data, as Pillow's Exif.load() takes it: its first directory, whose values stay bytes until they are wanted.

Pillow looks at each tag's name and at its log for each tag. Here a directory is read in one pass if Pillow would read all
of it without a warning and would log nothing. Pillow reads all other data itself.
"""

import io
import logging
import struct
import sys

from PIL import Image, ImageFile

from .. import _core
from .._base import header
from .._base.own import attempt, attempt_beside
from . import versions

ENTRY_BYTES = 12
EXIF_CLASS = Image.Exif
_SAMPLE = {0x010F: (2, 19, b"a maker of cameras\0"), 0x0112: (3, 1, "H", 6), 0x011A: (5, 1, "2L", 300, 1), 0x0128: (3, 1, "H", 2)}
_METHODS = "__init__", "reset", "load", "_ensure_read", "_unpack"

_latest = None, None  # the last data, and what it is as _Parsed


class Finding:
    """A comparison with Pillow's plugin for TIFF, made once Pillow has imported the plugin and would log nothing of the
    examples."""

    __slots__ = ("_kind", "known")

    def __init__(self, kind):
        self._kind = kind
        self.known = None

    def get(self):
        """Returns the object of the kind, or None before there can be one. It knows nothing if the examples differ or fail."""
        plugin = sys.modules.get("PIL.TiffImagePlugin")
        if self.known is None and plugin is not None and not is_logging(plugin.logger):
            self.known = unknown = self._kind()  # for the examples, for other threads, and for good if an error comes
            self.known = attempt_beside(self._kind().look_at, plugin) or unknown
        return self.known


class _Known:
    """Pillow's own functions and classes, and the attributes of a directory that Pillow has read."""

    is_right = False

    def look_at(self, plugin):
        kind = plugin.ImageFileDirectory_v2
        self.logger, self.kind, self.sizes = plugin.logger, kind, sizes_of(kind)
        methods = versions.parts_of(kind, _METHODS)
        self.parts = (*(methods or ()), ImageFile, ("_safe_read", ImageFile._safe_read),
                      type(self.logger), ("debug", type(self.logger).debug),
                      plugin, ("ImageFileDirectory_v2", kind, "logger", plugin.logger))
        self.state = {}
        self.is_right = methods is not None and all(map(self._is_same, header.ORDERS))
        return self

    def _is_same(self, mark):
        """Compares what both functions make of an example."""
        data, one, other = sample(mark, _SAMPLE), EXIF_CLASS(), EXIF_CLASS()
        versions.PLAIN["Exif.load"](one, data)
        self.state = dict(vars(one._info))
        return _read(self, other, data) and _seen(one) == _seen(other)

    def may_read(self):
        return self.is_right and _core.are_as_seen(self.parts) and not is_logging(self.logger)


_finding = Finding(_Known)


def is_logging(logger):
    """Returns true if Pillow's log of tags would be seen."""
    return logger.isEnabledFor(logging.DEBUG) or "debug" in vars(logger)


def sample(mark, entries):
    """Returns EXIF data without Pillow's help. `entries`: {tag: (type, count, bytes), (type, count, format, numbers...), or a
    directory}."""
    order = header.ORDERS[mark]
    return (header.EXIF + mark + struct.pack(order + "L", len(mark) + 4)
            + _core.exif_write(_packed(entries, order), order == "<", len(mark) + 4))


def _packed(entries, order):
    return {tag: _packed(each, order) if type(each) is dict
            else (*each[:2], each[2] if len(each) == 3 else struct.pack(order + each[2], *each[3:]))
            for tag, each in entries.items()}


def _seen(exif):
    """Returns all attributes of EXIF data, in their order."""
    own, info = vars(exif), vars(exif._info)
    return ([(name, value) for name, value in own.items() if name not in ("fp", "_info")], list(own),
            exif.fp.getvalue(), exif.fp.tell(), [(name, type(value), value) for name, value in info.items()])


def sizes_of(kind):
    """Returns the bytes of a value of each type that Pillow's directories know, as _core.exif_directory() takes them."""
    units = kind._load_dispatch
    return bytes(units[each][0] if each in units else 0 for each in range(max(units) + 1))


class _Parsed:
    """EXIF data that Pillow would read without a warning."""

    __slots__ = ("body", "order", "begin", "end", "tags", "types", "elsewhere", "next")

    def __init__(self, body, order, begin, found):
        self.body, self.order, self.begin = body, order, begin
        self.tags, self.types, self.elsewhere = found
        self.end = begin + 2 + ENTRY_BYTES * len(self.tags)
        self.next, = struct.unpack_from(order + "L", body, self.end)


def _parse(data, sizes):
    """Returns data as _Parsed, or None if Pillow is to read it."""
    body = data[len(header.EXIF):]
    order = header.ORDERS.get(body[:4])
    if order is None or len(body) < 10 or not data.startswith(header.EXIF):
        return None
    begin, = struct.unpack_from(order + "L", body, 4)
    found = _core.exif_directory(body, begin, order == "<", sizes)
    return None if found is None else _Parsed(body, order, begin, found)


def _parsed(data, sizes):
    """Returns _parse(data). An image that exif_transpose() makes has the very data of the image before."""
    global _latest
    latest, parsed = _latest
    if latest is not data:
        parsed = _parse(data, sizes)
        _latest = data, parsed
    return parsed


def _read(known, exif, data):
    """Reads data as Exif.load() does. Returns false, and has changed nothing, if Pillow is to read it."""
    parsed = _parsed(data, known.sizes)
    if parsed is None:
        return False
    info = known.kind.__new__(known.kind)
    info.__dict__ = state = {**known.state, "_prefix": parsed.body[:2], "_endian": parsed.order, "_tags_v1": {}, "_tags_v2": {},
                             "_tagdata": parsed.tags.copy(), "tagtype": parsed.types.copy(), "_offset": parsed.begin,
                             "next": parsed.next}
    if "_tag_data_size" in state:
        state["_tag_data_size"] = parsed.elsewhere
    exif._loaded_exif = data
    exif.fp = io.BytesIO(parsed.body)
    exif.fp.seek(parsed.end + 4)
    exif.head = parsed.body[:8]
    exif._info = info
    exif.endian = parsed.order
    return True


def may_read():
    """Returns true if Pillow's directories are read here, and Pillow would log nothing of them."""
    known = _finding.get()
    return known is not None and known.may_read()


def _loaded(exif, data):
    """Returns true if the data was read here."""
    if (type(data) is not bytes or type(exif) is not EXIF_CLASS or exif._loaded_exif is not None
            or exif._data or exif._hidden_data or exif._ifds or exif._info is not None):
        return False
    return may_read() and _read(_finding.known, exif, data)


def load(self, data):
    if not attempt(_loaded, self, data):
        versions.PLAIN["Exif.load"](self, data)
