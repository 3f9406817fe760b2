"""The order of a pass is known before the pass begins, and no generator moves."""

import random

import pytest
import torch
from torch.utils.data import (BatchSampler, DataLoader, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                              WeightedRandomSampler)
from torch.utils.data.distributed import DistributedSampler

from stoker._torch import foretell

COUNT = 57
DATA = list(range(COUNT))


def generator():
    return torch.Generator().manual_seed(11)


SAMPLERS = {
    "sequential": lambda: SequentialSampler(DATA),
    "random": lambda: RandomSampler(DATA),
    "random, own generator": lambda: RandomSampler(DATA, generator=generator()),
    "more than there are": lambda: RandomSampler(DATA, num_samples=2 * COUNT + 3, generator=generator()),
    "with replacement": lambda: RandomSampler(DATA, replacement=True, num_samples=100),
    "with replacement, own generator": lambda: RandomSampler(DATA, replacement=True, num_samples=100,
                                                             generator=generator()),
    "subset": lambda: SubsetRandomSampler(range(3, 40)),
    "subset, own generator": lambda: SubsetRandomSampler(range(3, 40), generator=generator()),
    "weighted": lambda: WeightedRandomSampler(torch.rand(COUNT, generator=generator()), 80),
    "weighted, own generator": lambda: WeightedRandomSampler([1.0] * COUNT, 30, replacement=False,
                                                             generator=generator()),
    "distributed": lambda: DistributedSampler(DATA, num_replicas=3, rank=1, seed=5),
}


def states(sampler):
    own = getattr(sampler, "generator", None)
    return torch.get_rng_state().tolist(), random.getstate(), own is not None and own.get_state().tolist()


@pytest.mark.parametrize("batch", [None, 8])
@pytest.mark.parametrize("name", SAMPLERS)
def test_what_is_foretold_comes(name, batch):
    sampler = SAMPLERS[name]()
    index_sampler = BatchSampler(sampler, batch, drop_last=False) if batch else sampler
    for epoch in range(3):
        before = states(sampler)
        foretold = foretell.order_of(index_sampler)
        assert states(sampler) == before
        came = [index for each in index_sampler for index in (each if batch else [each])]
        assert list(foretold) == came and len(came) > 8
        if isinstance(sampler, DistributedSampler):
            sampler.set_epoch(epoch + 1)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_draws_of_an_epoch_are_the_same(name):
    def drawn(is_foretold):
        torch.manual_seed(3)
        sampler = SAMPLERS[name]()
        if is_foretold:
            foretell.order_of(sampler)
        loader = DataLoader(DATA, batch_size=4, sampler=sampler)
        return [(batch.tolist(), torch.rand(1).item()) for batch in loader] + [torch.rand(1).item()]
    assert drawn(True) == drawn(False)


class Own(Sampler):
    def __init__(self):
        pass

    def __iter__(self):
        raise AssertionError("a sampler of the program's was asked")


class Derived(RandomSampler):
    __iter__ = Own.__iter__


def test_samplers_of_the_program_are_not_asked():
    for sampler in Own(), Derived(DATA), BatchSampler(Own(), 4, False), [[1, 2], [3]]:
        assert foretell.order_of(sampler) is None
