"""Opens all JPEGs of a directory with Pillow, each epoch in another order:

    shares.py DIRECTORY EPOCHS HOME [HOW]

Prints a line of JSON for each epoch. It has a digest of its pixels, and how many images came from
forms. It has too how many files were not read and their bytes, and the bytes in HOME by then. HOW:
`file` opens the files itself, as torchvision does."""

import hashlib
import json
import os
import pathlib
import random
import sys

from PIL import Image
from stoker import _core


NAMES = "from_forms", "unread", "unread_bytes"


def taken_bytes(home):
    """Returns the bytes that the files there really take."""
    total = 0
    for root, _, names in os.walk(home):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
            except FileNotFoundError:  # dropped, or a draft that was renamed
                pass
    return total


def pixels_of(path, how):
    if how == "file":
        with open(path, "rb") as file, Image.open(file) as image:
            return image.convert("RGB").tobytes()
    with Image.open(path) as image:
        return image.convert("RGB").tobytes()


def epoch(paths, order, how):
    digests = {}
    for path in order:
        digests[path] = hashlib.blake2b(pixels_of(path, how), digest_size=8).digest()
    return hashlib.blake2b(b"".join(digests[path] for path in paths)).hexdigest()[:16]


def main():
    directory, epochs, home = sys.argv[1:4]
    how = sys.argv[4] if len(sys.argv) > 4 else "path"
    paths, dice, before = sorted(map(str, pathlib.Path(directory).iterdir())), random.Random(1), {}
    for _ in range(int(epochs)):
        pixels = epoch(paths, dice.sample(paths, len(paths)), how)
        now = _core.counts()
        since = [now[name] - before.get(name, 0) for name in NAMES]
        print(json.dumps([pixels, *since, taken_bytes(home)]), flush=True)
        before = now


if __name__ == "__main__":
    main()
