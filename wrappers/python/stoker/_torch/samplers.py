"""Copies of samplers whose code is known, and of their iterators.

A copy gives what the sampler is going to give. It draws from copies of generators, so no generator of the program
moves. Known are classes of the libraries below whose functions are the library's own, with plain values (plain.py): no
code of the program runs, but for the length of its data set.
"""

import copy
import inspect
import sys
from array import array
from types import FunctionType, GeneratorType

import torch
from torch.utils.data.dataset import Dataset  # the package itself may be half imported when this module is
from torch.utils.data.sampler import BatchSampler, RandomSampler, Sampler

from .. import _core
from .plain import is_plain

_LIGHTNING = {"DistributedSamplerWrapper", "_DatasetSamplerWrapper"}
_LIGHTNINGS = {"UnrepeatedDistributedSampler", "UnrepeatedDistributedSamplerWrapper", "_IndexBatchSamplerWrapper"}
_KNOWN = {
    "torch.utils.data.sampler": {"BatchSampler", "RandomSampler", "SequentialSampler", "SubsetRandomSampler",
                                 "WeightedRandomSampler"},
    "torch.utils.data.distributed": {"DistributedSampler"},
    "torchdata.stateful_dataloader.sampler": {"BatchSampler", "RandomSampler", "StatefulDistributedSampler",
                                              "_BatchSamplerIterator", "_StatefulRandomSamplerIterator"},
    "accelerate.data_loader": {"BatchSamplerShard", "SeedableRandomSampler", "SkipBatchSampler"},
    "lightning.fabric.utilities.distributed": _LIGHTNING,
    "lightning_fabric.utilities.distributed": _LIGHTNING,
    "lightning.pytorch.overrides.distributed": _LIGHTNINGS,
    "pytorch_lightning.overrides.distributed": _LIGHTNINGS,
    "timm.data.distributed_sampler": {"OrderedDistributedSampler", "RepeatAugSampler"},
    "timm.data.loader": {"_RepeatSampler"},
    "transformers.trainer_pt_utils": {"BatchRebalanceSampler", "DistributedLengthGroupedSampler",
                                      "DistributedSamplerWithLoop", "LengthGroupedSampler",
                                      "SequentialDistributedSampler", "ShardSampler"},
}
_BASES = {object, Sampler, Dataset}  # whose functions none of the known ones call
_ABSTRACT = {"typing", "collections.abc", "torchdata.stateful_dataloader.stateful"}
_INNER = "sampler", "batch_sampler", "_batch_sampler", "_sampler", "sampler_iter", "dataset"  # that are copied as well
_PLAIN = {list, tuple, range}
_NOT_ITERATED = {"data_source", "dataset", "generator", "_iterator", "__orig_class__"}  # by a sampler
_BLOCK = 4096  # indices
_PLAIN_ITERATORS = {type(iter(kind())) for kind in (list, tuple)} | {type(iter(range(1)))}


class Unknown(Exception):
    """There is no copy."""


# ---- iterators ----

def copy_of_order(iterator):
    """Returns an iterator that gives the indices which `iterator` is going to give, one by one or in batches. Raises
    Unknown."""
    if type(iterator) is not GeneratorType:
        return copy_of_iterator(iterator)
    copied = _copy_of_begun(iterator)
    is_batched = type(copied) is BatchSampler and not copied.drop_last
    single = copied.sampler if is_batched else copied  # making batches takes as long as all else here
    return Permutation(single) if type(single) is _Permuted else iter(single)


def copy_of_iterator(iterator):
    """Returns an iterator that gives what `iterator` is going to give. Raises Unknown."""
    kind = type(iterator)
    if kind in _PLAIN_ITERATORS:
        return copy.copy(iterator)
    if kind is GeneratorType:
        return iter(_copy_of_begun(iterator))
    copied = copy_of(iterator)
    if "_iterator" in vars(copied):  # Lightning's: its own iterator
        return copy_of_iterator(vars(iterator)["_iterator"])
    return copied


def _copy_of_begun(generator):
    """Returns a copy of the sampler of a generator that has not given anything yet, or is about to begin anew."""
    sampler = _sampler_of(generator)
    if begins_anew(generator):
        return _next_of_repeated(generator.gi_frame.f_locals)
    if inspect.getgeneratorstate(generator) != inspect.GEN_CREATED:
        raise Unknown
    return copy_of(sampler)


def _sampler_of(generator):
    """Returns the known sampler whose method made the generator."""
    frame = generator.gi_frame
    sampler = frame.f_locals.get("self") if frame is not None else None
    methods = (value for base in type(sampler).__mro__ for value in vars(base).values())
    if not _is_known(type(sampler)) or not any(generator.gi_code is getattr(each, "__code__", 0) for each in methods):
        raise Unknown
    return sampler


def begins_anew(iterator):
    """Returns true for the iterator of timm's sampler that repeats another one. Once a pass of that is used up, the next
    one begins."""
    if type(iterator) is not GeneratorType or iterator.gi_frame is None:
        return False
    kind = type(iterator.gi_frame.f_locals.get("self"))
    return kind.__name__ == "_RepeatSampler" and _is_known(kind)


