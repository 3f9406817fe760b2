"""A worker gets the number of another loader's that has ended; and that loader's iterator is dropped only
then. Says how many of its batches came, or that no worker could be had with that number."""

import gc

import saying
import torch
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, count):
        self._count = count

    def __iter__(self):
        return iter([torch.ones(50000)] * self._count)


def begun(count):
    return iter(DataLoader(Stream(count), batch_size=None, num_workers=1, timeout=60))


def begun_with(pid):
    """Another process may take the number first."""
    for _ in range(40):
        with open("/proc/sys/kernel/ns_last_pid", "w") as last:
            last.write(str(pid - 1))
        batches = begun(60)
        if batches._workers[0].pid == pid:
            return batches
    return None


def main():
    ended = begun(3)
    seen = len(list(ended))
    try:
        batches = begun_with(ended._workers[0].pid)
    except OSError:
        batches = None
    if batches is None:
        return None
    seen += sum(next(batches) is not None for _ in range(20))
    del ended
    gc.collect()
    return seen + len(list(batches))


if __name__ == "__main__":
    saying.say("batches", main())
