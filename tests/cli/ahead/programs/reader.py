#!/usr/bin/env python3
"""Draws the batches of a training: PROGRAM DIRECTORY KIND WORKERS EPOCHS [BATCHES]. Or of several, one after the other:
PROGRAM DIRECTORY each EPOCHS KIND:WORKERS[:ELSEWHERE]... The files of the n-th are in DIRECTORY/n then, or ELSEWHERE, and
after each the program runs the command in AFTER_EACH.

Prints a line for each epoch: a digest of its batches, and a draw. KIND says how files are found and ordered. An epoch
ends after BATCHES. The kinds `few` and `early` have one epoch."""

import hashlib
import os
import random
import sys

import torch
from torch.utils.data import DataLoader, Dataset, Sampler


FEW = 50  # one sample of so many
EARLY = 3  # batches


class Files(Dataset):
    def __init__(self, directory, kind):
        self.files = sorted(os.path.join(directory, name) for name in os.listdir(directory))
        self.kept = [] if kind == "keeps" else None  # open files
        self.opened = None
        if kind in ("wrong", "two"):  # this list names files that are there, and that no sample opens
            self.files = [path for path in self.files if os.path.isfile(path)]
            self.directory = os.path.join(directory, "read")
        if kind == "two":
            self.opened = [os.path.join(self.directory, os.path.basename(path)) for path in self.files]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.opened[index] if self.opened else self.files[index]
        if hasattr(self, "directory"):
            path = os.path.join(self.directory, os.path.basename(path))
        file = open(path, "rb")
        number = int.from_bytes(file.read()[:4], "big") + torch.randint(9, ()).item() + random.randrange(9)
        if self.kept is None:
            file.close()
        else:
            self.kept.append(file)
        return number


class Shuffled(Sampler):
    """A sampler of the program's own, whose length draws."""

    def __init__(self, data, step=1):
        self.data, self.step = data, step

    def __iter__(self):
        order = list(range(0, len(self.data), self.step))
        random.shuffle(order)
        return iter(order)

    def __len__(self):
        torch.rand(1)
        return -(-len(self.data) // self.step)


def train(directory, kind, workers, epochs, most=None):
    data = Files(directory, kind)
    how = {"sampler": Shuffled(data, FEW if kind == "few" else 1)} if kind in ("own", "few") else {"shuffle": True}
    loader = DataLoader(data, batch_size=8, num_workers=workers, persistent_workers=workers > 0 and kind == "stay",
                        **how)
    for _ in range(1 if kind in ("few", "early") else epochs):
        digest = hashlib.sha256()
        for number, batch in enumerate(loader):
            digest.update(str(batch.tolist()).encode())
            if number + 1 == most:
                break
        print(digest.hexdigest()[:16], torch.rand(1).item(), random.random(), flush=True)
        if kind == "execs":
            loader_left = iter(loader)
            next(loader_left)
            os.execv(sys.executable, [sys.executable, __file__, directory, "plain", "2", "1"])


def main(directory, kind, *arguments):
    torch.manual_seed(7)
    random.seed(7)
    if kind != "each":
        train(directory, kind, *map(int, arguments))
        return
    for number, (kind, workers, *elsewhere) in enumerate(each.split(":") for each in arguments[1:]):
        train(*elsewhere or [f"{directory}/{number}"], kind, int(workers), int(arguments[0]), EARLY if kind == "early" else None)
        os.system(os.environ.get("AFTER_EACH", ""))


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # Python needs a third of a second to take torch apart
