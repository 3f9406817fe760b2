"""DataLoaders of all kinds: what they give, in which order, and what was drawn on the way."""

import random

import numpy
import saying
import torch
from samples import image
from torch.utils.data import (BatchSampler, ChainDataset, ConcatDataset, DataLoader, Dataset,
                              IterableDataset, RandomSampler, SequentialSampler, Subset,
                              TensorDataset, WeightedRandomSampler, default_collate,
                              get_worker_info, random_split)
from torch.utils.data.distributed import DistributedSampler

SIDE = 60  # a sample has 43 KB
METHOD = "fork"


class Images(Dataset):
    def __len__(self):
        return 22

    def __getitem__(self, index):
        return image(index, SIDE), index


class Drawing(Images):
    """Draws from every generator, as augmentations do."""

    def __getitem__(self, index):
        return (image(index, SIDE) + torch.rand(1), random.random(), numpy.random.rand())


class Stream(IterableDataset):
    """Each worker has its share."""

    def __init__(self, count=19):
        self._count = count

    def __iter__(self):
        worker = get_worker_info()
        for index in range(worker.id if worker else 0, self._count,
                           worker.num_workers if worker else 1):
            yield image(index, SIDE), index


class Batches(Images):
    """A data set whose samples are batches."""

    def __getitem__(self, index):
        return torch.stack([image(index, SIDE), image(index + 1, SIDE)])


class Inner(Images):
    """A worker that has loaders itself."""

    def __init__(self, whole):
        self._whole = whole

    def __getitem__(self, index):
        data = Subset(Images(), [index % 22, (index + 1) % 22, (index + 2) % 22, (index + 3) % 22])
        batches = [images for images, _ in DataLoader(data, batch_size=2)]
        return batches[0] if self._whole else batches[1][0]


class WithGetItems(Images):
    """Newer versions ask for a whole batch at once."""

    def __getitems__(self, indices):
        return [(image(index, SIDE), index) for index in reversed(indices)]


class Named(Images):
    """Returns the changes that worker_init_fn made to the worker."""

    def __getitem__(self, index):
        return image(index, SIDE), Named.mark, float(torch.rand(()))


def mark(worker):
    Named.mark = 100 + worker
    torch.manual_seed(worker)


def registered(batch, *, collate_fn_map=None):
    """A collate function for tensors that the program has put into torch's table."""
    return torch.stack(batch) * 2


class Sampled:
    """A batch sampler of batches of different sizes."""

    def __iter__(self):
        return iter([[3, 1], [5], [2, 2, 2, 2], list(range(10))])

    def __len__(self):
        return 4


def loader(data=None, workers=2, **options):
    options = {"multiprocessing_context": METHOD if workers else None, "timeout": 60, **options}
    if not workers:
        del options["timeout"]
    return DataLoader(Images() if data is None else data, num_workers=workers, **options)


def seen(*loaders, epochs=1):
    """All batches, and what the generators give then."""
    batches = [saying.describe(batch) for _ in range(epochs) for one in loaders for batch in one]
    return batches, saying.draws()


def interleaved():
    three = [loader(batch_size=4, shuffle=True), loader(Drawing(), batch_size=3), loader(Batches())]
    return [saying.describe(batches) for batches in zip(*three)], saying.draws()


def two_iterators():
    one = loader(batch_size=4, shuffle=True)
    return [saying.describe(pair) for pair in zip(one, one)], saying.draws()


def stopped_and_started():
    """A persistent loader that is left in the middle of an epoch."""
    one, saw = loader(batch_size=2, shuffle=True, persistent_workers=True), []
    for stop in 1, 4, 0, 20:
        for number, batch in enumerate(one):
            saw.append(saying.describe(batch))
            if number == stop:
                break
    return saw, saying.draws()


