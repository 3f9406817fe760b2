"""Decodes the JPEGs below a directory, epoch after epoch. Usage: decoding.py DIRECTORY EPOCHS [wait
[bytes | folder]]. Prints for each epoch, as JSON, a digest of each image and the counters. With
`wait` each epoch but the first waits for a line. With `bytes` Pillow gets no file. With `folder`
torchvision loads the images."""

import hashlib
import io
import json
import os
import sys

from PIL import Image
import PIL.JpegImagePlugin  # noqa: F401  (brings the hook)

NAMES = "images", "forms", "from_forms", "unread"


def counts():
    package = sys.modules.get("stoker") or sys.modules.get("_stoker")
    return package.counts() if package else dict.fromkeys(NAMES, 0)


def source(path):
    if "bytes" not in sys.argv:
        return path
    with open(path, "rb") as file:
        return io.BytesIO(file.read())


def load(path):
    if "folder" in sys.argv:
        from torchvision.datasets import folder
        return folder.default_loader(path)
    with Image.open(source(path)) as image:
        return image.convert("RGB")


def epoch(directory):
    before, digests = counts(), {}
    for name in sorted(os.listdir(directory)):
        image = load(os.path.join(directory, name))
        digests[name] = hashlib.sha1(image.tobytes()).hexdigest()
    after = counts()
    return {"digests": digests, **{name: after[name] - before[name] for name in NAMES}}


def main():
    for number in range(int(sys.argv[2])):
        if number and sys.argv[3:]:
            sys.stdin.readline()
        print(json.dumps(epoch(sys.argv[1])), flush=True)


main()
