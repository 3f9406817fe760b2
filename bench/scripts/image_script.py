#!/usr/bin/env python3
"""The time that one image takes beside decoding, in one process, when its form is there.

    image_script.py DIRECTORY

Prints, in nanoseconds, a name and a figure on each line: of each piece the least of some rounds for
each image, of all images the median. Decoding is `decode_form`, with the reading of its arguments,
and is not counted in `Compose`.
"""

import os
import statistics
import sys
import time

import torch
from PIL import Image
from torchvision import transforms as T

ROUNDS, FIRST = 40, 4  # the first rounds make the forms
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NAMES = ("open()", "Image.open", "convert", "close", "Compose")
now = time.perf_counter_ns


class Decoding:
    """Counts what decode_form takes."""

    def __init__(self, core):
        self.ns, self._plain = 0, core.decode_form
        core.decode_form = self

    def __call__(self, *arguments):
        start = now()
        made = self._plain(*arguments)
        self.ns += now() - start
        return made


def look(path, transform, decoding):
    """The pieces of one image, then its decoding."""
    decoding.ns = 0
    times = [now()]
    with open(path, "rb") as file:
        times.append(now())
        image = Image.open(file)
        times.append(now())
        image = image.convert("RGB")
        times.append(now())
    times.append(now())
    transform(image)
    times.append(now())
    pieces = [after - before for before, after in zip(times, times[1:])]
    pieces[-1] -= decoding.ns
    return [*pieces, sum(pieces), decoding.ns]


def main():
    from stoker import _core

    torch.set_num_threads(1)
    decoding = Decoding(_core)
    transform = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(),
                           T.Normalize(MEAN, STD)])
    paths = [os.path.join(directory, name) for directory, _, names in os.walk(sys.argv[1])
             for name in names]
    for _ in range(FIRST):
        for path in paths:
            look(path, transform, decoding)
    least = [[min(piece) for piece in zip(*(look(path, transform, decoding)
                                            for _ in range(ROUNDS)))] for path in paths]
    if min(image[-1] for image in least) == 0:
        sys.exit("an image was not decoded by Stoker out of its form")
    for name, piece in zip((*NAMES, "all", "decoding"), zip(*least)):
        print(name.replace(" ", "_"), statistics.median(piece))


if __name__ == "__main__":
    main()
