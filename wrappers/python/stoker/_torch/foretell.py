"""The order in which a pass over a DataLoader is going to ask for samples, known before it begins.

The order is that of a copy of the sampler, whose draws come from a copy of the generator. So no generator of the
program moves. A sampler whose code is not known, a subclass for instance, is not foretold.
"""

import copy
from array import array

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

_DRAWING = {RandomSampler, SubsetRandomSampler, WeightedRandomSampler}
_FIXED = {SequentialSampler, DistributedSampler}  # these draw from no generator of the program


def order_of(index_sampler):
    """Returns the indices of the pass that begins now, as an array.array("q"), or None if they cannot be foretold.
    `index_sampler` is that of a DataLoader's iterator, which has not been asked for anything yet."""
    sampler = index_sampler.sampler if type(index_sampler) is BatchSampler else index_sampler
    if type(sampler) in _FIXED:
        return array("q", iter(sampler))
    if type(sampler) in _DRAWING and "__iter__" not in vars(sampler):
        return array("q", iter(_copy_of(sampler)))
    return None


def _copy_of(sampler):
    """Returns a sampler that draws what `sampler` is going to draw."""
    copied = copy.copy(sampler)
    copied.generator = _copy_of_generator(sampler.generator)
    if sampler.generator is None and type(sampler) is RandomSampler:
        copied.generator = _seeded_by(copied.generator)
    return copied


def _copy_of_generator(generator):
    plain = torch.default_generator if generator is None else generator
    copied = torch.Generator(device=plain.device)
    copied.set_state(plain.get_state())
    return copied


def _seeded_by(generator):
    """Returns the generator that RandomSampler makes for itself when it has none."""
    seed = int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
    return torch.Generator().manual_seed(seed)
