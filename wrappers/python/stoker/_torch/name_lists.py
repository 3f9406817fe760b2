"""Names of files in the lists that a data set has, and the directories that they are relative to.

Nothing of the program's runs here. Only values of the exact types of Python, NumPy, pandas, Arrow and torch are looked
into.
"""

import os
import pathlib
import sys
from collections import namedtuple
from itertools import islice
from operator import itemgetter

import torch

from .. import _core

_PATH = type(pathlib.Path())
_LEAST = 2  # a list of one name is no list of samples
_PARTS = 16  # parts of an item, columns of a table: so many are looked at
_DISTINCT = 8  # items that differ, so that they may be ids
_LONGEST = 4096  # characters of an id: a longer text is part of no path

_ENCODING = sys.getfilesystemencoding()

# The items of a list, a table or the like. `take`: returns those with these indices, as a list. `items`: the list, if it is
# one of Python's.
Rows = namedtuple("Rows", "count take items", defaults=(None,))

# Names of files. `take`: returns the names of the samples with these indices, as a list of str. `encode`: returns what
# encoded() does, or None if that has to ask take(). `indices`: an array.
Names = namedtuple("Names", "count take encode", defaults=(lambda indices: None,))


def encoded(names, indices):
    """Returns the paths of the samples with these indices as bytes, with a zero behind each."""
    found = names.encode(indices)
    return _encoded(names.take(indices)) if found is None else found


def _encoded(names):
    text = "\0".join([*names, ""])
    if ("\0" + text).count("\0/") != len(names):  # a path is relative
        text = "\0".join([*map(os.path.abspath, names), ""])
    return text.encode(_ENCODING, "surrogateescape")


# ---- lists ----

def rows_of(value, kinds="USO"):
    """Returns the Rows of a value, or None. `kinds`: those of NumPy's numbers."""
    kind, numpy = type(value), sys.modules.get("numpy")
    if kind in (list, tuple) or (kind is dict and 0 in value):
        return Rows(len(value), lambda indices: [*map(value.__getitem__, indices)], None if kind is dict else value)
    if kind is range:
        return Rows(len(value), lambda indices: [value[index] for index in indices])
    if kind is torch.Tensor and value.dim() == 1 and value.device.type == "cpu":
        return rows_of(value.detach().numpy(), kinds)
    if numpy and kind is numpy.ndarray and value.ndim in (1, 2) and value.dtype.kind in kinds:
        return Rows(len(value), lambda indices: value[numpy.array(indices)].tolist())
    return None


def _tables_of(value, kinds="USO"):
    """Yields the Rows of a list, or of each column of a table."""
    kind, pandas, arrow = type(value), sys.modules.get("pandas"), sys.modules.get("pyarrow")
    if pandas and kind is getattr(pandas, "Series", None):
        yield Rows(len(value), lambda indices: value.take(_within(len(value), indices)).tolist())
    elif pandas and kind is getattr(pandas, "DataFrame", None):
        for column in range(min(value.shape[1], _PARTS)):
            yield from _tables_of(value.iloc[:, column])
    elif arrow and kind is getattr(arrow, "Table", None):
        yield from map(rows_of_arrow, islice(value.columns, _PARTS))
    else:
        rows = rows_of(value, kinds)
        if rows is not None:
            yield rows


def _within(count, indices):
    """Returns the indices as a list. Raises IndexError, since the error that a library raises would be the program's."""
    asked = list(indices)
    if asked and not 0 <= min(asked) <= max(asked) < count:
        raise IndexError("no such row")
    return asked


def rows_of_arrow(column):
    """Returns the Rows of a column of an Arrow table. A column of images, as Hugging Face has them, has paths."""
    arrow = sys.modules["pyarrow"]
    if arrow.types.is_struct(column.type) and column.type.get_field_index("path") >= 0:
        column = arrow.chunked_array([chunk.field("path") for chunk in column.chunks], arrow.string())
    return Rows(len(column), lambda indices: [column[index].as_py() for index in _within(len(column), indices)])


def names_in(value, most, roots):
    """Yields Names for each part of a list's items that names a file. `most`: the greatest index that is known."""
    for rows in _tables_of(value):
        if rows.count > max(most, _LEAST - 1):
            yield from _names_in_rows(rows, roots)


