"""Makes some changes of random boxes, with Stoker's numbers and with torchvision's functions. Prints the cases that differ, and
how many are the same. Arguments: the number of cases, and the first one."""

import importlib
import json
import random
import sys

import saying
import torch
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

Boxes = importlib.import_module(saying.package().__name__ + "._torchvision.box_numbers").Boxes

CHANGES = ((Boxes.resized, lambda value, size: F.resize(value, list(size))),
           (Boxes.flipped, lambda value, direction: (F.horizontal_flip, F.vertical_flip)[direction - 1](value)),
           (Boxes.converted, lambda value, form: F.convert_bounding_box_format(value, new_format=form)))


def canvas(choose):
    return choose.randrange(2, 700), choose.randrange(2, 700)


def boxes(choose):
    scale = choose.choice((1, 1, 1, 55_000))  # up to 2^24, from which on a float is no longer each whole number
    rows = [[choose.uniform(-50, 300) * scale for _ in range(4)] for _ in range(choose.randrange(1, 6))]
    numbers = torch.tensor(rows, dtype=torch.float64).to(choose.choice((torch.float32, torch.float64, torch.int64)))
    return tv_tensors.BoundingBoxes(numbers, format=choose.choice(("XYXY", "XYWH")), canvas_size=canvas(choose))


def is_same(case):
    choose = random.Random(case)
    theirs = boxes(choose)
    ours = Boxes.of(theirs)
    for _ in range(choose.randrange(1, 5)):
        kind = choose.randrange(3)
        argument = canvas(choose), choose.choice((1, 2)), "XYXY"
        own, others = CHANGES[kind]
        own(ours, argument[kind])
        theirs = others(theirs, argument[kind])
    ours = ours.wrapped()
    return ours.__dict__ == theirs.__dict__ and ours.dtype is theirs.dtype and torch.equal(
        ours.as_subclass(torch.Tensor), theirs.as_subclass(torch.Tensor))


def main():
    count, first = map(int, sys.argv[1:])
    different = [case for case in range(first, first + count) if not is_same(case)]
    print(json.dumps({"different": different, "same": count - len(different)}))


main()
