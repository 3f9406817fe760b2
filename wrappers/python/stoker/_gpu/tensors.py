"""Tensors in batches of data sets: in dicts, lists, deques, tuples and named tuples, nested at will."""

import copy
from collections import UserList, deque
from collections.abc import Mapping, MutableMapping

import torch

_SEQUENCES = list, tuple, deque, UserList


def mapped(batch, function, name=None):
    """Returns a batch of the same kind, with function(item, name) in the place of each tensor and each object that has
    a to(). The name is the item's key, index or field in the batch itself, or None if the item is the batch. Parts
    that do not change stay the same objects."""
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
        return _sequence(batch, [mapped(value, function, own if name is None else name)
                                 for value, own in zip(batch, _names_in(batch))])
    return batch


def _names_in(sequence):
    return getattr(sequence, "_fields", None) or range(len(sequence))


def tensors(batch):
    """Returns all tensors of a batch, as (tensor, name)."""
    found = []

    def note(item, name):
        if isinstance(item, torch.Tensor):
            found.append((item, name))
        return item
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
