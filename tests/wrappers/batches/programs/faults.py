"""Lets each function of Stoker's fail once, in the main process or in a worker. A DataLoader must give the same
batches as torch's own.

Prints a line for each outcome that differs, each error that Python only prints, and at the end how many functions failed.
"""

import os
import pathlib
import sys
import warnings

import numpy
import stoker
import torch
from rows import CHAIN, picture
from slots import show, values
from torch.utils.data import DataLoader, Dataset, IterableDataset

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "lib/tensors"))

import failing  # noqa: E402

MODULES = "borrow", "collate", "hook", "known", "lend", "moves", "passes", "rows", "tensors"


class Samples(Dataset):
    """Rows in place, what is collated into a slot, and what travels by value."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return CHAIN(picture(i)), {"values": values(i), "number": i}


class Stream(IterableDataset):
    def __iter__(self):
        return (values(i) for i in range(5))


class Arrays(Dataset):
    """A large array, and a large pickle."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return numpy.full((300, 500), i, "f4"), {"bytes": bytes([i]) * 100_000}


def share(tensor):
    """Moves it while an array lies over it, where that is memory of a worker's."""
    array = tensor.numpy() if stoker._core.borrowed_hold(tensor.data_ptr()) else None
    tensor.share_memory_()
    return show(tensor if array is None else torch.from_numpy(array))


def tensors_by_a_worker():
    batches = list(DataLoader(Samples(), 2, num_workers=1, timeout=60))
    return list(map(show, batches)), share(batches[0][0]), show(batches[0])


def arrays_by_a_worker():
    return list(map(show, DataLoader(Arrays(), 1, collate_fn=list, num_workers=1, timeout=60)))


def here():
    return [show(batch) for data in (Samples(), Stream()) for batch in DataLoader(data, 2)]


WAYS = {"tensors by a worker": tensors_by_a_worker, "arrays by a worker": arrays_by_a_worker, "here": here}

BOUNDS = {
    # Functions that torch calls in the place of its own, and functions that only call another one.
    "collate_tensors", "timed_collate", "fetch", "reduce_tensor", "_reduce_array", "_Batch.collate", "_Batch.close", "_hold",
    "_Stored.__reduce__", "_keep", "_make_none", "_be_no_worker", "_copy", "_pass_of",
    # Only these make a message's tensors, arrays and pickles.
    "tensor", "by_value", "lent", "over", "tensor_of", "_slot", "own_buffer", "unpickled", "offered",
    # Without these an array's memory would go while the array is there.
    "_memory_at", "_core.borrowed_hold", "_core.ring_hold",
    "_core.ring_end",  # it never fails
}


def outcome(way):
    try:
        return WAYS[way]()
    except Exception as error:
        return [type(error).__name__, str(error)]


def main():
    os.dup2(1, 2)
    warnings.simplefilter("ignore")
    modules = [sys.modules[f"stoker._torch.{name}"] for name in MODULES]
    failing.compare(failing.subjects(modules, stoker._core, BOUNDS), [(way,) for way in WAYS], outcome)


main()
