#!/usr/bin/env python3
"""A script's DataLoader and nothing behind it, as people write it, that runs an epoch on order.

    batch_script.py KIND DIRECTORY WORKERS

For each line of its standard input it goes through the data once, and prints the images, the seconds,
and the seconds of this process's own processor time. It knows nothing of Stoker. KIND is one of these:

- `float64`, `float256`: ImageFolder, RandomResizedCrop(224), flip, tensor, normalise; in batches of so many
- `arrays64`: the same, but stacked as arrays of NumPy, for JAX
- `bytes256`: the same as bytes, collated as timm does it
- `small512`: 32 x 32 out of memory
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


def collate_arrays(batch):
    return [numpy.stack([numpy.asarray(each) for each in column]) for column in zip(*batch)]


# The ends of the pipeline and the functions that collate, for all but one kind.
KINDS = {"float": (END, None), "arrays": (END, collate_arrays), "bytes": ([as_array], collate_bytes)}


def make_loader(kind, directory, workers):
    name = kind.rstrip("0123456789")
    size, collate = int(kind[len(name):]), None
    if name == "small":
        dataset = Small()
    else:
        end, collate = KINDS[name]
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
