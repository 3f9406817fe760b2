"""The results of torchvision's loader of an ImageFolder for each file. It loads each twice, as the
second time may be another way. Usage: loading.py FILE..."""

import json
import pathlib
import sys

import saying
from PIL import Image
from torchvision.datasets import folder


def failing(owner, name, path):
    """Returns the outcome of a load whose first call of this function fails, and its calls."""
    plain, calls = getattr(owner, name), []

    def fails(*arguments):
        calls.append(type(arguments[0]).__name__)
        if len(calls) == 1:
            raise OSError(5, "lost")
        return plain(*arguments)
    setattr(owner, name, fails)
    outcomes = [saying.outcome(lambda: folder.default_loader(path)) for _ in range(2)]
    setattr(owner, name, plain)
    return ["raised", outcomes, calls]


def main():
    saying.seed(1)
    names = sys.argv[1:]
    wanted = [*names, pathlib.Path(names[0]), names[0].encode(), open(names[0], "rb"), 3.5]
    outcomes = [saying.outcome(lambda: folder.default_loader(each)) for each in wanted * 2]
    outcomes += [failing(Image, "open", names[0]), failing(Image.Image, "convert", names[0])]
    print(json.dumps({"outcomes": outcomes, "counts": saying.counts(),
                      "own": folder.pil_loader.__module__}))


main()
