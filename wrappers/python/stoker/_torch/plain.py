"""Values whose use runs no code of the program's."""

import sys

import torch

_NUMBERS = {int, float, bool, str, type(None)}
_DEPTH = 2  # a list of batches


def is_plain(value, depth=_DEPTH):
    """Returns true for a number, a str, None, and for exact lists, tuples, ranges, arrays and tensors of numbers, or lists
    of these. A subclass may have functions of its own."""
    kind = type(value)
    if kind is list or kind is tuple:
        return depth > 0 and _are_plain(value, depth)
    return _is_number(kind) or kind is range or kind is torch.Tensor or _is_array(value)


def _are_plain(values, depth):
    further = {kind for kind in set(map(type, values)) if not _is_number(kind)}
    return further <= {list, tuple} and (not further or all(is_plain(each, depth - 1) for each in values))


def _is_number(kind):
    numpy = sys.modules.get("numpy")
    return kind in _NUMBERS or (numpy is not None and kind.__module__ == "numpy" and issubclass(kind, numpy.number))


def _is_array(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and value.dtype.kind in "biuf"
