"""Random pipelines of v2 for random samples: an image beside boxes, masks, tensors, arrays and other images. Prints the
outcomes, how many chains and how many parts with boxes Stoker did at once, and how many structures of samples it knows. Arguments: the number of cases, and the first one.
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
made = {"chains": 0, "parts": 0, "structures": 0}


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
    if choose.random() < 0.5:
        numbers = [[choose.uniform(-1, max(size)) for _ in range(4)] for _ in range(3)]
    dtype = choose.choice((None, None, torch.float32, torch.float64, torch.float16, torch.int64))
    boxes = tv_tensors.BoundingBoxes(numbers, format=form, canvas_size=size[::-1], dtype=dtype)
    return boxes.requires_grad_() if choose.random() < 0.03 and boxes.is_floating_point() else boxes


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
    image = picture(choose, choose.choice(("RGB",) * 6 + ("L", "RGBA")))
    size = image.size
    some = [other(choose, size) for _ in range(choose.choice((0, 0, 0, 1, 2)))]
    target = {"boxes": boxes(choose, size), "labels": torch.tensor([1, 2, 3]), "some": some}
    return choose.choice((
        lambda: (image, target), lambda: (image, target), lambda: (image, target, *some), lambda: ((image, target),),
        lambda: (target, image), lambda: (Named(image, boxes(choose, size)),), lambda: ({"image": image, **target},),
        lambda: (image, *some), lambda: ([some, image],), lambda: (image, {choose.choice((1, True)): target["boxes"]})))()


def of_boxes(choose):
    """A pipeline as those of detection: geometry, and boxes, before or behind the tensor."""
    scale, form = v2.ToDtype(torch.float32, scale=True), choose.choice(("XYXY", "xyxy", "XYWH", "CXCYWH"))
    resize = choose.choice((lambda: v2.Resize((16, 20)), lambda: v2.Resize(24), lambda: v2.Resize((33, 50)),
                            lambda: v2.Resize(10, max_size=12), lambda: v2.RandomCrop(8)))
    flips = choose.choice((v2.RandomHorizontalFlip, v2.RandomVerticalFlip)), v2.RandomHorizontalFlip
    geometry = [each() for each in (resize, *flips)[:choose.randrange(4)]]
    choose.shuffle(geometry)
    sanitize = v2.SanitizeBoundingBoxes(choose.choice((1, 2.5, 7)), labels_getter=choose.choice(("default", "default", None)))
    change = [v2.ConvertBoundingBoxFormat(form), sanitize, v2.ClampBoundingBoxes()][:choose.randrange(4)]
    end = choose.choice(([scale], [scale, v2.Normalize(*VALUES)], []))
    last = choose.choice(([v2.ToPureTensor()], [v2.ToPureTensor()], [Twice()], [sanitize], []))
    middle = change + [v2.ToImage()] if choose.random() < 0.3 else [v2.ToImage(), *end[:1], *change]
    return v2.Compose(geometry + middle + end[-1:] + last)


def pipeline(choose):
    if choose.random() < 0.5:
        return of_boxes(choose)
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


def of_labels():
    """Yields the outcomes of two samples of a kind: the first has its labels in two places."""
    transform = v2.Compose([v2.Resize((16, 20)), v2.SanitizeBoundingBoxes(), v2.ToImage()])
    labels = torch.tensor([1, 2, 3])
    for weights in labels, torch.tensor([4, 5, 6]):
        few = tv_tensors.BoundingBoxes([[1, 2, 9, 9], [5, 5, 5, 5], [3, 4, 20, 20]], format="XYXY", canvas_size=(48, 64))
        target = {"weights": weights, "boxes": few, "labels": labels}
        saying.seed(1)
        yield saying.outcome(lambda: details(transform(Image.new("RGB", (64, 48)), target)))


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
    count_parts(module.boxed)


def count_parts(module):
    """Counts the samples that are built anew, without those of the comparison. (No function of ours may be in the way of
    an error.)"""
    build, compare = module.tree_unflatten, module._is_once_the_same

    def built(*arguments):
        made["parts"] += 1
        return build(*arguments)

    def compared(*arguments):
        before = made["parts"]
        is_same = compare(*arguments)
        made["parts"] = before
        return is_same
    module.tree_unflatten, module._is_once_the_same = built, compared


def main():
    count_chains()
    first, count = int(sys.argv[2]), int(sys.argv[1])
    outcomes = {f"labels {number}": each for number, each in enumerate(of_labels())}
    outcomes.update((case, outcome(case)) for case in range(first, first + count))
    trees = saying.package() and sys.modules.get(saying.package().__name__ + "._torchvision.trees")
    made["structures"] = len(trees._structures) if trees else 0
    print(json.dumps({"outcomes": outcomes, **made}))


main()
