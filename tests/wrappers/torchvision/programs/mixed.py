"""Runs pipelines of all kinds of transforms, each out of its seed alone, and prints the outcomes. Arguments: how many, the
first seed."""

import importlib.util
import io
import json
import os
import random
import sys
import tempfile

import numpy
import saying
import torch
from PIL import Image, ImageFilter, ImageOps
from torchvision import transforms as T

try:
    from torchvision.transforms import v2
except ImportError:
    v2 = T

TIMM = """
import torch
import torchvision.transforms.functional as F
from torchvision.transforms import ToTensor
class MaybeToTensor(ToTensor):
    def __call__(self, value):
        return F.to_tensor(value) if not isinstance(value, torch.Tensor) else value
"""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def timms():
    """Returns timm's transforms; a module with one that looks the same, where there is no timm."""
    if importlib.util.find_spec("timm") is None:
        home = tempfile.mkdtemp()
        os.makedirs(home + "/timm/data")
        with open(home + "/timm/data/transforms.py", "w") as file:
            file.write(TIMM)
        sys.path.append(home)
    from timm.data import transforms
    return transforms


class Blur:
    """A program's own transform."""

    def __call__(self, image):
        return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2)))


class Solarize(torch.nn.Module):
    """A module of the program's that draws numbers of torch's."""

    def forward(self, image):
        return ImageOps.solarize(image, int(torch.randint(256, (1,)))) if torch.rand(1) < 0.5 else image


