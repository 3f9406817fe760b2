#!/usr/bin/env python3
"""Where the time of torchvision's pipeline goes, as a script has it, hooked or not.

    steps.py DIRECTORY KILOBYTES v1|v2

Prints a JSON object: for each step, the microseconds per photograph of each pass, without the steps
that it calls. `whole` is measured without these clocks, in passes in between.
"""

import functools
import json
import os
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

from PIL import Image, ImageFile  # noqa: E402
from torchvision.datasets import folder  # noqa: E402
from torchvision.transforms import functional as F  # noqa: E402
from torchvision.transforms import transforms  # noqa: E402

from peers.libraries.torchvision_pillow import Library  # noqa: E402
from peers.worker import photos_of  # noqa: E402

PASSES = 8
REST = "everything else"

spent = {}
_inner = [0]  # nanoseconds of the steps inside of each that is at work


def timed(name, function):
    @functools.wraps(function)
    def call(*arguments, **named):
        _inner.append(0)
        start = time.perf_counter_ns()
        try:
            return function(*arguments, **named)
        finally:
            whole = time.perf_counter_ns() - start
            spent[name] = spent.get(name, 0) + whole - _inner.pop()
            _inner[-1] += whole
    return call


class Clocks:
    """Clocks around functions, that can be put in and taken out."""

    def __init__(self):
        self.places = []  # owner, name, what is there, what is timed

    def around(self, step, owner, *names):
        for name in names:
            there = owner.__dict__.get(name)
            if there is None:
                there = getattr(owner, name, None) or __builtins__.open
            function = getattr(there, "__func__", there)
            clock = timed(step, function)
            self.places.append((owner, name, there,
                                staticmethod(clock) if there is not function else clock))

    def turn(self, on):
        for owner, name, there, clock in self.places:
            setattr(owner, name, clock if on else there)


def plain_clocks(clocks, version):
    clocks.around("ImageFile.load", ImageFile.ImageFile, "load")
    for name in ("convert", "crop", "resize", "transpose"):
        clocks.around("Image." + name, Image.Image, name)
    if version == "v1":
        clocks.around("get_params", transforms.RandomResizedCrop, "get_params")
        clocks.around("to_tensor", F, "to_tensor")
        clocks.around("normalize", F, "normalize")
    else:
        from torchvision.transforms import v2
        clocks.around("get_params", v2.RandomResizedCrop, "make_params")
        for name, step in (("ToImage", "to_tensor"), ("ToDtype", "to float"),
                           ("Normalize", "normalize")):
            clocks.around(step, getattr(v2, name), "transform")


def hooked_clocks(clocks, package):
    """Only around what the hook itself calls: torchvision's own functions must be as they are."""
    from importlib import import_module
    part = functools.partial(import_module, package=package)
    clocks.around("Image.convert, taking over", part("._pillow.take"), "take")
    clocks.around("header", part("._core"), "examine")
    clocks.around("decode/", part("._core"), "decode")
    clocks.around("get_params", part("._pipeline.rng"), "region")
    clocks.around("torch's memory", part("._pipeline.tensor_tail").TensorTail, "tensor")


def run_pass(library, job, photos):
    """(microseconds of the steps, microseconds of all), per photograph."""
    spent.clear()
    library.begin()
    start = time.perf_counter_ns()
    for _ in library.run(job, photos):
        pass
    whole = (time.perf_counter_ns() - start) / 1e3 / len(photos)
    steps = {name: ns / 1e3 / len(photos) for name, ns in spent.items()}
    return steps, whole


def main():
    directory, kilobytes, version = sys.argv[1:]
    photos = photos_of(directory, int(kilobytes))
    library = Library({int(kilobytes): photos})
    run_pass(library, version, photos)
    clocks = Clocks()
    clocks.around("opening the file", folder, "open")
    clocks.around("Image.open", Image, "open")
    if hasattr(Image.Image, "_stoker"):
        hooked_clocks(clocks, "stoker")
    else:
        plain_clocks(clocks, version)
    found = {"whole": []}
    for _ in range(PASSES):
        found["whole"].append(run_pass(library, version, photos)[1])
        clocks.turn(True)
        steps, whole = run_pass(library, version, photos)
        clocks.turn(False)
        steps[REST] = whole - sum(steps.values())
        for name, us in steps.items():
            found.setdefault(name, []).append(us)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
