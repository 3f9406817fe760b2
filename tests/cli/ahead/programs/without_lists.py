#!/usr/bin/env python3
"""Draws the batches of data sets that have no list of their files, of one after the other: PROGRAM DIRECTORY EPOCHS
KIND:WORKERS:HOW...

Prints a line for each epoch: a digest of its batches, and a draw. KIND says which files a sample opens. HOW: persistent,
spawn, subset, single, backwards, batches, lists, or nothing."""

import hashlib
import os
import random
import sys

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Subset

_names = []  # of this process


def names_in(directory):
    if not _names:
        _names.extend(sorted(os.listdir(directory)))
    return _names


class Files(Dataset):
    def __init__(self, directory, kind, loader):
        self.directory, self.kind = directory, kind
        self.loader = f"/{loader}"  # another data set than that of another loader
        self.count = len(os.listdir(directory)) // (2 if kind == "two" else 1)

    def __len__(self):
        return self.count

    def _names_of(self, index):
        names = names_in(self.directory)
        drawn = names[random.randrange(self.count)]
        return {"one": [names[index]], "two": [names[index], names[index - self.count]], "other": [drawn],
                "mixed": [drawn, names[index]]}[self.kind]

    def __getitem__(self, index):
        number = torch.randint(9, ()).item() + random.randrange(9)
        for name in self._names_of(index):
            with open(os.path.join(self.directory, name), "rb") as file:
                number += int.from_bytes(file.read()[:4], "big")
        return number


class Batched(Files):
    """Makes all samples of a batch itself."""

    def __getitems__(self, indices):
        assert type(indices) is list
        return [self[index] for index in indices]


class OfLists(Files):
    """Is asked for a list of indices."""

    def __getitem__(self, indices):
        return [super(OfLists, self).__getitem__(index) for index in indices]


def make_loader(directory, kind, workers, how):
    loader = f"{workers}" if how == "backwards" else f"{workers}{how}"
    data = {"batches": Batched, "lists": OfLists}.get(how, Files)(directory, kind, loader)
    if how == "backwards":  # what samples of the same data set open is another file each
        names_in(data.directory).reverse()
    if how == "lists":
        batches = BatchSampler(RandomSampler(data), 8, drop_last=False)
        return DataLoader(data, batch_size=None, sampler=batches, num_workers=workers)
    if how in ("subset", "batches"):
        data = Subset(data, range(0, len(data)))
    context = {"multiprocessing_context": "spawn"} if how == "spawn" else {}
    return DataLoader(data, batch_size=None if how == "single" else 8, shuffle=True, num_workers=workers,
                      persistent_workers=how in ("persistent", "spawn"), **context)


def main():
    directory, epochs = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(7)
    random.seed(7)
    for kind, workers, how in (each.split(":") for each in sys.argv[3:]):
        loader = make_loader(directory, kind, int(workers), how)
        for _ in range(epochs):
            digest = hashlib.sha256()
            for batch in loader:
                digest.update(str(batch.tolist() if isinstance(batch, torch.Tensor) else batch).encode())
            print(digest.hexdigest()[:16], torch.rand(1).item(), random.random(), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Python needs a third of a second to take torch apart