def names_by_ids(value, table, most, roots):
    """Yields Names for a list of ids and a dict that has an item for each id."""
    ids = rows_of(value, "iuUO")
    if type(table) is not dict or ids is None or ids.count <= max(most, _LEAST - 1):
        return
    first = ids.take((0,))[0]
    if type(first) in (int, str) and first in table:
        rows = Rows(ids.count, lambda indices: [table[key] for key in ids.take(indices)])
        yield from _names_in_rows(rows, roots)


def ids_in(value, most):
    """Yields the Names of ids for each part of a list's items that differs from item to item. No file is looked for."""
    for rows in _tables_of(value, "USOiu"):
        if rows.count > max(most, _LEAST - 1):
            first = rows.take(range(min(rows.count, _DISTINCT)))
            for key in _keys_of(first[0]) if len({*map(type, first)}) == 1 else ():
                parts = [item if key is None else item[key] for item in first]
                kind = type(parts[0])
                if all(_may_be_id(part, kind) for part in parts) and len({*parts}) == len(first):
                    yield from names_of_ids(rows.count, _part_taker(rows.take, key, type(first[0])), kind)


def names_of_ids(count, take, kind):
    """Yields Names with paths as a rule can be learned from (cli/ahead/orders/name_rule.h). Files that are called by a
    number have as many digits as this has, or all have as many."""
    for form in ("/%s",) if kind is str else ("/%d", "/%020d"):
        yield Names(count, lambda indices, form=form: [form % _id(each, kind) for each in take(indices)])


def _may_be_id(value, kind):
    return type(value) is kind and (kind is int or kind is str and len(value) <= _LONGEST)


def _id(value, kind):
    """Raises TypeError for another value than an id. To make a text of it may be code of the program."""
    if not _may_be_id(value, kind):
        raise TypeError("no id")
    return value


def _part_taker(take, key, kind):
    return take if key is None else lambda indices: _parts(take(indices), key, kind)


def _parts(items, key, kind):
    """Raises TypeError for an item of another type than the first. To take a part of it may be code of the program."""
    if not {*map(type, items)} <= {kind}:
        raise TypeError("unlike the first")
    return [*map(itemgetter(key), items)]


def _names_in_rows(rows, roots):
    first = rows.take((0,))[0]
    for key in _keys_of(first):
        name = first if key is None else first[key]
        root = _root_of(name, roots) if _is_name(name) else None
        if root is not None:
            yield Names(rows.count, _taker(rows.take, key, type(first), root), _encoder(rows.items, key, root))


def _is_indexed_plainly(kind):
    return kind.__getitem__ is tuple.__getitem__ and kind.__len__ is tuple.__len__


def _keys_of(item):
    """Returns the keys of an item's parts; None is the key of an item that is a name."""
    if type(item) is dict:
        return [key for key in islice(item, _PARTS) if type(key) in (str, int)]
    if type(item) is list or (issubclass(type(item), tuple) and _is_indexed_plainly(type(item))):
        return range(min(len(item), _PARTS))
    return (None,)


def _taker(take, key, kind, root):
    part = _part_taker(take, key, kind)
    return lambda indices: _joined(root, part(indices))


def _encoder(items, key, root):
    """Returns a function that copies names and writes nothing where they lie: workers share that memory."""
    if items is None or type(key) not in (int, type(None)) or _ENCODING != "utf-8":
        return lambda indices: None
    place, before = -1 if key is None else key, os.fsencode(root)
    return lambda indices: _core.names_at(items, place, before, indices)


# ---- names ----

def _is_name(value):
    return type(value) in (str, bytes, _PATH) and _looks_like_one(os.fsdecode(value))


def _looks_like_one(name):
    return os.sep in name or "." in name


def _joined(root, names):
    """Returns the names as str, with the root before each. Raises TypeError for a value that is no name."""
    if {*map(type, names)} != {str}:  # a class of the program's may have functions of its own
        names = [_text(name) for name in names]
    return [root + name for name in names] if root else names


def _text(name):
    if type(name) not in (str, bytes, _PATH):
        raise TypeError("no name")
    return os.fsdecode(name)


def _root_of(name, roots):
    """Returns the directory to which a name is relative, with a slash: "" if it is absolute. None: there is no such
    file."""
    known = [""] if os.path.isabs(name) else (os.path.join(root, "") for root in roots)
    return next((root for root in known if os.path.lexists(root + os.fsdecode(name))), None)


def directories_in(attributes):
    """Returns the directories to which the names in a data set may be relative."""
    return [os.getcwd(), *(os.path.abspath(value) for value in attributes.values() if _is_directory_name(value))]


def _is_directory_name(value):
    return type(value) is str and 0 < len(value) < 4096 or type(value) is _PATH