def picture(dice):
    """An image in memory, of a JPEG, or of a PNG."""
    mode = dice.choice(["RGB"] * 8 + ["L", "RGBA", "CMYK"])
    size = dice.choice([(1, 1), (3, 60), *[(dice.randint(40, 150), dice.randint(40, 150))] * 9])
    image = Image.frombytes("RGB", (size[0] // 7 + 1, size[1] // 7 + 1), dice.randbytes((size[0] // 7 + 1) * (size[1] // 7 + 1) * 3))
    image = image.resize(size, Image.BICUBIC).convert(mode)
    image.info["dpi"] = (dice.randint(1, 99), 7)
    format = dice.choice(["JPEG"] * 4 + [None, "PNG"])
    if format is None or mode in ("RGBA", "CMYK"):
        return image
    file = io.BytesIO()
    image.save(file, format, dpi=(dice.randint(40, 90), 7))
    image = Image.open(file)
    return image if dice.random() < 0.2 else image.convert("RGB" if dice.random() < 0.9 else mode)


def geometry(dice):
    size = dice.choice([24, 32, 50])
    return dice.choice([T.RandomResizedCrop(size), T.RandomResizedCrop(size, (0.05, 0.4)), T.Resize(size),
                        T.RandomCrop(40, padding=dice.choice([0, 30]), pad_if_needed=dice.random() < 0.3),
                        T.CenterCrop(40), T.Resize((60, 50)), *timms_geometry(dice, size)])


def timms_geometry(dice, size):
    kind = getattr(timm, "RandomResizedCropAndInterpolation", None)
    if kind is None:
        return []
    return [kind(size if dice.random() < 0.5 else (size, 30), scale=dice.choice([(0.08, 1.0), (0.9, 3.0), (0.0001, 0.001)]),
                 ratio=dice.choice([(3 / 4, 4 / 3), (0.2, 0.3), (1, 1)]),
                 interpolation=dice.choice(["random", "bilinear", "bicubic", "nearest"]))] * 4


def timms_colours(dice):
    """timm's RandAugment, with the crop that its functions make of these options."""
    if not hasattr(timm, "RandomResizedCropAndInterpolation"):
        return []
    from timm.data.auto_augment import rand_augment_transform
    options = dice.choice(["rand-m9-inc1", "rand-m5-n3-mstd0.5", "rand-m9-w0", "rand-m7-n1-p0.9"])
    return [rand_augment_transform(options, {"translate_const": 20, "img_mean": (124, 116, 104)})] * 3


def jitter(dice, M):
    ranges = [dice.choice([0, 0.1, 0.4, 0.9, (0.5, 0.6)]) for _ in range(3)]
    return M.ColorJitter(*ranges, dice.choice([0, 0, 0.1, 0.5, (-0.2, 0.1)]))


def colours(dice, M):
    inner = dice.choice([jitter(dice, M), Blur(), Solarize(), M.RandomGrayscale(0.5), T.RandomHorizontalFlip()])
    p = dice.choice([0, 0.1, 0.5, 0.8, 1.0, 1])
    several = [inner] if dice.random() < 0.7 else [inner, jitter(dice, M)]
    if dice.random() < 0.2:
        several = torch.nn.ModuleList(each for each in several if isinstance(each, torch.nn.Module))
    return dice.choice([jitter(dice, M), M.RandomGrayscale(p), M.RandomApply(several, p), M.RandomApply(several, p), inner,
                        T.RandAugment(num_ops=dice.choice([1, 2, 3])), T.TrivialAugmentWide(),
                        T.TrivialAugmentWide(dice.choice([2, 31]), T.InterpolationMode.BILINEAR, dice.choice([None, [9, 8, 7]])),
                        T.RandAugment(fill=9, interpolation=T.InterpolationMode.BILINEAR), T.AutoAugment(), *timms_colours(dice)])


def end(dice, to_tensor):
    if dice.random() < 0.15:
        return []
    values = dice.choice([(MEAN, STD), (torch.tensor(MEAN), torch.tensor(STD)), (torch.tensor(MEAN).double(), STD),
                          (torch.tensor([0.5]), torch.tensor([[[0.5]], [[0.2]], [[0.4]]])), ([0.5], [0.5])])
    first = dice.choice([T.ToTensor, to_tensor])()
    return [first] if dice.random() < 0.2 else [first, T.Normalize(*values)]


def transforms(dice, M, to_tensor):
    found = [geometry(dice)] if dice.random() < 0.9 else []
    found += [dice.choice([lambda dice: colours(dice, M), lambda dice: colours(dice, M),
                           lambda dice: T.RandomHorizontalFlip(dice.choice([0.5, 1])), geometry])(dice)
              for _ in range(dice.choice([0, 1, 2, 3, 4]))]
    if dice.random() < 0.5:
        found.append(T.RandomHorizontalFlip())
    return found + end(dice, to_tensor)


def changed(dice, transform):
    """Changes the transform as a program may: in place."""
    last = transform.transforms[-1]
    if isinstance(last, T.Normalize) and isinstance(last.mean, torch.Tensor):
        last.mean[0] = dice.random()
    elif isinstance(last, T.Normalize):
        last.std = [dice.random() + 0.1] * 3
    for each in transform.transforms:
        if isinstance(each, (T.RandomGrayscale, T.RandomApply, v2.RandomGrayscale, v2.RandomApply)):
            each.p = 1.0
        inner = each.transforms[0] if isinstance(each, (T.RandomApply, v2.RandomApply)) and len(each.transforms) else each
        if isinstance(inner, (T.ColorJitter, v2.ColorJitter)):
            inner.brightness = [0.5, 0.7]
        if isinstance(each, T.TrivialAugmentWide):
            each.num_magnitude_bins = 7
        if hasattr(each, "choice_weights"):
            each.num_layers = 1
        if type(each).__name__ == "RandomResizedCropAndInterpolation":
            each.size = 20, 20


def run(seed, to_tensor):
    dice = random.Random(seed)
    M = dice.choice([T, T, v2])
    transform = M.Compose(transforms(dice, M, to_tensor))
    seen = []
    for _ in range(dice.choice([1, 1, 2, 2, 2, 12])):
        image = picture(dice)
        for _ in range(dice.choice([1, 1, 1, 2, 3])):
            seen.append(saying.outcome(lambda: shown(transform(image))))
        if dice.random() < 0.2:
            changed(dice, transform)
    return seen, torch.rand(1).item(), random.random(), numpy.random.random()


def shown(made):
    return (made, sorted(made.info)) if isinstance(made, Image.Image) else made


def main():
    outcomes = {}
    saying.count_tensors()
    saying.count_lazy("timms", "cropped", "crops")
    saying.count_lazy("colours", "changed", "colours")
    for seed in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[1])):
        saying.seed(seed)
        outcomes[seed] = saying.outcome(lambda: run(seed, timm.MaybeToTensor))
    print(json.dumps({"outcomes": outcomes, "counts": saying.counts()}))


torch.set_num_threads(1)
timm = timms()
main()