def _next_of_repeated(local):
    copied = copy_of(vars(local["self"])["sampler"])
    if local.get("epoch") is not None:
        vars(vars(copied).get("sampler", copied))["epoch"] = local["epoch"]
    return copied


# ---- samplers ----

def copy_of(sampler):
    """Returns a sampler that gives and draws what `sampler` is going to give and draw. Raises Unknown."""
    if type(sampler) in _PLAIN and is_plain(sampler):
        return sampler
    if not _is_known(type(sampler)) or not _has_plain_values(vars(sampler)):
        raise Unknown
    copied = copy.copy(sampler)
    _copy_inner(vars(copied), vars(sampler))
    if "generator" in vars(sampler):
        vars(copied)["generator"] = _copy_of_generator(vars(sampler)["generator"], type(sampler) is RandomSampler)
    return _Permuted(copied) if type(sampler) is RandomSampler and _is_permutation(sampler) else copied


def _is_permutation(sampler):
    return not sampler.replacement and len(sampler) <= len(sampler.data_source)


class _Permuted:
    """A copy of torch's RandomSampler that keeps 4 bytes for an index. The sampler's own list has 40 of them."""

    def __init__(self, copied):
        self._copied = copied

    def __len__(self):
        return len(self._copied)

    def __iter__(self):
        indices = Permutation(self)
        while block := indices.take(_BLOCK):
            yield from block

    def order(self):
        """Draws, and returns the indices as a tensor."""
        count = len(self._copied.data_source)
        order = torch.randperm(count, generator=self._copied.generator)[:len(self)]
        return order.to(torch.int32) if count < 1 << 31 else order


class Permutation:
    """The indices of a _Permuted, many at a time: one by one, as an iterator gives them, takes four times as long."""

    def __init__(self, permuted):
        self._permuted, self._indices, self._taken = permuted, None, 0

    def take(self, most):
        """Returns the next indices as an array.array, each time of the same type: fewer than `most` only at the end."""
        if self._indices is None:
            self._indices = _array_of(self._permuted.order())
        block = self._indices[self._taken:self._taken + most]
        self._taken += len(block)
        return block


def _array_of(order):
    """Returns a tensor of int32 or int64 as an array.array."""
    numbers = array("i" if order.dtype is torch.int32 else "q")
    if len(order):
        numbers.frombytes(_core.memory_at(order.data_ptr(), len(order) * numbers.itemsize))
    return numbers


def _has_plain_values(attributes):
    return all(is_plain(value) for name, value in attributes.items() if name not in _INNER and name not in _NOT_ITERATED)


def _copy_inner(copied, attributes):
    for name in _INNER:
        inner = attributes.get(name)
        if inner is None or (name == "dataset" and not _is_known(type(inner))):  # a data set
            continue
        copied[name] = copy_of_iterator(inner) if name == "sampler_iter" else copy_of(inner)


def _copy_of_generator(generator, is_seeded):
    """`is_seeded`: a sampler without a generator makes one, whose seed it draws."""
    plain = torch._C.default_generator if generator is None else generator
    if type(plain) is not torch.Generator:
        raise Unknown
    copied = torch.Generator(device=plain.device)
    copied.set_state(plain.get_state())
    return _seeded_by(copied) if is_seeded and generator is None else copied


def _seeded_by(generator):
    """Returns the generator that RandomSampler makes for itself when it has none."""
    seed = int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
    return torch.Generator().manual_seed(seed)


# ---- lengths ----

def length_of(sampler):
    """Returns the number of what a sampler gives, or 0 if that is unknown or its code is the program's."""
    try:
        return len(sampler) if _has_known_length(sampler) else 0
    except Exception:  # a data set without a length
        return 0


def _has_known_length(sampler):
    if type(sampler) in _PLAIN:
        return True
    if not _is_known(type(sampler)) or not _has_plain_length(vars(sampler).get("indices")):
        return False
    inner = (vars(sampler).get(name) for name in _INNER if name != "dataset")
    return all(_has_known_length(each) for each in inner if each is not None)


def _has_plain_length(indices):
    """Returns true if len() of a sampler's indices is no code of the program's. A list may be long: its items don't count."""
    return type(indices) in _PLAIN or is_plain(indices)


def has_length(sampler):
    """Returns true if the sampler's class, and those of the samplers in it, have a length. It is not asked for."""
    inner = vars(sampler).get("sampler") if _is_known(type(sampler)) else None
    return hasattr(type(sampler), "__len__") and (inner is None or has_length(inner))


# ---- classes ----

def _is_known(kind):
    """Returns true for a class of the table whose functions are all of its library."""
    return _is_listed(kind) and all(
        base in _BASES or base.__module__ in _ABSTRACT or _is_unchanged(base) for base in kind.__mro__)


def _is_listed(kind):
    module = kind.__module__
    return (type(module) is str and kind.__name__ in _KNOWN.get(module, ())
            and getattr(sys.modules.get(module), kind.__name__, None) is kind)


def _is_unchanged(kind):
    if not _is_listed(kind):
        return False
    functions = (getattr(value, "fget", value) for name, value in vars(kind).items() if name != "__subclasshook__")
    place = sys.modules[kind.__module__].__file__
    return all(function.__code__.co_filename == place for function in functions if type(function) is FunctionType)
