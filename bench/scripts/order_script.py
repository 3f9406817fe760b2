"""The main process's side of a DataLoader with two workers, whose samples open one small file each.

    order_script.py DIRECTORY asked BATCH     prints the processor time of each index that the loader asks for, in ns; one
                                              number for each pass
    order_script.py DIRECTORY begun INDICES   prints the time until the loader asks its workers for the first batch of so many
                                              indices, in ns; one number for each pass

DIRECTORY is ground.make_tree()'s. The script knows nothing of Stoker.
"""

import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

WORKERS = 2
PASSES = 7


class Listed(Dataset):
    """Samples of files in a list of paths, as ImageFolder has one."""

    def __init__(self, top, count=None):
        files = sorted(os.path.join(at, name) for at, _, names in os.walk(top) for name in names)
        self.samples = [files[number % len(files)] for number in range(count or len(files))]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        with open(self.samples[index], "rb") as file:
            return len(file.read())


class Clock:
    """Measures the loader's requests for indices."""

    def __init__(self, kind, now):
        self.ns, self.first = 0, None
        plain = kind._next_index

        def _next_index(iterator):
            begin = now()
            try:
                return plain(iterator)
            finally:
                end = now()
                self.ns += end - begin
                self.first = self.first or end

        kind._next_index = _next_index


def time_asked(dataset, batch):
    """Yields the ns an index of each pass."""
    loader = DataLoader(dataset, batch_size=batch, shuffle=True, num_workers=WORKERS, collate_fn=len)
    clock = Clock(type(iter(loader)), time.thread_time_ns)
    for _ in range(PASSES):
        clock.ns = 0
        for _ in loader:
            pass
        yield clock.ns / len(dataset)


def time_begun(dataset):
    """Yields the ns until the first batch is asked for, of each pass."""
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=WORKERS, collate_fn=len)
    clock = Clock(type(iter(loader)), time.monotonic_ns)
    for _ in range(PASSES):
        clock.first, begin = None, time.monotonic_ns()
        iterator = iter(loader)
        next(iterator)
        yield clock.first - begin
        del iterator


def main():
    top, what, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    print(*time_asked(Listed(top), number) if what == "asked" else time_begun(Listed(top, number)))


if __name__ == "__main__":
    main()
