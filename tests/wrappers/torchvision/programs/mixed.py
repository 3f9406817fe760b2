"""Runs pipelines of all kinds of transforms, each out of its seed alone, and prints the outcomes. Arguments: how many, the
first seed."""

import importlib.util
import io
import json
import os
import random
import sys
import tempfile

import saying
import torch
from PIL import Image, ImageFilter, ImageOps
from torchvision import transforms as T

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
    """Returns timm's transform that makes a tensor; that of a module that looks the same, where there is no timm."""
    if importlib.util.find_spec("timm") is None:
        home = tempfile.mkdtemp()
        os.makedirs(home + "/timm/data")
        with open(home + "/timm/data/transforms.py", "w") as file:
            file.write(TIMM)
        sys.path.append(home)
    from timm.data.transforms import MaybeToTensor
    return MaybeToTensor


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
                        T.CenterCrop(40), T.Resize((60, 50))])


def jitter(dice):
    ranges = [dice.choice([0, 0.1, 0.4, 0.9, (0.5, 0.6)]) for _ in range(3)]
    return T.ColorJitter(*ranges, dice.choice([0, 0, 0.1, 0.5, (-0.2, 0.1)]))


def colours(dice):
    inner = dice.choice([jitter(dice), Blur(), Solarize(), T.RandomGrayscale(0.5), T.RandomHorizontalFlip()])
    p = dice.choice([0, 0.1, 0.5, 0.8, 1.0, 1])
    several = [inner] if dice.random() < 0.7 else [inner, jitter(dice)]
    if dice.random() < 0.2:
        several = torch.nn.ModuleList(each for each in several if isinstance(each, torch.nn.Module))
    return dice.choice([jitter(dice), T.RandomGrayscale(p), T.RandomApply(several, p), T.RandomApply(several, p), inner,
                        T.RandAugment(num_ops=dice.choice([1, 2, 3])), T.TrivialAugmentWide(),
                        T.RandAugment(fill=9, interpolation=T.InterpolationMode.BILINEAR), T.AutoAugment()])


def end(dice, to_tensor):
    if dice.random() < 0.15:
        return []
    values = dice.choice([(MEAN, STD), (torch.tensor(MEAN), torch.tensor(STD)), (torch.tensor(MEAN).double(), STD),
                          (torch.tensor([0.5]), torch.tensor([[[0.5]], [[0.2]], [[0.4]]])), ([0.5], [0.5])])
    first = dice.choice([T.ToTensor, to_tensor])()
    return [first] if dice.random() < 0.2 else [first, T.Normalize(*values)]


def transforms(dice, to_tensor):
    found = [geometry(dice)] if dice.random() < 0.9 else []
    found += [dice.choice([colours, colours, lambda dice: T.RandomHorizontalFlip(dice.choice([0.5, 1])), geometry])(dice)
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
        if isinstance(each, (T.RandomGrayscale, T.RandomApply)):
            each.p = 1.0
        if isinstance(each, T.ColorJitter):
            each.brightness = [0.5, 0.7]


def run(seed, to_tensor):
    dice = random.Random(seed)
    transform = T.Compose(transforms(dice, to_tensor))
    seen = []
    for _ in range(dice.choice([1, 1, 2, 2, 2, 12])):
        image = picture(dice)
        for _ in range(dice.choice([1, 1, 1, 2, 3])):
            seen.append(saying.outcome(lambda: shown(transform(image))))
        if dice.random() < 0.2:
            changed(dice, transform)
    return seen, torch.rand(1).item(), random.random()


def shown(made):
    return (made, sorted(made.info)) if isinstance(made, Image.Image) else made


def main():
    to_tensor, outcomes = timms(), {}
    saying.count_tensors()
    for seed in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[1])):
        saying.seed(seed)
        outcomes[seed] = saying.outcome(lambda: run(seed, to_tensor))
    print(json.dumps({"outcomes": outcomes, "counts": saying.counts()}))


torch.set_num_threads(1)
main()
