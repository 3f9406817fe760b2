"""The files of a data set's samples, by the samples' indices.

A data set that reads files has a list of their names: of paths, or of tuples, dicts or the like that hold a path. The
list is guessed. The command verifies the guess: it reads only a few files until the job has opened some of them.
Nothing of the program's runs here: only lists, tuples, dicts and arrays of the exact types are looked into.
"""

import os
import pathlib
import sys

_PATH = type(pathlib.Path())
_LEAST = 2  # a list of one name is no list of samples
_DEPTH = 4  # wrappers around a data set
_ITEMS = 8  # parts of an item that are looked at
_LISTS = 4  # files of a sample


class Files:
    """The files of samples: called with an index, from 0 to below `count`, it returns the sample's paths."""

    def __init__(self, count, paths):
        self.count, self._paths = count, paths

    def __call__(self, index):
        return self._paths(index)


def paths_of(dataset, most):
    """Returns the Files of a data set, or None. `most`: the greatest index."""
    return _find(dataset, most, _DEPTH)


def _find(dataset, most, depth):
    attributes = getattr(dataset, "__dict__", None)
    if type(attributes) is not dict or depth == 0:
        return None
    return (_through_indices(attributes, most, depth) or _through_parts(attributes, depth)
            or _own(attributes, most) or _find(attributes.get("dataset"), most, depth - 1))


# ---- wrappers ----

def _through_indices(attributes, most, depth):
    """torch's Subset and its like: a list of the indices in another data set."""
    indices, inner = attributes.get("indices"), attributes.get("dataset")
    if inner is None or not (type(indices) is range or _is_list(indices)) or len(indices) <= most:
        return None
    inner_paths = _find(inner, max(map(int, indices)), depth - 1)
    return inner_paths and Files(len(indices), lambda index: inner_paths(int(indices[index])))


def _through_parts(attributes, depth):
    """torch's ConcatDataset: one data set after the other."""
    parts, ends = attributes.get("datasets"), attributes.get("cumulative_sizes")
    if type(parts) is not list or type(ends) is not list or not parts or len(parts) != len(ends):
        return None
    begins = [0, *ends[:-1]]
    inner = [_find(part, end - begin - 1, depth - 1) for part, begin, end in zip(parts, begins, ends)]

    def paths(index):
        part = next((number for number, end in enumerate(ends) if index < end), 0)
        return inner[part](index - begins[part]) if inner[part] else ()
    return Files(ends[-1], paths) if any(inner) else None


# ---- lists ----

def _own(attributes, most):
    """The lists of the data set itself. Some data sets have a list of images and another of masks."""
    found = []
    for value in attributes.values():
        take = _taker(value, most)
        root = take and _root_of(take(value[0]), attributes)
        is_new = all(value is not known for known, _, _ in found)  # ImageFolder has one by two names
        if root is not None and is_new and len(found) < _LISTS:
            found.append((value, take, root))
    return Files(min(len(value) for value, _, _ in found), _joined(found)) if found else None


def _joined(found):
    if len(found) == 1:
        value, take, root = found[0]
        return (lambda index: (take(value[index]),)) if root == "" else (
            lambda index: (os.path.join(root, take(value[index])),))

    def paths(index):
        named = (os.path.join(root, take(value[index])) for value, take, root in found)
        return tuple(dict.fromkeys(named))  # two lists may have the same names
    return paths


def _taker(value, most):
    """Returns a function that takes the name out of an item of a list, or None."""
    if not _is_list(value) or len(value) <= max(most, _LEAST - 1):
        return None
    first = value[0]
    if _is_name(first):
        return os.fspath
    if type(first) is dict:
        return _part_taker(first, list(first)[:_ITEMS])
    if type(first) in (tuple, list):
        return _part_taker(first, range(min(len(first), _ITEMS)))
    return None


def _part_taker(first, keys):
    for key in keys:
        if _is_name(first[key]):
            return lambda item: os.fspath(item[key])
    return None


def _is_list(value):
    numpy = sys.modules.get("numpy")
    return type(value) in (list, tuple) or (numpy is not None and type(value) is numpy.ndarray and value.ndim > 0)


def _is_array_text(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.str_


def _is_name(value):
    if type(value) not in (str, _PATH) and not _is_array_text(value):
        return False
    return "." in os.path.basename(value) or os.sep in os.fspath(value)


def _root_of(name, attributes):
    """Returns the directory to which a name is relative; None if none is known."""
    if os.path.isabs(name):
        return ""
    roots = [os.getcwd(), *(os.path.abspath(value) for value in attributes.values() if _is_directory_name(value))]
    return next((root for root in roots if os.path.lexists(os.path.join(root, name))), None)


def _is_directory_name(value):
    return type(value) is str and 0 < len(value) < 4096 or type(value) is _PATH
