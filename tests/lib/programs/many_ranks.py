"""Twenty ranks of one job, which open files in the order of their ranks, and go through a loader in the other order.
Argument: a directory. Each rank opens each of its files twice."""

import os
import pathlib
import sys

import torch

RANKS = 20
files = sorted(pathlib.Path(sys.argv[1]).iterdir())


class Files(torch.utils.data.Dataset):
    def __len__(self):
        return len(files)

    def __getitem__(self, index):
        return files[index].read_bytes()[0]


def work(rank, opened, turn):
    os.environ["RANK"] = str(rank)
    for file in files:
        file.read_bytes()
    os.write(opened, b"o")
    os.read(turn, 1)
    for _ in torch.utils.data.DataLoader(Files()):
        pass
    os._exit(0)


waiting = []
for rank in range(RANKS):
    (has_opened, opened), (turn, begin) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        work(rank, opened, turn)
    os.read(has_opened, 1)
    waiting.append((child, begin))
for child, begin in reversed(waiting):
    os.write(begin, b"b")
    os.waitpid(child, 0)
