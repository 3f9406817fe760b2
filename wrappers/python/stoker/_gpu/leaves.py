"""Batches as data sets make them: tensors in dicts, lists, deques, tuples and named tuples, as deep as they like."""

import copy
from collections import UserList, deque
from collections.abc import Mapping, MutableMapping

import torch

_SEQUENCES = list, tuple, deque, UserList


def mapped(batch, function, name=None):
    """A batch of the same kind, with function(tensor, name) for each tensor in it, and for all else that
    has a to(); the name is its key, index or field in the batch itself, None if the tensor is the batch.
    What does not change stays the same object."""
    if isinstance(batch, torch.Tensor):
        return function(batch, name)
    if isinstance(batch, (str, bytes)):
        return batch
    if isinstance(batch, Mapping):
        return _mapping(batch, {key: mapped(value, function, key if name is None else name)
                                for key, value in batch.items()})
    if callable(getattr(batch, "to", None)):
        return function(batch, name)
    if isinstance(batch, _SEQUENCES):
        names = getattr(batch, "_fields", None) or range(len(batch))
        return _sequence(batch, [mapped(value, function, own if name is None else name)
                                 for value, own in zip(batch, names)])
    return batch


def tensors(batch):
    """All that are in a batch, each with its name."""
    found = []

    def note(leaf, name):
        if isinstance(leaf, torch.Tensor):
            found.append((leaf, name))
        return leaf
    mapped(batch, note)
    return found


def _mapping(batch, made):
    if all(made[key] is value for key, value in batch.items()):
        return batch
    try:
        if isinstance(batch, MutableMapping):
            like = copy.copy(batch)
            like.update(made)
            return like
        return type(batch)(made)
    except TypeError:
        return made


def _sequence(batch, made):
    if all(new is old for new, old in zip(made, batch)):
        return batch
    if hasattr(batch, "_fields"):
        return type(batch)(*made)
    if not isinstance(batch, (list, tuple)):
        like = copy.copy(batch)  # a deque has a length, too
        for place, value in enumerate(made):
            like[place] = value
        return like
    try:
        return type(batch)(made)
    except TypeError:
        return made
