#!/usr/bin/env python3
"""Draws the batches of a Feed and of a Loader, whose files are in DIRECTORY/Feed and DIRECTORY/Loader: PROGRAM DIRECTORY
EPOCHS. Prints a digest of each epoch's batches, and a draw. After each of the two it runs the command in AFTER_EACH."""

import hashlib
import os
import sys

import torch

from stoker import Loader, transforms
from stoker._feed import Feed


def train(kind, directory, epochs):
    paths = sorted(os.path.join(directory, name) for name in os.listdir(directory))
    options = {"transform": transforms.RandomResizedCropFlip(16), "batch_size": 8, "shuffle": True, "threads": 2}
    how = {"device": "cpu"} if kind == "Loader" else {}
    feed = {"Feed": Feed, "Loader": Loader}[kind](paths, list(range(len(paths))), **options, **how)
    for _ in range(epochs):
        digest = hashlib.sha256()
        for images, labels in feed:
            digest.update(images.numpy().tobytes() + bytes(str(labels.tolist()), "ascii"))
        print(digest.hexdigest()[:16], torch.rand(1).item(), flush=True)


def main():
    torch.manual_seed(5)
    torch.set_num_threads(1)
    for kind in ("Feed", "Loader"):
        train(kind, f"{sys.argv[1]}/{kind}", int(sys.argv[2]))
        os.system(os.environ.get("AFTER_EACH", ""))


if __name__ == "__main__":
    main()
