"""Makes tensors of the images in a directory: by transforms that Stoker makes, and by some that it does not.

    outside.py DIRECTORY
"""

import pathlib
import sys

from PIL import Image
from torchvision import transforms


def halve(tensor):
    return tensor / 2


def main():
    pipeline = transforms.Compose([
        transforms.RandomResizedCrop(64), transforms.ToTensor(),
        transforms.Compose([transforms.GaussianBlur(5)]), transforms.RandomApply([transforms.RandomErasing(1.0)], 1.0), halve])
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        pipeline(Image.open(path))


if __name__ == "__main__":
    main()
