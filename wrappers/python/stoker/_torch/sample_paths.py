"""The files of a data set's samples, by the samples' indices.

A data set that reads files has a list of their names, or several: of images and of masks. The lists are guessed. The
command verifies each: it reads only a few files until the job has opened some of them. No code of the program's runs here
(name_lists.py).
"""

import sys
from array import array
from bisect import bisect_right
from itertools import islice, zip_longest
from types import GetSetDescriptorType

from .name_lists import Names, directories_in, ids_in, names_by_ids, names_in, names_of_ids, rows_of, rows_of_arrow

_DEPTH = 4  # objects within a data set
_INNER = 32  # attributes of an object that are looked into
_LISTS = 4  # files of a sample
_LOOKED_AT = 2048  # indices of a subset


def paths_of(dataset, most):
    """Returns a list with the Names of each file that a sample has. `most`: the greatest index that is known."""
    return _find(dataset, most, _DEPTH, [], set(), _files)


def ids_of(dataset, most):
    """Returns a list of the Names of ids by which a sample's files may be called: those in its lists, or its index."""
    return (_find(dataset, most, _DEPTH, [], set(), _ids) or list(names_of_ids(most + 1, list, int)))[:_LISTS]


def names_of(value, most=0):
    """Returns the Names in a list of them, as paths_of()."""
    return list(islice(names_in(value, most, directories_in({})), 1))


def _find(dataset, most, depth, roots, seen, own):
    """`own`: finds the Names in the attributes of a data set, or of an object that it holds."""
    attributes = attributes_of(dataset)
    if attributes is None or depth == 0 or id(dataset) in seen:
        return []
    seen.add(id(dataset))
    roots = [*directories_in(attributes), *roots]
    if attributes.get("_indices") is not None and "_data" in attributes:
        return _through_table(attributes, most, depth, roots, seen, own)
    return (_through_indices(attributes, most, depth, roots, seen, own)
            or _through_parts(attributes, depth, roots, seen, own)
            or own(attributes, most, roots)
            or _deeper(attributes, most, depth, roots, seen, own))


def attributes_of(thing):
    """Returns an object's __dict__, or None. No code of its class runs."""
    kind = type(thing)
    found = next((vars(base)["__dict__"] for base in type.mro(kind) if "__dict__" in vars(base)), None)
    attributes = found.__get__(thing) if type(found) is GetSetDescriptorType else None
    return attributes if type(attributes) is dict else None


# ---- wrappers ----

def _through_indices(attributes, most, depth, roots, seen, own):
    """torch's Subset and its like: a list of the indices in another data set."""
    inner, indices = attributes.get("dataset"), rows_of(attributes.get("indices"), "iu")
    if inner is None or indices is None or indices.count <= most:
        return []
    reached = max(map(int, indices.take(range(min(indices.count, _LOOKED_AT)))), default=0)
    return [_behind(indices, names) for names in _find(inner, reached, depth - 1, roots, seen, own)]


def _through_table(attributes, most, depth, roots, seen, own):
    """A data set of Hugging Face's that was shuffled or filtered: a table of the indices in its table."""
    table = (attributes_of(attributes["_indices"]) or {}).get("table")
    arrow = sys.modules.get("pyarrow")
    if arrow is None or type(table) is not arrow.Table or len(table) <= most:
        return []
    indices = rows_of_arrow(table.column(0))
    return [_behind(indices, names) for names in _find(attributes["_data"], 0, depth - 1, roots, seen, own)]


def _behind(indices, names):
    return Names(indices.count, lambda asked: names.take(indices.take(asked)),
                 lambda asked: names.encode(array("q", indices.take(asked))))


def _through_parts(attributes, depth, roots, seen, own):
    """torch's ConcatDataset: one data set after the other."""
    parts, ends = attributes.get("datasets"), attributes.get("cumulative_sizes")
    if type(parts) is not list or type(ends) is not list or not parts or len(parts) != len(ends):
        return []
    begins = [0, *ends[:-1]]
    found = [_find(part, end - begin - 1, depth - 1, roots, seen - {id(part)}, own)
             for part, begin, end in zip(parts, begins, ends)]
    return [_one_after_the_other(lists, begins, ends) for lists in zip_longest(*found)]


def _one_after_the_other(lists, begins, ends):
    def names(indices):
        found = []
        for index in indices:
            part = bisect_right(ends, index)
            found += lists[part].take((index - begins[part],)) if lists[part] else ()
        return found
    return Names(ends[-1], names)


def _deeper(attributes, most, depth, roots, seen, own):
    """A data set around another one, or around a reader that has the list."""
    inner = [attributes.get("dataset"), *islice(attributes.values(), _INNER)]
    return next(filter(None, (_find(each, most, depth - 1, roots, seen, own) for each in inner)), [])


# ---- lists ----

def _files(attributes, most, roots):
    return _own(attributes, most, roots) or _by_ids(attributes, most, roots)


def _ids(attributes, most, roots):
    return list(islice((names for value in attributes.values() for names in ids_in(value, most)), _LISTS))


def _own(attributes, most, roots):
    """The lists of the data set itself. ImageFolder has one by two names."""
    found = {}
    for names in (names for value in attributes.values() for names in names_in(value, most, roots)):
        found.setdefault(names.take((0,))[0], names)
    return list(found.values())[:_LISTS]


def _by_ids(attributes, most, roots):
    """A list of ids, and a dict with the names, as COCO's."""
    inner = [values for values in map(attributes_of, islice(attributes.values(), _INNER)) if values is not None]
    tables = [value for values in (attributes, *inner) for value in values.values() if type(value) is dict]
    found = (names for value in attributes.values() for table in tables
             for names in names_by_ids(value, table, most, roots))
    return list(islice(found, _LISTS))
