"""From a file to what its transforms make of it: at once by Pillow, or noted, for threads to do."""

import numpy
import torch
from PIL import Image

from .._pillow import take
from .._pillow.plan import HWC, U8
from .._store import sources
from .._torchvision import pictures, pipeline, tails

_IMAGE = 3, HWC, U8, None  # the end of a plan that makes pixels


class Noted:
    """What is left to do of one image: all but to draw its random numbers."""

    __slots__ = ("picture", "tail")

    def __init__(self, picture, tail):
        self.picture = picture
        self.tail = tail  # None: it ends as an image

    def order(self, end):
        """As _core.Files.decode() takes it; `end` says how the pixels are laid out."""
        return self.picture.order(end)

    def done(self):
        """The tensor, made here and now."""
        if self.tail is None:
            return torch.from_numpy(self.picture.pixels())
        return self.picture.tensor(self.tail)


class _Later:
    """A JPEG that threads have read, for whoever wants it here: it is read again (_store/sources.py)."""

    __slots__ = ("_path", "_source")

    def __init__(self, path):
        self._path = path
        self._source = None

    def _read(self):
        if self._source is None:
            self._source = sources.of_path(self._path)
        return self._source

    def decode(self, order, out):
        return self._read().decode(order, out)

    def probe(self):
        return self._read().probe()

    def read(self):
        return self._read().read()


def _end(picture, tail):
    if picture.order(_IMAGE) is not None:
        return Noted(picture, tail)
    return picture.image() if tail is None else picture.tensor(tail)


class Maker:
    """Of one batch's images."""

    def __init__(self, transforms):
        tails.know_v2()
        self.transforms = transforms
        self.is_known = pipeline.is_known(transforms)
        self._limit = Image.MAX_IMAGE_PIXELS or take.LARGEST_IMAGE
        self._kinds = None if "jpeg" in Image.DECODERS else {}

    def make(self, path, head):
        """A Noted, or what the transforms return. `head` is what the threads found of the file."""
        if head is not None and self._is_taken(*head):
            image = pictures.Picture(3, head[:2], source=_Later(path))
        else:
            with Image.open(path) as file:
                image = file.convert("RGB")
            image = pictures.is_float32() and pictures.of_image(image) or image
        made = pipeline.run(self.transforms, image, _end)
        return torch.from_numpy(numpy.array(made)) if isinstance(made, Image.Image) else made

    def _is_taken(self, width, height, end, kind):
        if self._kinds is None or width * height > self._limit:
            return False
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = take.is_taken(kind)
        return known and take.is_likely(width, height, end)
