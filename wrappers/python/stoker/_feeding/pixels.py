"""From a file to what its transforms make of it: at once by Pillow, or noted, for threads to do."""

import numpy
import torch
from PIL import Image

from .._pillow import take
from .._store import sources
from .._torchvision import pictures, pipeline, tails

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
    if picture.is_noted():
        return Noted(picture, tail)
    return picture.image() if tail is None else picture.tensor(tail)


class Maker:
    """Of one batch's images."""

    def __init__(self, transforms):
        tails.know_v2()
        self.is_known, self._steps, self._tail = pipeline.outlook(transforms, "RGB")
        self._transforms = list(transforms)
        self._limit = Image.MAX_IMAGE_PIXELS or take.LARGEST_IMAGE
        self._kinds = None if "jpeg" in Image.DECODERS else {}

    def make(self, path, head):
        """A Noted, or what the transforms return. `head` is what the threads found of the file."""
        if head is not None and self._is_taken(*head):
            return self._noted(pictures.Picture(3, head[:2], source=_Later(path)))
        with Image.open(path) as file:
            image = file.convert("RGB")
        return self._run(0, pictures.is_float32() and pictures.of_image(image) or image)

    def _noted(self, picture):
        at = 0
        for step, transform in self._steps:
            if not step(picture, transform):
                return self._run(at, picture)
            at += 1
        if self._tail is not None and min(picture.size) > 1 and picture.is_noted():
            return Noted(picture, self._tail)
        return self._run(at, picture)

    def _run(self, at, image):
        """From the at-th transform on."""
        made = pipeline.run(self._transforms[at:], image, _end)
        return torch.from_numpy(numpy.array(made)) if isinstance(made, Image.Image) else made

    def _is_taken(self, width, height, end, kind):
        if self._kinds is None or width * height > self._limit:
            return False
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = take.is_taken(kind)
        return known and take.is_likely(width, height, end)
