"""The results of torchvision's loader of an ImageFolder for each file. It loads each twice, as the
second time may be another way. Usage: loading.py FILE..."""

import json
import pathlib
import sys

import saying
from torchvision.datasets import folder


def main():
    saying.seed(1)
    names = sys.argv[1:]
    wanted = [*names, pathlib.Path(names[0]), names[0].encode(), open(names[0], "rb"), 3.5]
    outcomes = [saying.outcome(lambda: folder.default_loader(each)) for each in wanted * 2]
    print(json.dumps({"outcomes": outcomes, "counts": saying.counts(),
                      "own": folder.pil_loader.__module__}))


main()
