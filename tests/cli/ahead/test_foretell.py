"""The order of a pass is known before the pass begins, and no generator moves."""

import importlib
import random
import tracemalloc

import numpy
import pytest
import torch
from torch.utils.data import (BatchSampler, DataLoader, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler,
                              WeightedRandomSampler)
from torch.utils.data.distributed import DistributedSampler

from stoker._torch import foretell, samplers

COUNT = 57
DATA = list(range(COUNT))
LENGTHS = [number * 7 % 19 for number in DATA]


def generator():
    return torch.Generator().manual_seed(11)


def of(module, name):
    return getattr(pytest.importorskip(module), name)


def lightnings(name):
    """Lightning is two packages, of which each may be there alone."""
    module = "fabric.utilities.distributed" if name.startswith("Dist") else "pytorch.overrides.distributed"
    return of(f"lightning.{module}", name)


def shard(**options):
    batches = BatchSampler(RandomSampler(DATA), 4, drop_last=False)
    return of("accelerate.data_loader", "BatchSamplerShard")(batches, num_processes=2, process_index=1, **options)


def of_transformers(name, *arguments, **named):
    return of("transformers.trainer_pt_utils", name)(*arguments, **named)


TWO_RANKS = {"num_replicas": 2, "rank": 1}
SAMPLERS = {
    "sequential": lambda: SequentialSampler(DATA),
    "random": lambda: RandomSampler(DATA),
    "random, a part": lambda: RandomSampler(DATA, num_samples=20),
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
    "a list": lambda: DATA[::-1],
    "torchdata, random": lambda: of("torchdata.stateful_dataloader.sampler", "RandomSampler")(DATA),
    "torchdata, distributed": lambda: of("torchdata.stateful_dataloader.sampler",
                                         "StatefulDistributedSampler")(DATA, **TWO_RANKS),
    "accelerate": lambda: of("accelerate.data_loader", "SeedableRandomSampler")(DATA),
    "lightning, around a sampler": lambda: lightnings("DistributedSamplerWrapper")(RandomSampler(DATA), **TWO_RANKS),
    "lightning, unrepeated": lambda: lightnings("UnrepeatedDistributedSampler")(DATA, **TWO_RANKS),
    "lightning, unrepeated, around a sampler": lambda: lightnings("UnrepeatedDistributedSamplerWrapper")(
        SequentialSampler(DATA), **TWO_RANKS),
    "timm, ordered": lambda: of("timm.data.distributed_sampler", "OrderedDistributedSampler")(DATA, **TWO_RANKS),
    "timm, repeated": lambda: of("timm.data.distributed_sampler", "RepeatAugSampler")(DATA, **TWO_RANKS),
    "transformers, lengths": lambda: of_transformers("LengthGroupedSampler", 4, lengths=LENGTHS),
    "transformers, lengths, own generator": lambda: of_transformers("LengthGroupedSampler", 4, lengths=LENGTHS,
                                                                    generator=generator()),
    "transformers, lengths, distributed": lambda: of_transformers("DistributedLengthGroupedSampler", 4,
                                                                  lengths=LENGTHS, **TWO_RANKS),
    "transformers, in shards": lambda: of_transformers("ShardSampler", DATA, batch_size=4, num_processes=2),
    "transformers, looping": lambda: of_transformers("DistributedSamplerWithLoop", DATA, 4, **TWO_RANKS),
}
BATCHES = {
    "a list of batches": lambda: [[1, 2], [3], [5, 4]] * 3,
    "torch, the last dropped": lambda: BatchSampler(RandomSampler(DATA), 8, drop_last=True),
    "torchdata": lambda: of("torchdata.stateful_dataloader.sampler", "BatchSampler")(
        of("torchdata.stateful_dataloader.sampler", "RandomSampler")(DATA), 4, False),
    "torchdata, torch's sampler": lambda: of("torchdata.stateful_dataloader.sampler", "BatchSampler")(
        RandomSampler(DATA), 4, False),
    "accelerate, a part of the batches": shard,
    "accelerate, a part of each": lambda: shard(split_batches=True),
    "accelerate, resumed": lambda: of("accelerate.data_loader", "SkipBatchSampler")(
        BatchSampler(RandomSampler(DATA), 4, drop_last=False), 2),
    "lightning, noting": lambda: lightnings("_IndexBatchSamplerWrapper")(
        BatchSampler(RandomSampler(DATA, generator=generator()), 4, drop_last=False)),
    "transformers, balanced": lambda: of_transformers("BatchRebalanceSampler", LENGTHS, 8, 2, 1),
}


def states(sampler):
    own = getattr(sampler, "generator", None)
    return (torch.get_rng_state().tolist(), random.getstate(), str(numpy.random.get_state()),
            own is not None and own.get_state().tolist())


def taken(foretold):
    """Returns what is foretold, made in several steps."""
    order = []
    while foretold and not foretold.is_over:
        order += foretold.take(10)
    return order


def set_epoch(sampler, epoch):
    for each in (sampler, getattr(sampler, "sampler", None)):
        if hasattr(each, "set_epoch"):
            each.set_epoch(epoch)


