"""Four loaders whose batches or epochs are not what the DataLoader says, two epochs each: a stream of batches, a stream
of samples, a sampler that is repeated, and one that never ends."""

import itertools

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, Sampler, SequentialSampler

ROWS, BATCHES = 8, 5
COUNT = ROWS * BATCHES


class Stream(IterableDataset):
    def __init__(self, item):
        self.item = item

    def __iter__(self):
        return itertools.repeat(self.item, BATCHES)


class Repeating:
    """Gives a sampler's batches again and again, as loaders do that keep their workers."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from self.sampler


class Endless(Sampler):
    def __init__(self):
        pass

    def __iter__(self):
        return (number % COUNT for number in itertools.count())


def main():
    batch = {"image": torch.zeros(ROWS, 3, 4, 4), "name": ["x"] * ROWS, "label": torch.zeros(ROWS)}
    sample = torch.zeros(3, 4, 4), torch.zeros(4)
    for item in batch, sample:
        loader = DataLoader(Stream(item), batch_size=None)
        for _ in range(2):
            list(loader)
    numbers = range(COUNT)
    kept = [DataLoader(numbers, batch_sampler=Repeating(BatchSampler(SequentialSampler(numbers), ROWS, False))),
            DataLoader(numbers, batch_size=ROWS, sampler=Endless())]
    for loader in kept:
        list(itertools.islice(loader, 2 * BATCHES))


main()
