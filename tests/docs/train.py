"""Stands for the script of a page that shows none of its own. It takes two epochs over the files of
the directories among its arguments, or of /data/imagenet. It reads images by Pillow, other files by
read."""

import os
import sys

from PIL import Image


def files(directory):
    for parent, _, names in os.walk(directory):
        yield from (os.path.join(parent, name) for name in sorted(names))


def read(path):
    if path.lower().endswith((".jpeg", ".jpg")):
        Image.open(path).convert("RGB").resize((32, 32))
    else:
        with open(path, "rb") as file:
            file.read()


wanted = [word for word in sys.argv[1:] if os.path.isdir(word)] or ["/data/imagenet/train"]
for epoch in range(2):
    for directory in wanted:
        for path in files(directory):
            read(path)
