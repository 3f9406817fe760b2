"""Trains, as far as reading goes: looks at one batch, then takes so many passes over a DataLoader.
Its data set opens each file so often.

    passes.py DIRECTORY EPOCHS OPENS WORKERS [SECONDS that each sample takes [MEETING]]

With MEETING, a directory, two processes do so at the same time, and meet there.
"""

import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __init__(self, directory, opens):
        self.paths = sorted(os.path.join(directory, name) for name in os.listdir(directory))
        self.opens = opens

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        for _ in range(self.opens):
            with open(self.paths[index], "rb") as file:
                data = file.read()
        time.sleep(float(sys.argv[5]) if len(sys.argv) > 5 else 0)
        return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def main():
    directory, (epochs, opens, workers) = sys.argv[1], map(int, sys.argv[2:5])
    loader = DataLoader(Files(directory, opens), batch_size=2, shuffle=True, num_workers=workers)
    other = os.fork() if len(sys.argv) > 6 else None
    next(iter(loader))
    if len(sys.argv) > 6:
        open(os.path.join(sys.argv[6], str(os.getpid())), "x").close()
        while len(os.listdir(sys.argv[6])) < 2:
            time.sleep(0.01)
    for number in range(1, epochs + 1):
        begun = time.monotonic()
        samples = sum(len(batch) for batch in loader)
        print(number, samples, begun, time.monotonic(), flush=True)
    if other:
        os.waitpid(other, 0)


if __name__ == "__main__":
    main()
