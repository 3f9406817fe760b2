"""Batches of arrays and bytes where the worker, or the main process, has few free descriptors. Prints how many of 60 batches
arrived whole, for each number of free ones.
"""

import json
import os
import resource

import numpy
from torch.utils.data import DataLoader, Dataset

COUNT, LIMIT = 60, 200


class Samples(Dataset):
    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return numpy.full((1000, 150), i, "f4"), bytes([i]) * 40_000


def fill_up(free):
    """Opens descriptors until only so many are free. Returns them."""
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for _ in range(free):
            os.close(taken.pop())
    return taken


def arrived(who, free):
    batches = iter(DataLoader(Samples(), 1, num_workers=1, collate_fn=list, timeout=60,
                              worker_init_fn=lambda _: fill_up(free) if who == "worker" else None))
    taken = fill_up(free) if who == "main" else []
    try:
        return sum(bool((array == i).all()) and data == bytes([i]) * 40_000 for i, ((array, data),) in enumerate(batches))
    except (OSError, EOFError, RuntimeError) as error:
        return str(error)
    finally:
        for descriptor in taken:
            os.close(descriptor)


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    for who in "worker", "main":
        for free in 0, 2, 3, 4, 5:
            print(json.dumps([f"{who}, {free}", arrived(who, free)]), flush=True)


if __name__ == "__main__":
    main()
