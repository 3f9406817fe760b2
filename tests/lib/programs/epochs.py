"""Trains, as far as files are concerned: reads image folders for some epochs. Prints what each
epoch cost the origin and a sum over its pixels, as one JSON object.

    epochs.py CONTROL EPOCHS DIRECTORY:WORKERS:METHOD:PERSISTENT...

CONTROL is slowfs's. Under torchrun the ranks share the images and read them together.
"""

import json
import os
import sys

import torch
from torch import distributed
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../storage"))
import slowfs  # noqa: E402

IS_RANK = "RANK" in os.environ


def meet():
    if IS_RANK:
        distributed.barrier()


def make_loader(directory, workers, method, persistent):
    dataset = datasets.ImageFolder(directory, transforms.Compose(
        [transforms.CenterCrop(64), transforms.PILToTensor()]))
    sampler = DistributedSampler(dataset) if IS_RANK else None
    return DataLoader(dataset, batch_size=8, shuffle=not IS_RANK, sampler=sampler,
                      num_workers=workers, multiprocessing_context=method if workers else None,
                      persistent_workers=persistent and workers > 0)


def run_epoch(loader, number, control):
    """One epoch: (what it cost the origin, its sum)."""
    if IS_RANK:
        loader.sampler.set_epoch(number)
    meet()
    before = control.settled_counts()
    meet()
    total = torch.zeros(1, dtype=torch.int64)
    for images, _ in loader:
        total += images.sum(dtype=torch.int64)
    meet()
    cost = control.settled_counts() - before
    meet()
    if IS_RANK:
        distributed.all_reduce(total)
    return {"file_ops": cost.file_ops, "read_bytes": cost["read_bytes"], "sum": total.item()}


def main(control_path, epochs, *configurations):
    control = slowfs.Control(control_path)
    if IS_RANK:
        distributed.init_process_group("gloo")
    told = {}
    for configuration in configurations:
        directory, workers, method, persistent = configuration.rsplit(":", 3)
        loader = make_loader(directory, int(workers), method, persistent == "1")
        told[configuration] = [run_epoch(loader, i, control) for i in range(int(epochs))]
    if int(os.environ.get("RANK", 0)) == 0:
        print(json.dumps(told))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
