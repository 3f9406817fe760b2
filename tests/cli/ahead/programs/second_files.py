#!/usr/bin/env python3
"""Draws the batches of data sets that have a list of their images, and open a mask beside each, of one after the other:
PROGRAM DIRECTORY KIND:WORKERS:EPOCHS...

The files of the n-th are in DIRECTORY/n. Prints a line for each epoch: a digest of its batches, and a draw. After each data
set it runs the command in AFTER_EACH. KIND: masks; few or some, which have no more masks after the
first of a process; or batched, which makes all samples of a batch at once."""

import hashlib
import os
import random
import sys

import torch
from torch.utils.data import DataLoader, Dataset

FEW = {"few": 6, "some": 24}  # of two processes: enough to show a rule, and too few to have it believed, or enough


class Images(Dataset):
    def __init__(self, directory, kind):
        self.images = sorted(os.path.join(directory, "images", name) for name in os.listdir(directory + "/images"))
        self.few, self.made = FEW.get(kind), 0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        self.made += 1
        paths = [self.images[index]]
        if self.few is None or self.made <= self.few:
            paths.append(paths[0].replace("/images/", "/masks/").replace(".jpg", ".png"))
        number = torch.randint(9, ()).item() + random.randrange(9)
        for path in paths:
            with open(path, "rb") as file:
                number += int.from_bytes(file.read()[:4], "big")
        return number if self.few is None else torch.randint(9, ()).item()


class Batched(Images):
    def __getitems__(self, indices):
        return list(map(self.__getitem__, indices))


def train(directory, kind, workers, epochs):
    data = (Batched if kind == "batched" else Images)(directory, kind)
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=workers, persistent_workers=kind in FEW)
    for _ in range(epochs):
        digest = hashlib.sha256()
        for batch in loader:
            digest.update(str(batch.tolist()).encode())
        print(digest.hexdigest()[:16], torch.rand(1).item(), random.random(), flush=True)


def main():
    torch.manual_seed(7)
    random.seed(7)
    for number, each in enumerate(sys.argv[2:]):
        kind, workers, epochs = each.split(":")
        train(f"{sys.argv[1]}/{number}", kind, int(workers), int(epochs))
        os.system(os.environ.get("AFTER_EACH", ""))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Python needs a third of a second to take torch apart
