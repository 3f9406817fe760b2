"""Random pipelines of data sets that hold an array, each out of its seed alone. Prints the outcomes, and how many samples
Stoker made of the array itself. Arguments: the first seed, how many.
"""

import contextlib
import json
import random
import sys

import numpy
import saying
import torch
from PIL import Image
from torch.utils._python_dispatch import TorchDispatchMode
from torchvision import transforms as T
from torchvision.datasets import cifar
from torchvision.transforms import InterpolationMode

try:
    from torchvision.transforms import v2
    v2.ToImage
except (ImportError, AttributeError):
    v2 = None

VALUES = (0.49, 0.48, 0.44), (0.24, 0.24, 0.26)
SIZES = [(32, 32)] * 20 + [(1, 1), (2, 1), (2, 2), (7, 40), (300, 310)]
FILLS = *[0] * 20, 9, 255, 300, (1, 2, 3), (1, 2, 3), (1, 2, 3), (4,), (1, 2), 0.5
made = {"arrays": 0}


class Own(cifar.CIFAR10):
    """A class of the program's own."""


class OwnCompose(T.Compose):
    def __call__(self, image):
        return super().__call__(image.transpose(0))


class OwnFlip(T.RandomHorizontalFlip):
    def forward(self, image):
        return super().forward(image.transpose(1))


class Zeros(TorchDispatchMode):
    """Each random number is 0."""

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        made = function(*arguments, **named or {})
        return torch.zeros_like(made) if "rand" in str(function) else made


class Turning:
    """Stands in the place of the module Image."""

    @staticmethod
    def fromarray(array):
        return Image.fromarray(array).transpose(0)


def geometry(dice, module):
    side = dice.choice([32] * 30 + [28, 28, 8, 2, 1, 40])
    mode = dice.choice([InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.NEAREST])
    padding = dice.choice([4, 4, 4, 4, None, 0, 1, (2, 3), [1, 2, 3, 4], 70])
    return dice.choice([
        lambda: module.RandomCrop(side, padding=padding, fill=dice.choice(FILLS),
                                  padding_mode=dice.choice(["constant"] * 5 + ["reflect"])),
        lambda: module.RandomCrop((30, side), padding), lambda: module.RandomCrop(side, padding=padding),
        lambda: module.RandomHorizontalFlip(dice.choice([0.5, 0, 1, 0.1])), lambda: module.RandomHorizontalFlip(),
        lambda: module.RandomVerticalFlip(), lambda: module.CenterCrop(side),
        lambda: module.RandomResizedCrop(side, interpolation=mode, antialias=True), lambda: module.RandomResizedCrop((side, 20)),
        lambda: module.Resize(side, mode), lambda: module.Resize((side, side)),
        lambda: dice.choice([OwnFlip, lambda: module.RandomRotation(10)])()])()


def transforms(dice, module):
    steps = [geometry(dice, module) for _ in range(dice.choice([0, 1, 1, 2, 2, 2, 3]))]
    ends = [[T.ToTensor(), T.Normalize(*VALUES)]] * 5 + [[], [T.ToTensor()], [T.PILToTensor()], [
        T.ToTensor(), T.Normalize(*VALUES), T.RandomErasing(0.5)], [T.PILToTensor(), T.ConvertImageDtype(torch.float32)]]
    if module is v2:
        ends += [[v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(*VALUES)]] * 5
    return steps + dice.choice(ends) or [T.ToTensor()]


def compose(dice):
    module = dice.choice([T, v2]) if v2 else T
    kind = dice.choice([module.Compose] * 20 + [OwnCompose])
    parts = transforms(dice, module)
    transform = kind(tuple(parts) if dice.random() < 0.2 and kind is T.Compose else parts)
    return transform if dice.random() < 0.95 else dice.choice([None, T.ToTensor(), lambda image: image.size])


def array(dice):
    height, width = dice.choice(SIZES)
    channels, count = dice.choice([3] * 20 + [1, 4]), 4
    values = numpy.random.default_rng(dice.randrange(99)).integers(0, 256, (count, height, width, channels), numpy.uint8)
    changed = dice.choice([lambda: values] * 40 + [
        lambda: values[:, ::-1], lambda: values.transpose(0, 2, 1, 3), lambda: values.astype(numpy.float32), lambda: list(values),
        lambda: values.view(numpy.recarray), lambda: values[..., 0], lambda: values[:, :, ::2]])
    return changed()


def data_set(dice):
    kind = dice.choice([cifar.CIFAR10] * 20 + [cifar.CIFAR100, Own])
    data = kind.__new__(kind)
    data.data, data.targets = array(dice), dice.choice([*[[1, 2, 3, 4]] * 20, (1, 2, 3, 4), [1, 2], numpy.arange(4)])
    data.transform = compose(dice)
    data.target_transform = dice.choice([None, None, str, {1: 5, 2: 6}.__getitem__])
    return data


def change(dice, data):
    """Changes something between two samples."""
    kind = dice.randrange(60)
    parts = getattr(data.transform, "transforms", None)
    if kind == 0 and parts:
        parts[0].p = parts[0].padding = 1
    elif kind == 1 and type(parts) is list:
        parts.insert(0, T.RandomHorizontalFlip(1))
    elif kind == 2:
        data.transform = None
    elif kind == 3 and parts:
        parts[0].forward = lambda image: image.transpose(0)
    elif kind == 4 and type(data.data) is numpy.ndarray:
        data.data[:] = 7
    elif kind < 8 and hasattr(data.transform, "register_forward_pre_hook"):
        data.transform.register_forward_pre_hook(lambda module, given: (given[0].transpose(0), *given[1:]))
    elif kind == 8:
        plain = Image.fromarray
        Image.fromarray = lambda *arguments, **named: plain(*arguments, **named).transpose(0)
    elif kind == 9:
        cifar.Image = Turning
    elif kind == 10:
        torch.rand = lambda *arguments, **named: torch.zeros(1)


def samples(seed):
    dice = random.Random(seed)
    data = data_set(dice)
    plain, found, rand = Image.fromarray, [], torch.rand
    try:
        for _ in range(dice.choice([1, 3, 6])):
            index = dice.choice([0, 1, 2, 3] * 6 + [-1, 4, numpy.int64(1), True, slice(0, 1), None])
            with dice.choice([contextlib.nullcontext] * 30 + [Zeros])():
                found.append(saying.outcome(lambda index=index: data[index]))
            change(dice, data)
    finally:
        Image.fromarray, cifar.Image, torch.rand = plain, Image, rand
    return found


def count_samples():
    """Counts in the place where an error of Stoker's own is caught."""
    name = saying.package() and saying.package().__name__
    arrays = name and sys.modules.get(name + "._torchvision.arrays")
    if arrays:
        plain, attempt = arrays.sample, sys.modules[name + "._base.own"].attempt

        def counting(*arguments):
            sample = attempt(plain, *arguments)
            made["arrays"] += sample is not None
            return sample
        arrays.sample = counting


def main():
    count_samples()
    outcomes = {}
    for seed in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        saying.seed(seed)
        outcomes[seed] = samples(seed)
    print(json.dumps({"outcomes": outcomes, **made}))


torch.set_num_threads(1)
main()
