#!/usr/bin/env python3
"""Draws the batches of data sets that join the name of each file when a sample is made, of one after the other: PROGRAM
DIRECTORY KIND:WORKERS...

The files of the n-th are in DIRECTORY/n. Prints a line for each: a digest of the batches, and a draw. Then it runs the
command in AFTER_EACH. These are the kinds. texts: a list of ids. numbers: a list of numbers that the
names fill up with zeros. pairs: a list of ids with labels, and a mask beside each image. index: no list at all. drawn: names
that do not follow from anything."""

import hashlib
import os
import random
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, directory, kind):
        self.directory, self.kind = directory, kind
        names = sorted(name[:-4] for name in os.listdir(directory + "/images") if "_" not in name)
        self.count = len(names)
        if kind in ("texts", "pairs"):
            self.ids = names if kind == "texts" else [(name, int(name) % 7) for name in names]
        elif kind == "numbers":
            self.numbers = [int(name) for name in names]

    def __len__(self):
        return self.count

    def _name(self, index):
        if self.kind == "drawn":
            return f"{hash((index, index * index)) % self.count:04}"
        return (self.ids[index] if self.kind == "texts" else self.ids[index][0] if self.kind == "pairs"
                else f"{self.numbers[index] if self.kind == 'numbers' else index:04}")

    def __getitem__(self, index):
        paths = [os.path.join(self.directory, "images", self._name(index) + ".jpg")]
        if self.kind == "pairs":
            paths.append(os.path.join(self.directory, "masks", self._name(index) + ".png"))
        number = torch.randint(9, ()).item() + random.randrange(9)
        for path in paths:
            with open(path, "rb") as file:
                number += int.from_bytes(file.read()[:4], "big")
        return number


def main():
    torch.manual_seed(7)
    random.seed(7)
    for number, (kind, workers) in enumerate(each.split(":") for each in sys.argv[2:]):
        data = Images(f"{sys.argv[1]}/{number}", kind)
        digest = hashlib.sha256()
        for batch in DataLoader(data, batch_size=8, shuffle=True, num_workers=int(workers)):
            digest.update(str(batch.tolist()).encode())
        print(digest.hexdigest()[:16], torch.rand(1).item(), random.random(), flush=True)
        os.system(os.environ.get("AFTER_EACH", ""))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Python needs a third of a second to take torch apart
