"""Does odd things with changes of colours behind a crop, and prints the outcomes: what a program replaces or deletes, images
that fail, transforms that end."""

import gc
import io
import json
import weakref

import saying
import torch
from PIL import Image, ImageEnhance
from torchvision import transforms as T

try:
    from torchvision.transforms import v2
except ImportError:
    v2 = None

IMAGE = Image.effect_mandelbrot((60, 50), (-3, -2.5, 2, 2.5), 100).convert("RGB")


def jpeg():
    file = io.BytesIO()
    IMAGE.resize((300, 200)).save(file, "JPEG")
    return file.getvalue()


def closed():
    image = Image.new("RGB", (60, 50))
    image.close()
    return image


def pipeline(M, change=None, p=1.0):
    jitter = M.ColorJitter(0.4, 0.4, 0.4, 0.1)
    found = M.Compose([M.RandomCrop(30), M.RandomApply([jitter], p), M.RandomGrayscale(0.5), jitter, M.RandomHorizontalFlip()])
    if change is not None:
        change(jitter)
    return found


def lacking(name):
    return lambda jitter: jitter.__dict__.pop(name)


class Replaced:
    """Another value for an attribute, as long as the context lasts."""

    def __init__(self, owner, name, value):
        self.owner, self.name, self.value, self.plain = owner, name, value, owner.__dict__[name]

    def __enter__(self):
        setattr(self.owner, self.name, self.value)

    def __exit__(self, *error):
        setattr(self.owner, self.name, self.plain)


def replaced(M):
    """Yields (name, Replaced): functions that a ColorJitter comes to in the end."""
    enhance = ImageEnhance._Enhance.enhance
    yield "enhance", Replaced(ImageEnhance._Enhance, "enhance", lambda self, factor: enhance(self, 0.5))
    init = ImageEnhance.Contrast.__init__
    yield "contrast", Replaced(ImageEnhance.Contrast, "__init__", lambda self, image: init(self, image.rotate(180)))
    if "_generate_value" in M.ColorJitter.__dict__:
        yield "values", Replaced(M.ColorJitter, "_generate_value", staticmethod(lambda least, most: 0.25))


def changes(M):
    """Yields (name, change of a ColorJitter)."""
    yield from (("no " + name, lacking(name)) for name in ("brightness", "hue"))
    if M is v2:
        yield "values", lambda jitter: setattr(jitter, "_generate_value", lambda least, most: 0.25)
        yield "types", lambda jitter: setattr(jitter, "_transformed_types", (torch.Tensor,))


def several(transform, image, count=3):
    return [saying.outcome(lambda: transform(image())) for _ in range(count)], torch.rand(1).item()


def ends(M):
    """Returns true for each transform that ends with its last name."""
    found = pipeline(M)
    several(found, lambda: IMAGE)
    kept = [weakref.ref(each) for each in (*found.transforms, found.transforms[1].transforms[0])]
    del found
    gc.collect()
    return [each() is None for each in kept]


def cases(M):
    yield "usual", lambda: several(pipeline(M), lambda: IMAGE)
    yield "ends", lambda: ends(M)
    for name, change in changes(M):
        for p in 0.0, 1.0:
            yield f"{name} {p}", lambda change=change, p=p: several(pipeline(M, change, p), lambda: IMAGE)
    for name, value in replaced(M):
        def with_other(value=value):
            with value:
                return several(pipeline(M), lambda: IMAGE)
        yield f"another {name}", with_other
    data = jpeg()
    for first in M.RandomCrop(40), M.RandomResizedCrop(40), M.RandomHorizontalFlip(0.0), M.RandomHorizontalFlip(1.0):
        chain = M.Compose([first, M.ColorJitter(0.4)])
        yield f"damaged, {first}", lambda chain=chain: several(chain, lambda: Image.open(io.BytesIO(data[:len(data) // 2])))
        yield f"closed, {first}", lambda chain=chain: several(chain, closed)


def main():
    outcomes = {}
    for M in [T] + ([v2] if hasattr(v2, "ColorJitter") else []):
        for name, case in cases(M):
            saying.seed(1)
            outcomes[f"{M.__name__} {name}"] = saying.outcome(case)
    print(json.dumps({"outcomes": outcomes}))


torch.set_num_threads(1)
main()
