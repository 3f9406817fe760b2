"""Random pipelines of v2 for random samples: an image beside boxes, masks, tensors, arrays and other images. Prints the
outcomes, how many chains Stoker did at once, and how many structures of samples it knows. Arguments: the number of cases, and the first one.
"""

import collections
import io
import json
import random
import sys

import numpy
import saying
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

VALUES = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SIZES = (1, 1), (5, 1), (31, 40), (64, 48), (50, 33)
Named = collections.namedtuple("Named", "picture boxes")
made = {"chains": 0, "structures": 0}


class Registered(dict):
    """A container that torch flattens by functions of the program's."""


torch.utils._pytree.register_pytree_node(Registered, lambda value: (list(value.values())[:1], list(value)),
                                         lambda parts, keys: Registered(zip(keys, [*parts, 5])))


class Twice(torch.nn.Module):
    """A program's own transform, which draws."""

    def forward(self, *sample):
        torch.rand(1)
        return sample if len(sample) > 1 else sample[0]


def picture(choose, mode="RGB"):
    width, height = choose.choice(SIZES)
    pixels = numpy.random.RandomState(choose.randrange(50)).randint(0, 256, (height, width, 3)).astype("uint8")
    image = Image.fromarray(pixels).convert(mode)
    if choose.random() < 0.3 or mode == "RGBA":
        return image
    out = io.BytesIO()
    image.resize((width * 2 + 8, height * 2 + 8)).save(out, "JPEG")
    return Image.open(out)


def boxes(choose, size):
    form = choose.choice(("XYXY", "XYWH", "CXCYWH"))
    numbers = [[choose.randrange(1, 30) for _ in range(4)] for _ in range(3)]
    return tv_tensors.BoundingBoxes(numbers, format=form, canvas_size=size[::-1])


def other(choose, size):
    """A value beside the image."""
    array = numpy.arange(12, dtype=numpy.uint8).reshape(2, 2, 3)
    return choose.choice((
        lambda: boxes(choose, size), lambda: boxes(choose, size), lambda: torch.tensor([1, 2, 3]), lambda: 3, lambda: "a",
        lambda: None, lambda: torch.rand(3, *size[::-1]), lambda: array, lambda: picture(choose), lambda: [1, "b"],
        lambda: tv_tensors.Mask(torch.zeros(1, *size[::-1], dtype=torch.uint8)), lambda: tv_tensors.Image(torch.rand(3, 4, 4)),
        lambda: picture(choose, "L"), lambda: container(choose), lambda: container(choose)))()


def container(choose):
    """A value of several parts, as torch knows some, and some not."""
    number = choose.randrange(4)
    endless = [number]
    endless.append(endless)
    return choose.choice((
        (), [], {}, (number, [3.5, ()]), {"a": {"b": [number]}, "c": ()}, {number: 4}, {(1, 2): [3]}, {"a": 1, 2: 3},
        collections.OrderedDict(b=1, a=number), Named(number, [2]), list(range(60 + 2 * number)), collections.defaultdict(int, a=1),
        Registered(a=number, b=2), [[[[[number]]]]], torch.Size([number, 2]), numpy.zeros(2), {1, number}, endless))


def inputs(choose):
    image = picture(choose, choose.choice(("RGB", "RGB", "RGB", "L", "RGBA")))
    size = image.size
    some = [other(choose, size) for _ in range(choose.choice((0, 1, 2)))]
    target = {"boxes": boxes(choose, size), "labels": torch.tensor([1, 2, 3]), "some": some}
    return choose.choice((
        lambda: (image, target), lambda: (image, target), lambda: (image, target, *some), lambda: ((image, target),),
        lambda: (target, image), lambda: (Named(image, boxes(choose, size)),), lambda: ({"image": image, **target},),
        lambda: (image, *some), lambda: ([some, image],), lambda: (image, {choose.choice((1, True)): target["boxes"]})))()


def pipeline(choose):
    scale = choose.choice((v2.ToDtype(torch.float32, scale=True), v2.ToDtype({tv_tensors.Image: torch.float32,
                                                                             "others": None}, scale=True)))
    side = choose.choice((8, 16, 33))
    geometry = (v2.RandomHorizontalFlip, lambda: v2.Resize((side, 20)), lambda: v2.Resize(side), v2.RandomVerticalFlip,
                lambda: v2.RandomShortestSize([8, 20], max_size=50), lambda: v2.RandomZoomOut(), Twice,
                lambda: v2.RandomCrop(side, pad_if_needed=True), lambda: v2.RandomResizedCrop(side), v2.RandomIoUCrop)
    middle = [choose.choice(geometry)() for _ in range(choose.choice((0, 1, 1, 2)))]
    begin = [choose.choice((v2.ToImage, v2.ToImage, v2.PILToTensor))()]
    end = choose.choice(([], [scale], [scale], [scale, v2.Normalize(*VALUES)], [v2.ConvertImageDtype(torch.float32)],
                         [scale, v2.ToPureTensor()]))
    last = choose.choice(([], [v2.ConvertBoundingBoxFormat("XYXY")], [v2.SanitizeBoundingBoxes(labels_getter=None)],
                          [v2.ToPureTensor()]))
    return v2.Compose((choose.choice((middle + begin, begin + middle, middle)) + end + last) or begin)


def outcome(case):
    choose = random.Random(case)
    torch.manual_seed(case)
    transform, given = pipeline(choose), inputs(choose)
    saying.seed(case)

    def run():
        result = transform(*given)
        return type(result).__name__, details(result)
    return saying.outcome(run)


def details(value):
    """Returns the value, and what boxes say of themselves."""
    if isinstance(value, tv_tensors.BoundingBoxes):
        return value, value.format.value, list(value.canvas_size)
    kind = type(value).__name__
    if isinstance(value, dict):
        return [kind, list(map(repr, value)), *map(details, value.values())]
    return [kind, *map(details, value)] if isinstance(value, (list, tuple)) else value


def count_chains():
    package = saying.package()
    module = package and sys.modules.get(package.__name__ + "._torchvision.among")
    if not module:
        return
    plain = module._with

    def counted(*arguments):
        made["chains"] += 1
        return plain(*arguments)
    module._with = counted


def main():
    count_chains()
    first, count = int(sys.argv[2]), int(sys.argv[1])
    outcomes = {case: outcome(case) for case in range(first, first + count)}
    trees = saying.package() and sys.modules.get(saying.package().__name__ + "._torchvision.trees")
    made["structures"] = len(trees._structures) if trees else 0
    print(json.dumps({"outcomes": outcomes, **made}))


main()
