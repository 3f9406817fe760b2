#!/usr/bin/env python3
"""A script's DataLoader with a GPU behind it, that is told when to run an epoch.

    device_script.py KIND DIRECTORY WORKERS DEVICE PACKAGE

For each line of its standard input it has every batch on the device once, as normalised floats, and prints
the images, the seconds until the last one is there, and the seconds of this process's own processor
time. KIND is `pinned` (ToTensor, Normalize, pin_memory, to() without waiting) or `loader` (PILToTensor and
stoker.Loader).
"""

import sys
import time

import torch
from torchvision import datasets, transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
GEOMETRY = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()]
BATCH = 256


def make_loader(directory, workers, end, pinned):
    dataset = datasets.ImageFolder(directory, transforms.Compose(GEOMETRY + end))
    return torch.utils.data.DataLoader(dataset, BATCH, shuffle=True, num_workers=workers,
                                       pin_memory=pinned, persistent_workers=True)


def batches_of(kind, directory, workers, device):
    if kind == "loader":
        import stoker
        return stoker.Loader(make_loader(directory, workers, [transforms.PILToTensor()], False),
                             device=device, mean=MEAN, std=STD)
    end = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    return make_loader(directory, workers, end, device.type == "cuda")


def run_epoch(batches, device):
    images = 0
    for batch, target in batches:
        batch, target = (each.to(device, non_blocking=True) for each in (batch, target))
        images += len(target)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return images


def main():
    kind, directory, workers, device, package = sys.argv[1:]
    sys.path.insert(0, package)
    torch.set_num_threads(1)
    device = torch.device(device)
    batches = batches_of(kind, directory, int(workers), device)
    print("ready", flush=True)
    for _ in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        images = run_epoch(batches, device)
        print(images, time.perf_counter() - start, time.process_time() - cpu, flush=True)


if __name__ == "__main__":
    main()
