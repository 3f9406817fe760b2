"""Random sequences of operations. Arguments: a directory of JPEGs, the first seed, how many."""

import os
import random
import sys

import cases
from cases import CASES, Image
from PIL import ImageOps

DIRECTORY, FIRST, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
del sys.argv[2:]
NAMES = sorted(os.listdir(DIRECTORY))


def region(dice, image):
    width, height = image.size
    left, top = dice.randrange(width), dice.randrange(height)
    box = (left, top, dice.randint(left + 1, width), dice.randint(top + 1, height))
    if dice.random() < 0.1:
        box = tuple(n + dice.randint(-3, 3) for n in box)
    return box


def size(dice, image):
    if dice.random() < 0.1:
        return image.size
    return dice.randint(1, 150), dice.randint(1, 150)


def step(dice, image, images):
    """One operation: gives another image, or changes this one, or only looks."""
    kind = dice.randrange(20)
    if kind < 4:
        return image.crop(region(dice, image))
    if kind < 8:
        return image.resize(size(dice, image), dice.choice([0, 1, 2, 3, 4, 5, None]))
    if kind < 11:
        return image.transpose(dice.choice([0, 0, 0, 1, 2, 3, 4, 5, 6]))
    if kind < 13:
        return image.convert(dice.choice(["RGB", "RGB", "RGB", "L", "RGBA", "CMYK", "YCbCr"]))
    if kind == 13:
        return image.copy()
    if kind == 14:
        image.load()
    elif kind == 15:
        image.putpixel((0, 0), 3 if image.mode == "L" else (3, 4, 5))
    elif kind == 16:
        image.paste(dice.choice(images).convert(image.mode), (2, 2))
    elif kind == 17:
        image.thumbnail((dice.randint(20, 90), dice.randint(20, 90)))
    elif kind == 18:
        image.tobytes()
    else:
        return ImageOps.mirror(image)
    return image


def sequence(seed):
    dice = random.Random(seed)
    images, seen = [Image.open(os.path.join(DIRECTORY, dice.choice(NAMES)))], []
    for _ in range(dice.randint(2, 9)):
        image = dice.choice(images[-2:])
        try:
            images.append(step(dice, image, images))
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
    return images, seen


for seed in range(FIRST, FIRST + COUNT):
    CASES[f"seed {seed}"] = lambda seed=seed: sequence(seed)
cases.tell()
