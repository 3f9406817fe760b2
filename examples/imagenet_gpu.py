#!/usr/bin/env python3
"""Trains as imagenet.py does; workers make bytes, and the GPU makes numbers of them, if there is one.

    stoker run -- python3 imagenet_gpu.py /data/imagenet --epochs 90 --workers 8

Five lines are others than in imagenet.py (docs/gpu.md has them side by side). Without a GPU the losses are
the same to the last bit.
"""

import argparse
import os
import time

import torch
from torch import nn
from torchvision import datasets, models, transforms

import stoker

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", metavar="DIR", help="the data set")
    parser.add_argument("--epochs", type=int, default=90, help="(%(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="loading processes (%(default)s)")
    parser.add_argument("--arch", default="resnet18",
                        help="a ResNet of torchvision, or `tiny`: one block per stage, too small "
                        "to learn ImageNet, so that loading is what is seen (%(default)s)")
    parser.add_argument("--image-size", type=int, default=224,
                        help="pixels; a small size shrinks the model's work, too (%(default)s)")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate (%(default)s)")
    parser.add_argument("--start-method", choices=("fork", "spawn", "forkserver"),
                        help="how workers start (the default of Python)")
    parser.add_argument("--persistent-workers", action="store_true",
                        help="keep the workers between epochs")
    parser.add_argument("--seed", type=int, help="of the order, the crops and the weights")
    return parser.parse_args()


def make_model(arch, classes):
    if arch == "tiny":
        return models.resnet.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=classes)
    return getattr(models, arch)(num_classes=classes)


def make_dataset(directory, image_size):
    train = os.path.join(directory, "train")
    return datasets.ImageFolder(
        train if os.path.isdir(train) else directory,
        transforms.Compose([
            transforms.RandomResizedCrop(image_size),
            transforms.RandomHorizontalFlip(),
            transforms.PILToTensor(),
        ]))


def make_loader(dataset, arguments):
    return torch.utils.data.DataLoader(
        dataset, batch_size=arguments.batch_size, shuffle=True, num_workers=arguments.workers,
        multiprocessing_context=arguments.start_method,
        persistent_workers=arguments.persistent_workers)


def train_epoch(model, loader, optimizer, device):
    """One pass over the data: (images, mean loss, seconds, seconds waited for data)."""
    criterion = nn.CrossEntropyLoss()
    model.train()
    count, total_loss, waited = 0, 0.0, 0.0
    start = end = time.perf_counter()
    for images, target in loader:
        waited += time.perf_counter() - end
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += len(target)
        total_loss += loss.item() * len(target)
        end = time.perf_counter()
    return count, total_loss / count, time.perf_counter() - start, waited


def main():
    arguments = parse_arguments()
    if arguments.seed is not None:
        torch.manual_seed(arguments.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = make_dataset(arguments.data, arguments.image_size)
    loader = stoker.Loader(make_loader(dataset, arguments), mean=MEAN, std=STD)
    model = make_model(arguments.arch, len(dataset.classes)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), arguments.lr, momentum=0.9, weight_decay=1e-4)
    for epoch in range(1, arguments.epochs + 1):
        count, loss, seconds, waited = train_epoch(model, loader, optimizer, device)
        print("epoch %d/%d: %d images, %.1f images/s, waited for data %.1f s, loss %.2f"
              % (epoch, arguments.epochs, count, count / seconds, waited, loss), flush=True)


if __name__ == "__main__":
    main()
