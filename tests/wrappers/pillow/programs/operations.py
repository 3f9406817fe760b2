"""Operations on images that no JPEG waits behind, each out of its seed alone: modes, sizes, parameters, and what
Pillow refuses. Arguments: any directory, the first seed, how many."""

import random
import sys

import cases
from cases import CASES, Image
from PIL import ImageEnhance, ImageFilter, ImageOps

_, FIRST, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
del sys.argv[2:]

BYTES = {"L": 1, "RGB": 3, "RGBA": 4, "LA": 2, "CMYK": 4, "YCbCr": 3, "HSV": 3, "P": 1, "I": 4, "1": 1}
MODES = ["RGB"] * 12 + ["L"] * 5 + ["HSV"] * 2 + sorted(BYTES)
FILTERS = [2, 2, 3, 3, 3, 0, 1, "2"]
NUMBERS = [0, 1, 0.0, 1.0, -1, 2, 0.5, 1.9, 3.5, -0.2, 1e5, 1e30, float("inf"), "1", None]

operations = sys.modules.get("stoker._pillow.operations")
if operations:
    operations.operations_check.proves("blend")  # the self-test makes images


class Own(Image.Image):
    """A class of the program's own."""


def source(dice):
    mode = dice.choice(MODES)
    size = dice.choice([(dice.randint(1, 90), dice.randint(1, 90))] * 8 + [(1, 1), (1, 80), (80, 1), (2, 2), (300, 70)])
    if mode == "1":
        return Image.new("1", size, 1)
    image = Image.frombytes(mode, size, dice.randbytes(size[0] * size[1] * BYTES[mode]))
    if dice.random() < 0.5:  # smooth, and with colours that are far from grey
        image = image.resize((3, 3)).resize(size, 3) if mode not in ("P", "I") else image
    if dice.random() < 0.05:
        image.__class__ = Own
    if dice.random() < 0.05:
        image.info["transparency"] = dice.choice([3, (1, 2, 3), b"1"])
    image.info["dpi"] = (dice.randint(1, 99), 7)
    return image


def number(dice):
    return dice.choice(NUMBERS) if dice.random() < 0.3 else dice.uniform(0, 2) if dice.random() < 0.8 else dice.gauss(1, 3)


def factors(dice):
    near = (1 + dice.gauss(0, 0.3), dice.gauss(0, 0.3), dice.gauss(0, 20), dice.gauss(0, 0.3), 1 + dice.gauss(0, 0.3),
            dice.gauss(0, 20), dice.gauss(0, 0.005), dice.gauss(0, 0.005))
    odd = [(1, 0, 0, 0, 1, 0), (0,) * 8, (1, 0, 0, 0, 1, 0, -0.1, 0), (1e9, 0, 0, 0, 1, 0, 0, 0), (0.5,) * 8, [1, 0, 0.5, 0, 1, 0.5],
           (1.0, 0.0, -0.5, 0.0, 1.0, -0.5), ("a",) * 8, (1, 0), None]
    straight = (dice.choice([1, 1, 0.7]), dice.choice([0, 0, 0.3, 1e-9]), dice.choice([0, 0, -10, 9.5, 1e-12]),
                dice.choice([0, 0, 0.3, 0.5]), dice.choice([1, 1, 0.5]), dice.choice([0, 0, 0.3, 0.25, -7]), 0, 0)
    return dice.choice([near] * 3 + [straight] * 4 + odd[:2] + [dice.choice(odd)])


def fill(dice):
    return dice.choice([{}, {"fillcolor": (1, 2, 3)}, {"fillcolor": 128}, {"fillcolor": None}])


def enhanced(dice, image):
    kind = dice.choice([ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color, ImageEnhance.Sharpness])
    return kind(image).enhance(number(dice))


def blended(dice, image):
    other = dice.choice([image.transpose(0), image.copy(), source(dice), None])
    return Image.blend(image, other, number(dice))


