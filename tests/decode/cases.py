"""Random cases, each out of its seed alone: a JPEG of some kind, and what is to be made of it."""
import os
import random
import subprocess

import numpy

SAMPLINGS = {
    "4:4:4": "1x1,1x1,1x1", "4:2:2": "2x1,1x1,1x1", "4:4:0": "1x2,1x1,1x1",
    "4:2:0": "2x2,1x1,1x1", "4:1:1": "4x1,1x1,1x1", "4:1:0": "4x2,1x1,1x1",
    "1x4": "1x4,1x1,1x1", "mixed a": "2x2,1x2,2x1", "mixed b": "2x2,2x1,1x1",
    "mixed c": "1x1,2x2,1x1", "mixed d": "4x1,2x1,1x1", "mixed e": "2x2,2x2,1x1",
    "mixed f": "1x2,1x1,1x2", "mixed g": "1x2,1x2,1x2",
}
# A scan for each component, none of them progressive.
HERE = os.path.dirname(os.path.abspath(__file__))
ONE_BY_ONE = "one-by-one"
# By the last digits of the seed, what chance would hardly give.
EXTREMES = {101: (1, 1), 301: (3000, 2000), 501: (1, 2000), 701: (3000, 1)}
EXCHANGE = 4  # the axes, after flips
FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")


class Case:
    """A case follows from the seed: `size`, `make()` for the bytes, and the plan's parts."""

    def __init__(self, seed):
        self.seed = seed
        rng = self.rng = random.Random(seed)
        self.size = EXTREMES.get(seed % 1000) or random_size(rng)
        self.kind = random_kind(rng)
        self.crop = random_crop(rng, self.size)
        self.inner = (self.crop[2] - self.crop[0], self.crop[3] - self.crop[1])
        self.out = random_output(rng, self.inner)
        self.box = random_box(rng, self.inner) if self.out and rng.random() < 0.3 else None
        self.filter = rng.choice(FILTERS)
        self.flip = rng.choice((0, 0, 1, 2, 3))
        grey = self.kind["mode"] == "grey"
        self.channels = rng.choice((1, 1, 3, 4) if grey else (3, 3, 4))
        self.planes = rng.random() < 0.4
        self.floats = rng.random() < 0.3
        self.window = random_crop(rng, self.out or self.inner) if rng.random() < 0.3 else None
        self.turn = rng.randrange(1, 8) if self.channels > 1 and rng.random() < 0.3 else 0
        if self.turn & EXCHANGE:  # the crop is of the turned image
            self.size = self.size[::-1]

    def make(self):
        pixels = random_pixels(numpy.random.Generator(numpy.random.PCG64(self.seed)), self.size)
        return encode(pixels, self.kind)

    def __str__(self):
        return ("seed %d: %dx%d %s, crop %s, to %s, box %s, %s, window %s, flip %d, turn %d, %d channels%s%s"
                % (self.seed, *self.size, self.kind, self.crop, self.out, self.box, self.filter,
                   self.window, self.flip, self.turn, self.channels, ", planes" if self.planes else "", ", floats" if self.floats else ""))


def random_size(rng):
    """Mostly small, as sizes around whole units are where the trouble is; now and then large."""
    roll = rng.random()
    if roll < 0.35:
        return rng.randint(1, 40), rng.randint(1, 40)
    if roll < 0.45:
        return rng.choice(((rng.randint(1, 4), rng.randint(1, 900)),
                           (rng.randint(1, 900), rng.randint(1, 4))))
    if roll < 0.97:
        return rng.randint(1, 520), rng.randint(1, 520)
    return rng.randint(1, 3000), rng.randint(1, 2000)


def random_kind(rng):
    mode = rng.choice(("color",) * 7 + ("grey", "rgb"))
    return {
        "mode": mode,
        "sampling": rng.choice(("4:2:0",) * 6 + tuple(SAMPLINGS)) if mode == "color" else "",
        "quality": rng.randint(1, 100),
        "coding": rng.choice(("baseline",) * 4 + ("optimised", "progressive", "progressive",
                                                  "arithmetic", "arithmetic progressive")),
        "restart": rng.choice(("",) * 3 + ("1", "1B", "3B", "7B")),
        "multiscan": rng.random() < 0.06,
    }


def random_crop(rng, size):
    width, height = size
    if rng.random() < 0.25:
        return 0, 0, width, height
    left, top = rng.randrange(width), rng.randrange(height)
    return left, top, rng.randint(left + 1, width), rng.randint(top + 1, height)


def random_output(rng, inner):
    roll = rng.random()
    if roll < 0.15:
        return None
    if roll < 0.25:  # one axis stays
        return (inner[0], rng.randint(1, 300)) if rng.random() < 0.5 else \
            (rng.randint(1, 300), inner[1])
    if roll < 0.35:  # about half: where the order of the passes changes
        return max(1, inner[0] // 2 + rng.randint(-3, 3)), max(1, inner[1] // 2)
    return rng.randint(1, 400), rng.randint(1, 400)


def random_box(rng, inner):
    if rng.random() < 0.2:
        return random_crop(rng, inner)
    x, y = rng.uniform(0, inner[0]), rng.uniform(0, inner[1])
    return x, y, rng.uniform(x, inner[0]), rng.uniform(y, inner[1])


def random_pixels(rng, size):
    """Soft colours, hard edges and noise, in shares of their own for each image."""
    width, height = size
    coarse = rng.integers(0, 256, (height // 24 + 2, width // 24 + 2, 3))
    y = numpy.linspace(0, coarse.shape[0] - 1.01, height)
    x = numpy.linspace(0, coarse.shape[1] - 1.01, width)
    yi, xi = y.astype(int), x.astype(int)
    fy, fx = (y - yi)[:, None, None], (x - xi)[None, :, None]
    wide = coarse[:, xi] * (1 - fx) + coarse[:, xi + 1] * fx
    pixels = wide[yi] * (1 - fy) + wide[yi + 1] * fy
    for _ in range(rng.integers(0, 6)):
        a, b = sorted(rng.integers(0, width + 1, 2)), sorted(rng.integers(0, height + 1, 2))
        pixels[b[0]:b[1], a[0]:a[1]] = rng.integers(0, 256, 3)
    noise = rng.choice((0, 2, 10, 60))
    if noise:
        pixels += rng.normal(0, noise, pixels.shape)
    return numpy.clip(pixels, 0, 255).astype(numpy.uint8)


def encode(pixels, kind):
    """By cjpeg, which knows every kind that libjpeg-turbo can read."""
    height, width, _ = pixels.shape
    args = ["cjpeg", "-quality", str(kind["quality"])]
    args += {"grey": ["-grayscale"], "rgb": ["-rgb"]}.get(kind["mode"], [])
    if kind["sampling"]:
        args += ["-sample", SAMPLINGS[kind["sampling"]]]
    args += {"baseline": [], "optimised": ["-optimize"], "progressive": ["-progressive"],
             "arithmetic": ["-arithmetic"],
             "arithmetic progressive": ["-arithmetic", "-progressive"]}[kind["coding"]]
    if kind["restart"]:
        args += ["-restart", kind["restart"]]
    if kind["multiscan"] and kind["mode"] == "color" and "progressive" not in kind["coding"]:
        name = ONE_BY_ONE if kind["multiscan"] is True else kind["multiscan"]
        args += ["-scans", os.path.join(HERE, name + ".scans")]
    header = b"P6 %d %d 255\n" % (width, height)
    return subprocess.run(args, input=header + pixels.tobytes(), capture_output=True,
                          check=True).stdout