def check(index_sampler, sampler):
    for epoch in range(3):
        iterator = iter(index_sampler)
        torch.rand(epoch)  # as the seed of the workers is drawn
        before = states(sampler)
        foretold = taken(foretell.order_of(iterator))
        assert states(sampler) == before
        came = [index for each in iterator for index in (each if isinstance(each, list) else [each])]
        assert foretold == came and len(came) > 8
        set_epoch(sampler, epoch + 1)


@pytest.mark.parametrize("batch", [None, 8])
@pytest.mark.parametrize("name", SAMPLERS)
def test_what_is_foretold_comes(name, batch):
    sampler = SAMPLERS[name]()
    if batch is None and "around a sampler" in name:
        assert foretell.order_of(iter(sampler)) is None  # it has drawn already, in a generator expression
        return
    check(BatchSampler(sampler, batch, drop_last=False) if batch else sampler, sampler)


@pytest.mark.parametrize("name", BATCHES)
def test_batches_that_are_foretold_come(name):
    batches = BATCHES[name]()
    check(batches, batches)


@pytest.mark.parametrize("is_distributed", [False, True])
def test_a_sampler_that_begins_anew(is_distributed):
    """timm's. Each pass is foretold when the one before is used up."""
    sampler = DistributedSampler(DATA, **TWO_RANKS) if is_distributed else RandomSampler(DATA)
    batches = BatchSampler(sampler, 8, drop_last=True)
    iterator = iter(of("timm.data.loader", "_RepeatSampler")(batches))
    seen = []
    for _ in range(3):
        torch.rand(5)
        before = states(sampler)
        assert samplers.begins_anew(iterator)
        foretold = taken(foretell.order_of(iterator))
        assert states(sampler) == before
        seen.append([index for _ in range(len(batches)) for index in next(iterator)])
        assert foretold == seen[-1]
    assert seen[0] != seen[1] != seen[2]


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_draws_of_an_epoch_are_the_same(name):
    def drawn(is_foretold):
        torch.manual_seed(3)
        sampler = SAMPLERS[name]()
        if is_foretold:
            taken(foretell.order_of(iter(BatchSampler(sampler, 4, drop_last=False))))
        loader = DataLoader(DATA, batch_size=4, sampler=sampler)
        return [(batch.tolist(), torch.rand(1).item()) for batch in loader] + [torch.rand(1).item()]
    assert drawn(True) == drawn(False)


class Own(Sampler):
    def __init__(self):
        pass

    def __iter__(self):
        raise AssertionError("a sampler of the program's was asked")
        yield 0


class Derived(RandomSampler):
    __iter__ = Own.__iter__


@pytest.mark.parametrize("make", [Own, lambda: Derived(DATA), lambda: BatchSampler(Own(), 4, False),
                                  lambda: BatchSampler(BatchSampler(Own(), 4, False), 4, False), lambda: map(int, DATA),
                                  lambda: (index for index in DATA)])
def test_samplers_of_the_program_are_not_asked(make):
    assert foretell.order_of(iter(make())) is None


class Drawing(list):
    """Indices of the program's own: each look at one draws."""

    def __getitem__(self, at):
        torch.rand(1)
        return super().__getitem__(at)


class Number:
    """An index with code of the program's."""

    def __index__(self):
        torch.rand(1)
        return 3


class Generator(torch.Generator):
    def get_state(self):
        torch.rand(1)
        return super().get_state()


@pytest.mark.parametrize("make", [
    lambda: SubsetRandomSampler(Drawing(DATA)), lambda: SubsetRandomSampler([Number(), Number()]),
    lambda: [Number(), Number()], lambda: RandomSampler(DATA, generator=Generator().manual_seed(3))])
def test_no_code_of_the_program_draws(make):
    before = torch.get_rng_state()
    foretold = foretell.order_of(iter(make()))
    assert (foretold is None or not foretold.take(2)) and torch.equal(torch.get_rng_state(), before)


def test_a_sampler_whose_code_was_changed_is_not_asked(monkeypatch):
    monkeypatch.setattr(RandomSampler, "__len__", lambda sampler: 3)
    assert foretell.order_of(iter(RandomSampler(DATA))) is None
    monkeypatch.undo()
    sampler = RandomSampler(DATA)
    sampler.wanted = lambda: 3
    assert foretell.order_of(iter(sampler)) is None


def test_a_pass_that_has_begun_is_not_foretold():
    iterator = iter(RandomSampler(DATA))
    next(iterator)
    assert foretell.order_of(iterator) is None


def test_a_long_order_is_small():
    """No list of its indices is made, of which each has 40 bytes."""
    foretold = foretell.order_of(iter(BatchSampler(RandomSampler(range(300_000)), 64, False)))
    tracemalloc.start()
    try:
        taken = foretold.take(20_000)
        assert len(taken) >= 20_000 and tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_all_named_classes_are_there():
    """A library that renames a class is not foretold any more."""
    for module, names in samplers._KNOWN.items():
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        gone = {name for name in names if not samplers._is_known(getattr(found, name, None) or int)}
        assert gone <= {"SequentialDistributedSampler", "BatchRebalanceSampler", "SkipBatchSampler"}