def converted(dice, image):
    return image.convert(dice.choice(["L", "RGB", "HSV", "L", "RGB", "HSV", "1", "CMYK", "none"]))


def hue_shifted(dice, image):
    import numpy
    h, s, v = image.convert("HSV").split()
    shifted = numpy.array(h, dtype=numpy.uint8) + numpy.uint8(dice.randint(0, 255))
    return Image.merge("HSV", (Image.fromarray(shifted, "L"), s, v)).convert(image.mode)


def filtered(dice, image):
    radius = number(dice) if dice.random() < 0.7 else dice.uniform(0, 90)
    radius = radius if type(radius) is str or radius is None or 0 <= radius < 2000 else 7  # Pillow 9.4 may crash at others
    kind = dice.choice([
        lambda: ImageFilter.GaussianBlur(radius), lambda: ImageFilter.GaussianBlur(radius), lambda: ImageFilter.BoxBlur(radius),
        lambda: ImageFilter.SMOOTH, lambda: ImageFilter.SHARPEN, lambda: ImageFilter.DETAIL(), lambda: ImageFilter.EMBOSS,
        lambda: ImageFilter.SMOOTH_MORE, lambda: ImageFilter.Kernel((3, 3), [number(dice) for _ in range(9)]),
        lambda: ImageFilter.UnsharpMask(2), lambda: ImageFilter.MedianFilter(3)])
    return image.filter(kind())


def transformed(dice, image):
    size = dice.choice([image.size] * 4 + [(dice.randint(1, 99), dice.randint(1, 99)), (0, 3), [7, 9]])
    return image.transform(size, dice.choice([0, 0, 2, 2, 1, 3]), factors(dice), dice.choice(FILTERS), **fill(dice))


def rotated(dice, image):
    return image.rotate(dice.uniform(-190, 190), dice.choice(FILTERS), dice.random() < 0.3, **fill(dice))


def of_ops(dice, image):
    if dice.random() < 0.6:
        return dice.choice([ImageOps.autocontrast, ImageOps.equalize, ImageOps.invert, ImageOps.grayscale, ImageOps.solarize])(image)
    mask = dice.choice([None, None, image.convert("L"), image.convert("1")])
    return dice.choice([
        lambda: ImageOps.solarize(image, dice.choice([dice.uniform(-9, 270), dice.randint(-1, 257), float("nan"), 1e9, "1", None])),
        lambda: ImageOps.posterize(image, dice.choice([dice.randint(1, 8), 0, 9, 3.0, True, "1"])),
        lambda: ImageOps.autocontrast(image, dice.choice([0, 0.0, 2, (1, 3), False]), dice.choice([None, 3, [1, 2]]), mask),
        lambda: ImageOps.autocontrast(image, preserve_tone=dice.random() < 0.5),
        lambda: ImageOps.equalize(image, mask)])()


def pointed(dice, image):
    values = [dice.randint(0, 255) for _ in range(256 * dice.choice([1, len(image.getbands()), 2]))]
    odd = dice.choice([[], [], [-1], [300], [0.5], [True], ["1"]])
    values[:len(odd)] = odd
    return image.point(dice.choice([values, values, values, tuple(values), lambda value: value * 0.7]), dice.choice([None, None, None, "L", "1"]))


WAYS = enhanced, enhanced, blended, converted, hue_shifted, filtered, filtered, transformed, transformed, rotated, of_ops, of_ops, pointed


def operate(seed):
    dice = random.Random(seed)
    if operations:
        operations.LEAST = 0 if seed % 4 else 2048
    image = source(dice)
    way = WAYS[seed % len(WAYS)]
    made = Image.core.get_stats()["new_count"]
    new = way(dice, image)
    made = Image.core.get_stats()["new_count"] - made
    return made, new, new.convert("RGBX" if new.mode == "RGB" else new.mode), image, image.info, new.info


for seed in range(FIRST, FIRST + COUNT):
    CASES[f"seed {seed}"] = lambda seed=seed: operate(seed)
cases.tell()
