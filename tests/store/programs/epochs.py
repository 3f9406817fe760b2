"""Opens all JPEGs of a directory with Pillow, EPOCHS times. Prints a digest of the pixels of each
epoch. Usage: epochs.py DIRECTORY EPOCHS."""

import hashlib
import pathlib
import sys

from PIL import Image


def epoch(paths):
    pixels = hashlib.blake2b(digest_size=16)
    for path in paths:
        with Image.open(path) as image:
            pixels.update(image.convert("RGB").tobytes())
    return pixels.hexdigest()


def main():
    paths = sorted(pathlib.Path(sys.argv[1]).iterdir())
    for _ in range(int(sys.argv[2])):
        print(epoch(paths))


if __name__ == "__main__":
    main()
