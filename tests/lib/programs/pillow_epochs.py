"""Reads a folder of images for some epochs, as epochs.py does, but without torch: two processes that stay
open each image with Pillow. Prints what each epoch cost the origin and a sum over its pixels, as JSON.

    pillow_epochs.py CONTROL EPOCHS DIRECTORY
"""

import json
import multiprocessing
import os
import random
import sys

from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../storage"))
import slowfs  # noqa: E402


def pixels_of(path):
    """Returns the sum of an image's pixels."""
    with Image.open(path) as image:
        return sum(image.convert("RGB").tobytes())


def images_in(directory):
    return sorted(os.path.join(top, name) for top, _, names in os.walk(directory) for name in names)


def run_epoch(pool, images, number, control):
    before = control.settled_counts()
    total = sum(pool.map(pixels_of, random.Random(number).sample(images, len(images)), 4))
    cost = control.settled_counts() - before
    return {"file_ops": cost.file_ops, "read_bytes": cost["read_bytes"], "sum": total}


def main(control_path, epochs, directory):
    control = slowfs.Control(control_path)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        images = images_in(directory)
        print(json.dumps([run_epoch(pool, images, number, control) for number in range(int(epochs))]))


if __name__ == "__main__":
    main(*sys.argv[1:])