def of_ranks():
    saw = []
    for rank in range(2):
        sampler = DistributedSampler(Images(), 2, rank, shuffle=True, seed=3)
        one = loader(sampler=sampler, batch_size=4, drop_last=rank == 1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            saw.append(seen(one))
    return saw


def out_of_order():
    try:
        one = loader(batch_size=2, in_order=False)
    except TypeError:
        return "this version gives batches in order"
    return sorted(map(str, seen(one)[0]))


def with_own_table_entry():
    table = getattr(torch.utils.data._utils.collate, "default_collate_fn_map", {})
    plain = table.get(torch.Tensor)
    table[torch.Tensor] = registered
    try:
        return seen(loader(batch_size=4))
    finally:
        table[torch.Tensor] = plain


def with_default_type():
    torch.set_default_dtype(torch.float64)
    try:
        return seen(loader(batch_size=4))
    finally:
        torch.set_default_dtype(torch.float32)


def with_file_system_strategy():
    plain = torch.multiprocessing.get_sharing_strategy()
    torch.multiprocessing.set_sharing_strategy("file_system")
    try:
        return seen(loader(batch_size=4), epochs=2)
    finally:
        torch.multiprocessing.set_sharing_strategy(plain)


def mixed_kinds():
    parts = random_split(ConcatDataset([Images(), Batches()]), [22, 22],
                         torch.Generator().manual_seed(1))
    return [seen(loader(part, batch_size=None)) for part in parts]


def with_default_of_its_own():
    return seen(loader(batch_size=4, collate_fn=lambda samples: default_collate(samples)))


CASES = {
    "plain": lambda: seen(loader(batch_size=4)),
    "no workers": lambda: seen(loader(workers=0, batch_size=4, shuffle=True)),
    "one worker": lambda: seen(loader(workers=1, batch_size=4, shuffle=True)),
    "five workers": lambda: seen(loader(workers=5, batch_size=2, shuffle=True)),
    "more workers than batches": lambda: seen(loader(workers=4, batch_size=20)),
    "batches of one": lambda: seen(loader()),
    "drop_last": lambda: seen(loader(batch_size=4, drop_last=True), epochs=2),
    "persistent": lambda: seen(loader(batch_size=4, shuffle=True, persistent_workers=True),
                               epochs=3),
    "pin_memory": lambda: seen(loader(batch_size=4, pin_memory=True), epochs=2),
    "drawn": lambda: seen(loader(Drawing(), batch_size=4, shuffle=True), epochs=2),
    "generator": lambda: seen(loader(batch_size=4, shuffle=True,
                                     generator=torch.Generator().manual_seed(9))),
    **{f"prefetch_factor {count}": lambda count=count: seen(loader(batch_size=2,
                                                                  prefetch_factor=count))
       for count in (1, 2, 3, 8, 16)},
    "stream": lambda: seen(loader(Stream(), batch_size=4), epochs=2),
    "stream, drop_last": lambda: seen(loader(Stream(), batch_size=4, drop_last=True)),
    "stream without batches": lambda: seen(loader(Stream(), batch_size=None)),
    "streams in a chain": lambda: seen(loader(ChainDataset([Stream(7), Stream(5)]), batch_size=3)),
    "persistent stream": lambda: seen(loader(Stream(), batch_size=4, persistent_workers=True),
                                      epochs=3),
    "batch_size=None": lambda: seen(loader(batch_size=None)),
    "batches of the data set": lambda: seen(loader(Batches(), batch_size=None)),
    "batches of batches": lambda: seen(loader(Batches(), batch_size=3)),
    "tensors of the main process": lambda: seen(loader(
        TensorDataset(torch.stack([image(i, SIDE) for i in range(9)])), batch_size=4)),
    "batch_sampler": lambda: seen(loader(batch_sampler=Sampled()), epochs=2),
    "torch's batch_sampler": lambda: seen(loader(batch_sampler=BatchSampler(
        SequentialSampler(range(22)), 5, False))),
    "the same sample again": lambda: seen(loader(Subset(Images(), [5, 5, 5, 2]), batch_size=4)),
    "random sampler": lambda: seen(loader(batch_size=4, sampler=RandomSampler(
        range(22), replacement=True, num_samples=30))),
    "weighted sampler": lambda: seen(loader(batch_size=4, sampler=WeightedRandomSampler(
        [1.0] * 22, 20))),
    "DistributedSampler": of_ranks,
    "worker_init_fn": lambda: seen(loader(Named(), batch_size=4, worker_init_fn=mark)),
    "samples of a whole batch": lambda: seen(loader(WithGetItems(), batch_size=4)),
    "several at once": interleaved,
    "one twice at once": two_iterators,
    "stopped and started": stopped_and_started,
    "loader in a worker": lambda: seen(loader(Inner(True), batch_size=3)),
    "row of a loader in a worker": lambda: seen(loader(Inner(False), batch_size=3)),
    "out of order": out_of_order,
    "own entry in the table": with_own_table_entry,
    "own default_collate": with_default_of_its_own,
    "other default type": with_default_type,
    "file_system": with_file_system_strategy,
    "kinds mixed": mixed_kinds,
}

if __name__ == "__main__":
    saying.run(CASES)
