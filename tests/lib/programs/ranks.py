"""One rank of a job: takes its part of the files, and prints what it has counted itself.

    ranks.py DIRECTORY EPOCHS WORKERS SECONDS that each sample takes the last rank
"""

import json
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 2


class Files(Dataset):
    def __init__(self, directory, rank, world, pause_s):
        self.paths = [entry.path for entry in sorted(os.scandir(directory), key=lambda entry: entry.name)][rank::world]
        self.pause_s = pause_s

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            data = file.read()
        time.sleep(self.pause_s)
        return torch.tensor(len(data))


def main(directory, epochs, workers, pause_s):
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    loader = DataLoader(Files(directory, rank, world, pause_s if rank == world - 1 else 0), BATCH, num_workers=workers)
    told = {"rank": rank, "samples": 0, "batches": 0, "bytes": 0, "waited_s": 0.0}
    for _ in range(epochs):
        batches, begun = iter(loader), time.monotonic()
        for batch in batches:
            told["waited_s"] += time.monotonic() - begun
            told["samples"] += len(batch)
            told["batches"] += 1
            told["bytes"] += int(batch.sum())
            begun = time.monotonic()
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
