#!/usr/bin/env python3
"""Trains on CIFAR-10, whose batches are made in one pass: padded, cropped, flipped, normalised.

    python3 cifar_gpu.py /data/cifar-10-batches-py --epochs 24
    python3 cifar_gpu.py --images 5000 --epochs 1         (noise, to see that it runs)

All images lie in memory as bytes, on the GPU if there is one: 150 MB, which is what 250 of its batches
would be as floats. There are no workers and no JPEGs; what a DataLoader would do with 50,000 single
images is one call for a batch. Needs PyTorch 1.13 or newer, and stoker.
"""

import argparse
import pathlib
import pickle
import time

import numpy as np
import torch
from torch import nn

from stoker import gpu

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
CLASSES = 10


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", metavar="DIR", nargs="?", help="with data_batch_1 to data_batch_5")
    parser.add_argument("--images", type=int, help="so many images of noise, in the place of DIR")
    parser.add_argument("--epochs", type=int, default=24, help="(%(default)s)")
    parser.add_argument("--batch-size", type=int, default=512, help="(%(default)s)")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate (%(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="without a GPU (%(default)s)")
    parser.add_argument("--seed", type=int, help="of the order, the crops and the weights")
    arguments = parser.parse_args()
    if (arguments.data is None) == (arguments.images is None):
        parser.error("either DIR or --images")
    return arguments


def read_images(directory):
    """All images as bytes, count x 32 x 32 x 3, and their classes."""
    images, targets = [], []
    for part in sorted(pathlib.Path(directory).glob("data_batch_[1-5]")):
        with part.open("rb") as file:
            read = pickle.load(file, encoding="bytes")
        images.append(read[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        targets += read[b"labels"]
    return torch.from_numpy(np.concatenate(images)), torch.tensor(targets)


def make_noise(count):
    return (torch.randint(0, 256, (count, 32, 32, 3), dtype=torch.uint8),
            torch.randint(0, CLASSES, (count,)))


def make_model():
    def block(channels, out):
        return [nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
                nn.MaxPool2d(2)]
    return nn.Sequential(*block(3, 32), *block(32, 64), *block(64, 128), nn.AdaptiveMaxPool2d(1),
                         nn.Flatten(), nn.Linear(128, CLASSES))


def train_epoch(model, images, targets, optimizer, arguments):
    """One pass over the data: (mean loss, seconds, seconds that making batches took here)."""
    criterion, total_loss, waited = nn.CrossEntropyLoss(), 0.0, 0.0
    half = images.is_cuda
    model.train()
    start = time.perf_counter()
    for indices in torch.randperm(len(images)).split(arguments.batch_size):
        asked = time.perf_counter()
        batch = gpu.augment(images, indices, mean=MEAN, std=STD, padding=4, flip=True,
                            dtype=torch.float16 if half else torch.float32, channels_last=half,
                            threads=arguments.threads)
        waited += time.perf_counter() - asked
        target = targets[indices.to(targets.device)]
        with torch.autocast("cuda", enabled=half):
            loss = criterion(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(target)
    return total_loss / len(images), time.perf_counter() - start, waited


def main():
    arguments = parse_arguments()
    if arguments.seed is not None:
        torch.manual_seed(arguments.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, targets = (make_noise(arguments.images) if arguments.data is None
                       else read_images(arguments.data))
    images, targets = images.to(device).contiguous(), targets.to(device)
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), arguments.lr, momentum=0.9, weight_decay=5e-4)
    for epoch in range(1, arguments.epochs + 1):
        loss, seconds, waited = train_epoch(model, images, targets, optimizer, arguments)
        print("epoch %d/%d: %d images, %.1f images/s, batches took %.1f s, loss %.3f"
              % (epoch, arguments.epochs, len(images), len(images) / seconds, waited, loss),
              flush=True)


if __name__ == "__main__":
    main()
