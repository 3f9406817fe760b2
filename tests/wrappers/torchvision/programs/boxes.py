"""Sanitizes random boxes, each out of its seed alone. Prints the outcomes, and how many masks Stoker made. Arguments: the
number of cases, and the first one."""

import json
import random
import sys

import saying
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

TYPES = [torch.float32, torch.int64] * 6 + [torch.float64, torch.float16, torch.int32, torch.uint8]
EDGES = 0, 1, -1, 0.999, 1.1, 2**24 + 1, 2**40, 1e30, float("inf"), float("nan")
LIMITS = [1, 1.0] * 12 + [2, 1.1, 30.0, 1e9, 2**24 + 1, 16777217.5, float("inf"), float("nan"), torch.tensor(2.0)]
made = []


class Showing(v2.SanitizeBoundingBoxes):
    """A program's own transform, which looks at the mask."""

    def transform(self, inpt, params):
        valid = params["valid"]
        return [super().transform(inpt, params), valid.clone(), valid.untyped_storage().resizable()]


class Mode(torch.overrides.TorchFunctionMode):
    """Sees torch's calls."""

    calls = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        return func(*args, **kwargs or {})


def number(choose, limit):
    return choose.choice(EDGES) if choose.random() < 0.01 else choose.choice((0, limit, choose.uniform(-2, 1.1 * limit)))


def boxes(choose):
    size, kind = (choose.choice((1, 40, 640)), choose.choice((1, 40, 480, 2**25))), choose.choice(TYPES)
    numbers = torch.zeros(0, 4)
    if choose.random() < 0.95:
        rows = [[number(choose, size[1 - place % 2]) for place in range(4)] for _ in range(choose.choice((1, 2, 5, 40)))]
        numbers = torch.tensor(rows, dtype=torch.float64)
        numbers = numbers if choose.random() < 0.3 else torch.cat((numbers[:, :2], numbers[:, :2] + numbers[:, 2:].abs()), 1)
    if choose.random() < 0.1:
        numbers[:, :2], numbers[:, 2:3] = 1e-9, 1  # in float32 this side is 1
    numbers = numbers.to(kind)
    if choose.random() < 0.2:
        numbers = torch.cat((numbers, numbers), 1)[:, 2:6]
    if choose.random() < 0.05 and kind.is_floating_point:
        numbers = numbers.requires_grad_()
    return tv_tensors.BoundingBoxes(numbers, format=choose.choice(("XYXY",) * 9 + ("XYWH", "CXCYWH")), canvas_size=size)


def transformed(choose, given):
    labels = torch.arange(len(given) + (choose.random() < 0.02))
    sanitize = choose.choice((v2.SanitizeBoundingBoxes,) * 8 + (Showing,))(choose.choice(LIMITS))
    if hasattr(sanitize, "min_area"):
        sanitize.min_area = choose.choice(LIMITS)
    return sanitize({"boxes": given, "labels": labels})


def functional(choose, given):
    if choose.random() < 0.5:
        return F.sanitize_bounding_boxes(given)
    return F.sanitize_bounding_boxes(given.as_subclass(torch.Tensor), format=given.format, canvas_size=given.canvas_size)


def under_a_mode(choose, given):
    with Mode() as mode:
        return transformed(choose, given), mode.calls


def as_boxes(choose, given):
    with tv_tensors.set_return_type("TVTensor"):
        return transformed(choose, given)


def in_double(choose, given):
    torch.set_default_dtype(torch.float64)
    try:
        return transformed(choose, given)
    finally:
        torch.set_default_dtype(torch.float32)


def outcome(case):
    choose = random.Random(case)
    given, how = boxes(choose), choose.choice([transformed] * 12 + [functional] * 3 + [under_a_mode, as_boxes, in_double])
    saying.seed(case)
    return saying.outcome(lambda: [saying_all(how(choose, given)), given.untyped_storage().resizable()])


def saying_all(value):
    """Returns the value with what can be seen of its tensors."""
    if isinstance(value, dict):
        return [saying_all(each) for each in value.values()]
    if isinstance(value, (list, tuple)):
        return [saying_all(each) for each in value]
    return [value, value.requires_grad] if isinstance(value, torch.Tensor) else value


def count():
    package = saying.package()
    module = package and sys.modules.get(package.__name__ + "._torchvision.boxes")
    if module:
        plain = module.mask

        def counted(*arguments):
            mask = package._base.own.attempt(plain, *arguments)
            made.extend([1] * (mask is not None))
            return mask
        module.mask = counted


def main():
    number_of_cases, first = map(int, sys.argv[1:])
    count()
    outcomes = {str(case): outcome(case) for case in range(first, first + number_of_cases)}
    print(json.dumps({"outcomes": outcomes, "made": len(made)}))


main()
