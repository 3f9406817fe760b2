"""Samples that torch's default_collate stacks without calling any code but its own.

Code of the program may run while a batch is made: a mapping may make its values when it is asked for them. Such
code could change a sample that already lies in the batch.
"""

import collections

import torch

_SEQUENCES = frozenset((list, tuple))
_MAPPINGS = frozenset((dict, collections.OrderedDict))
_VALUES = frozenset((torch.Tensor, int, float, bool, str, bytes))
_LIBRARIES = "numpy.", "torchvision.tv_tensors."

_functions = {}  # torch's map of collate functions, by the type of their samples
_known = {}  # a copy of that map when our function came into it


def heed(functions):
    """Notes the functions that may collate samples."""
    global _functions, _known
    _functions, _known = functions, dict(functions)


def are_known(samples):
    """Returns true if torch alone collates these samples."""
    return type(samples) in _SEQUENCES and _functions == _known and all(map(_is_known, samples))


def _is_known(sample):
    kind = type(sample)
    if kind in _VALUES:
        return True
    if kind in _SEQUENCES or _is_named_tuple(kind):
        return all(map(_is_known, sample))
    if kind in _MAPPINGS:
        return all(map(_is_known, sample.values()))
    return (kind.__module__ + ".").startswith(_LIBRARIES)


def _is_named_tuple(kind):
    """Returns true for a class that namedtuple() made. A derived class may replace methods that torch calls."""
    return kind.__bases__ == (tuple,) and hasattr(kind, "_fields")
