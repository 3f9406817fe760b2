"""Changes the colours of images, each out of its seed alone, and prints the outcomes. Arguments: the first seed, how many."""

import json
import random
import sys

import saying
import torch
from PIL import Image, ImageEnhance  # noqa: F401
from torchvision import transforms as T
from torchvision.transforms import functional as F

MODES = ["RGB"] * 12 + ["L", "RGBA", "HSV", "P", "1", "CMYK"]
SIZES = [(1, 1), (1, 90), (90, 1), (2, 3), (61, 37)]
FACTORS = [0, 1, 0.0, 1.0, 0.5, -0.5, -0.1, 2, 1e5, -3.0, 0.51, float("nan"), float("inf"), "1", None]


class Own(Image.Image):
    """A class of the program's own."""


def source(dice):
    mode = dice.choice(MODES)
    size = dice.choice(SIZES + [(dice.randint(40, 130), dice.randint(40, 130))] * 9)
    image = Image.frombytes("RGB", size, dice.randbytes(size[0] * size[1] * 3))
    if dice.random() < 0.5:
        image = image.resize((3, 3)).resize(size, 3)
    image = image.convert(mode)
    image.info["dpi"] = (dice.randint(1, 99), 7)
    if dice.random() < 0.05:
        image.info["transparency"] = dice.choice([3, (1, 2, 3)])
    if dice.random() < 0.05:
        image.__class__ = Own
    return image


def factor(dice):
    return dice.choice(FACTORS) if dice.random() < 0.3 else dice.uniform(-0.5, 0.5) if dice.random() < 0.5 else dice.uniform(0, 2)


def adjusted(dice, image):
    function = dice.choice([F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue, F.adjust_hue])
    return function(image, factor(dice))


def grey(dice, image):
    if dice.random() < 0.5:
        return T.RandomGrayscale(0.5)(image)
    return F.rgb_to_grayscale(image, dice.choice([1, 3, 3, 3, True, 2]))


def jittered(dice, image):
    ranges = [dice.choice([0, 0.1, 0.4, 0.9, (0.5, 0.6)]) for _ in range(3)]
    return T.ColorJitter(*ranges, dice.choice([0, 0, 0.1, 0.5, (-0.2, 0.1)]))(image)


def mixed(dice, image):
    jitter = T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8)
    return T.Compose([T.RandomCrop(30, pad_if_needed=True), jitter, T.RandomGrayscale(0.2), T.RandomHorizontalFlip()])(image)


def called_otherwise(dice, image):
    """Calls a function as v2 does, or in a way that is an error."""
    name = dice.choice(["brightness", "contrast", "saturation", "hue"])
    function = getattr(F.F_pil, f"adjust_{name}")
    named = {f"{dice.choice([name, name, name, 'hue'])}_factor": factor(dice)}
    if dice.random() < 0.2:
        return dice.choice([lambda: function(image, 0.2, **named), lambda: function(img=image, **named), lambda: function(image)])()
    return function(image, **named)


WAYS = called_otherwise, adjusted, adjusted, grey, jittered, jittered, mixed


def change(seed):
    dice = random.Random(seed)
    image = source(dice)
    new = WAYS[seed % len(WAYS)](dice, image)
    stored = new.tobytes("raw", "RGBX") if new.mode == "RGB" else b""
    return new, saying.digest(stored), new is image, dict(image.info), dict(new.info), image


def count_calls():
    """Returns a list that grows by each call of the decoder's function for colours."""
    package, calls = saying.package(), []
    operate = package and sys.modules.get(package.__name__ + "._pillow.operate")
    if operate:
        F.adjust_hue(Image.new("RGB", (64, 64)), 0.1)  # the self-test calls it, too
        recolour = operate.recolour
        operate.recolour = lambda *arguments: calls.append(arguments) or recolour(*arguments)
    return calls


def main():
    calls, outcomes = count_calls(), {}
    for seed in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        saying.seed(seed)
        outcomes[seed] = saying.outcome(lambda: change(seed))
    print(json.dumps({"outcomes": outcomes, "calls": len(calls)}))


torch.set_num_threads(1)
main()
