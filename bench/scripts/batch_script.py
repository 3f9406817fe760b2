#!/usr/bin/env python3
"""A script's DataLoader and nothing behind it, as people write it, that runs an epoch on order.

    batch_script.py KIND DIRECTORY WORKERS

For each line of its standard input it goes through the data once, and prints the images, the seconds,
and the seconds of this process's own processor time. KIND is `float64` or `float256` (ImageFolder,
RandomResizedCrop(224), flip, tensor, normalise; in batches of so many), `bytes256` (the same as bytes,
collated as timm does it) or `small512` (32 x 32 out of memory). It knows nothing of Stoker.
"""

import sys
import time

import numpy
import torch
from torchvision import datasets, transforms

GEOMETRY = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()]
END = [transforms.ToTensor(),
       transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]


class Small(torch.utils.data.Dataset):
    """As CIFAR-10 once it is in memory, without its pipeline."""

    def __init__(self):
        self.images = torch.rand(20000, 3, 32, 32)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], i % 10


def as_array(image):
    return numpy.rollaxis(numpy.asarray(image), 2)


def collate_bytes(batch):
    images = torch.zeros((len(batch), 3, 224, 224), dtype=torch.uint8)
    for i, (image, _) in enumerate(batch):
        images[i] += torch.from_numpy(image.copy())
    return images, torch.tensor([target for _, target in batch])


def make_loader(kind, directory, workers):
    size = int(kind.lstrip("abcdefghijklmnopqrstuvwxyz"))
    dataset, collate = None, None
    if kind.startswith("small"):
        dataset = Small()
    else:
        end = [as_array] if kind.startswith("bytes") else END
        collate = collate_bytes if kind.startswith("bytes") else None
        dataset = datasets.ImageFolder(directory, transforms.Compose(GEOMETRY + end))
    return torch.utils.data.DataLoader(dataset, size, shuffle=True, num_workers=workers,
                                       collate_fn=collate, persistent_workers=True)


def main():
    torch.set_num_threads(1)
    loader = make_loader(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    print("ready", flush=True)
    for _ in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        images = sum(len(target) for _, target in loader)
        print(images, time.perf_counter() - start, time.process_time() - cpu, flush=True)


if __name__ == "__main__":
    main()
