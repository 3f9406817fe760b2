#!/usr/bin/env python3
"""A training script's loading side, as people write it, that runs the epochs it is asked for.

    epoch_script.py VARIANT IMAGE_SIZE

Reads a directory from each line of its standard input, loads it once, in random order, by
ImageFolder and DataLoader, and prints the images and the seconds. VARIANT is `decode` (open,
decode, RandomResizedCrop, flip, tensor, normalise) or `bytes` (the files are read, and their length
is the sample: nothing but loading is seen). It knows nothing of Stoker.
"""

import sys
import time

import torch
from torchvision import datasets, transforms

WORKERS = 2


def read_length(path):
    with open(path, "rb") as file:
        return len(file.read())


def make_dataset(directory, variant, image_size):
    if variant == "bytes":
        return datasets.ImageFolder(directory, loader=read_length)
    return datasets.ImageFolder(directory, transforms.Compose([
        transforms.RandomResizedCrop(image_size),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]))


def run_epoch(dataset):
    loader = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True,
                                         num_workers=WORKERS)
    start = time.perf_counter()
    images = sum(len(target) for _, target in loader)
    return images, time.perf_counter() - start


def main():
    variant, image_size = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    known = {}
    print("ready", flush=True)
    for line in sys.stdin:
        directory = line.rstrip("\n")
        if directory not in known:
            known[directory] = make_dataset(directory, variant, image_size)
        print(*run_epoch(known[directory]), flush=True)


if __name__ == "__main__":
    main()
