"""Goes through a folder of images in epochs, by a Feed, and says of each what its batches are.

    feed.py THREADS EPOCHS PATH...
"""

import hashlib
import json
import sys

import torch

import stoker
from stoker import transforms
from stoker._feed import Feed


def main():
    threads, epochs, paths = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(1)
    torch.manual_seed(6)
    feed = Feed(paths, range(len(paths)), transform=transforms.RandomResizedCropFlip(48), batch_size=5,
                shuffle=True, threads=threads)
    for _ in range(epochs):
        digest = hashlib.sha256()
        for images, labels in feed:
            digest.update(images.numpy().tobytes() + labels.numpy().tobytes())
        print(json.dumps([digest.hexdigest(), stoker.counts()]))


main()
