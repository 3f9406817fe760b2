"""Random pipelines whose images are tensors of bytes: of ToImage, or given as tensors. Some are of v1 alone, and all are where
there is no v2. Prints the outcomes, and how many tensors Stoker made of lazy tensors. Arguments: the number of cases, and the
first one.
"""

import io
import json
import random
import sys

import numpy
import saying
import torch
from PIL import Image
from torchvision import transforms as T
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

try:
    from torchvision import tv_tensors
    from torchvision.transforms import v2
except ImportError:
    tv_tensors = v2 = None

VALUES = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SIZES = (1, 1), (5, 1), (2, 2), (31, 40), (64, 48), (50, 33), (7, 90)
made = {"lazy": 0, "alone": 0}


class OneByOne:
    """Calls transforms as nn.Sequential and people's own code do: without a Compose."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


def geometry_v1(choose):
    side = choose.choice((2, 3, 8, 16, 33, 60))
    mode = choose.choice((InterpolationMode.BILINEAR,) * 4 + (InterpolationMode.BICUBIC, InterpolationMode.NEAREST))
    antialias = choose.choice((True, True, True, False))
    return choose.choice((
        lambda: T.RandomResizedCrop(side, interpolation=mode, antialias=antialias),
        lambda: T.RandomResizedCrop((side, 20), antialias=True), lambda: T.RandomHorizontalFlip(), lambda: T.RandomVerticalFlip(),
        lambda: T.Resize(side, mode, antialias=antialias), lambda: T.Resize((side, 11), antialias=True),
        lambda: T.CenterCrop(side), lambda: T.RandomCrop(side, padding=choose.choice((0, 0, 2))), lambda: T.ColorJitter(0.3)))()


def pipeline_v1(choose):
    floats = [T.ConvertImageDtype(torch.float32)]
    begin, end = choose.choice(([], [], [T.PILToTensor()])), choose.choice(([], floats, floats + [T.Normalize(*VALUES)]))
    return choose.choice((T.Compose, T.Compose, OneByOne))(begin + [geometry_v1(choose) for _ in range(choose.choice((1, 1, 2, 2, 3)))] + end)


def geometry(choose):
    """One transform, of those that a lazy tensor notes and of others."""
    side, module = choose.choice((1, 2, 3, 8, 16, 33)), choose.choice((v2, v2, v2, T))
    mode = choose.choice((InterpolationMode.BILINEAR, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC,
                          InterpolationMode.NEAREST, InterpolationMode.BOX))
    padding = choose.choice((0, 2))
    return choose.choice((
        lambda: v2.RandomResizedCrop(side, interpolation=mode, antialias=choose.choice((True, True, True, False))),
        lambda: v2.RandomResizedCrop((side, 20)), lambda: module.RandomHorizontalFlip(choose.choice((0.5, 1.0, 0.0))),
        lambda: module.RandomVerticalFlip(), lambda: v2.Resize(side, mode), lambda: v2.Resize((side, 11)),
        lambda: module.CenterCrop(side), lambda: module.RandomCrop(side), lambda: v2.RandomCrop(side, padding=padding),
        lambda: v2.RandomCrop(side, pad_if_needed=True), lambda: T.Resize(side, antialias=True),
        lambda: v2.ColorJitter(0.3), lambda: v2.RandomRotation(10), lambda: v2.Resize(side, max_size=40)))()


def pipeline(choose):
    if v2 is None or choose.random() < 0.3:
        return pipeline_v1(choose)
    scale, normalize = v2.ToDtype(torch.float32, scale=True), v2.Normalize(*VALUES)
    begin = choose.choice(([], [v2.ToImage()], [v2.ToImage(), v2.ToDtype(torch.uint8, scale=True)], [v2.PILToTensor()],
                           [T.PILToTensor()]))
    end = choose.choice(([], [scale], [scale, normalize], [scale, normalize, v2.ToPureTensor()],
                         [T.ConvertImageDtype(torch.float32), T.Normalize(*VALUES)], [v2.ToPureTensor()],
                         [v2.ToDtype(torch.float32)], [v2.ToImage(), scale]))
    middle = [geometry(choose) for _ in range(choose.choice((0, 1, 1, 2, 2, 3, 4)))]
    return choose.choice((v2.Compose, v2.Compose, T.Compose, OneByOne))(begin + middle + end or [v2.ToImage()])


def jpeg(pixels, size):
    out = io.BytesIO()
    Image.fromarray(pixels).resize((size[0] * 2 + 8, size[1] * 2 + 8)).save(out, "JPEG")
    return Image.open(out)


def picture(choose):
    size = choose.choice(SIZES)
    pixels = numpy.random.RandomState(choose.randrange(50)).randint(0, 256, (size[1], size[0], 3)).astype("uint8")
    tensor = torch.from_numpy(pixels).permute(2, 0, 1)
    return choose.choice((
        lambda: Image.fromarray(pixels), lambda: Image.fromarray(pixels[..., 0]), lambda: jpeg(pixels, size),
        lambda: jpeg(pixels, size), lambda: tv_tensors.Image(tensor) if tv_tensors else tensor, lambda: tensor,
        lambda: tensor.contiguous(), lambda: tensor / 255))()


def inputs(choose, image, transform):
    """The image alone, or beside its label."""
    ways = ((image,), (image,), (image, 3), ((image, "a"),), ({"image": image, "label": 7},))
    return ways[choose.randrange(len(ways)) if v2 and type(transform) is v2.Compose else 0]


def shares(result, image):
    """Returns true if the result is the image, and true if it has its memory."""
    if not isinstance(result, torch.Tensor) or not isinstance(image, torch.Tensor):
        return result is image
    return result is image, result.untyped_storage().data_ptr() == image.untyped_storage().data_ptr()


def outcome(case):
    choose = random.Random(case)
    transform, image = pipeline(choose), picture(choose)
    given = inputs(choose, image, transform)
    saying.seed(case)
    before = made["lazy"]

    def run():
        result = transform(*given)
        return result, shares(result, image)
    said = saying.outcome(run)
    made["alone"] += made["lazy"] - before if type(transform) is OneByOne else 0
    return said


def called(function, has_box=False):
    """Returns the outcomes of calls of a function of v1's, right ones and wrong ones."""
    image = torch.arange(33 * 50 * 3).remainder(251).to(torch.uint8).view(33, 50, 3).permute(2, 0, 1)
    sizes = 20, [20], (20, 11), [20, 11], [33, 50], 33, [1, 2, 3], "20", None, [0, 4], 7.5
    boxes = [dict(zip(("top", "left", "height", "width"), box)) for box in (
        (0, 0, 33, 50), (3, 4, 9, 20), (-1, 0, 9, 9), (30, 40, 9, 20), (0, 0, 9.5, 9), (0, 0, 0, 9), (0, 0, numpy.int64(9), 9),
        (0, True, 9, 9))] if has_box else [{}]
    options = {}, {"antialias": True}, {"antialias": None}, {"antialias": True, "interpolation": 2}, {"nothing": 1}
    return [saying.outcome(lambda: function(image, size=size, **box, **option))
            for size in sizes for box in boxes for option in options] + [
        saying.outcome(lambda: function(img=image)), saying.outcome(lambda: function(image, *boxes[0].values(), [9, 8]))]


def unchanged():
    """Transforms that change nothing, and what the result has of the image."""
    tensor = torch.zeros(33, 50, 3, dtype=torch.uint8).permute(2, 0, 1)
    chains = [v2.Resize(33)], [v2.RandomHorizontalFlip(0.0)], [v2.CenterCrop((33, 50))], [v2.ToImage(), v2.Resize(33)]
    if v2 is None:
        return []
    return [shares(v2.Compose(chain)(image), image) for chain in chains for image in (tensor, tv_tensors.Image(tensor))]


def count_lazy():
    package = saying.package()
    module = package and sys.modules.get(package.__name__ + "._pipeline.lazy_tensors")
    if not module:
        return
    plain = module.LazyTensor.tensor

    def tensor(lazy, tail):
        made["lazy"] += 1
        return plain(lazy, tail)
    module.LazyTensor.tensor = tensor


def main():
    count_lazy()
    first, count = int(sys.argv[2]), int(sys.argv[1])
    outcomes = {case: outcome(case) for case in range(first, first + count)}
    print(json.dumps({"outcomes": {**outcomes, "unchanged": saying.outcome(unchanged), "resize": called(F.resize),
                                   "resized_crop": called(F.resized_crop, has_box=True)}, **made}))


main()
