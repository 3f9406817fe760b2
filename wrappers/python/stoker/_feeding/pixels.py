"""From a file to what its transforms make of it: at once by Pillow, or noted, for threads to do."""

import numpy
import torch
from PIL import Image

from .._pillow import check, take, versions
from .._pillow.plan import FILTERS, Plan
from .._store import sources
from .._torchvision import draws, pictures, pipeline, tails
from . import numbers

_PILLOWS = {ours: number for number, ours in FILTERS.items()}


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


class Changed(OSError):
    """A file has become another image, of another size, since threads have read it."""


class _Later:
    """A JPEG that threads have read, for whoever wants it here: it is read again (_store/sources.py). What
    was noted of it holds for that size alone."""

    __slots__ = ("_path", "_size", "_source")

    def __init__(self, path, size):
        self._path = path
        self._size = size
        self._source = None

    def _read(self):
        if self._source is None:
            source = sources.of_path(self._path)
            frame = source.frame()
            if frame is None or frame[:2] != self._size:
                raise Changed(f"{self._path} has become another image while it was read")
            self._source = source
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


_kinds = None, {}  # what was proven; of kinds of files, whether that makes them ours (take.is_taken)


def _kinds_now():
    global _kinds
    proven = check.proven()
    if _kinds[0] is not proven:
        _kinds = proven, {}
    return _kinds[1]


class Maker:
    """Of one batch's images."""

    def __init__(self, transforms):
        tails.know_v2()
        self._outlook = pipeline.outlook(transforms, "RGB")
        self.is_known = self._outlook.is_known
        self.tail = self._outlook.tail
        self._transforms = list(transforms)
        self._limit = Image.MAX_IMAGE_PIXELS or take.LARGEST_IMAGE
        self._kinds = None if "jpeg" in Image.DECODERS else _kinds_now()

    def can_draw(self):
        """Whether draw() may be asked."""
        return (self._outlook.told is not None and self._kinds is not None and draws.are_ordinary()
                and numbers.are_understood())

    def draw(self, at, files, memory):
        """Draws and plans images from the at-th on without Python, as far as that goes: which one is next.
        `memory`: the generator's (numbers.py)."""
        most = int(min(self._limit, take.LARGEST_IMAGE)), take.SPARSEST, 1 if self.tail is None else 2
        return files.draw(at, self._outlook.told, versions.PASS_ORDER, self._kinds, most, memory)

    def learn(self, head):
        """Whether files of this kind were not known to draw()."""
        is_new = head is not None and head[3] not in self._kinds
        if is_new:
            self._kinds[head[3]] = take.is_taken(head[3])
        return is_new

    def noted(self, path, image_size, drawn):
        """Of an image that draw() planned, what was noted (_core.Files.drawn)."""
        crop, size, filter, flip, window = drawn
        plan = Plan(_Later(path, image_size), crop, size, _PILLOWS.get(filter, 0), flip, window)
        return Noted(pictures.Picture.of_plan(plan, None), self.tail)

    def make(self, path, head):
        """A Noted, or what the transforms return. `head` is what the threads found of the file."""
        if head is not None and self._is_taken(*head):
            try:
                return self._noted(pictures.Picture(3, head[:2], source=_Later(path, head[:2])))
            except Changed:
                pass
        return self.opened(path)

    def opened(self, path):
        """What the transforms return of the file as it is now."""
        with Image.open(path) as file:
            image = file.convert("RGB")
        return self._run(0, pictures.is_float32() and pictures.of_image(image) or image)

    def _noted(self, picture):
        at = 0
        for step, transform in self._outlook.steps:
            if not step(picture, transform):
                return self._run(at, picture)
            at += 1
        if self.tail is not None and min(picture.size) > 1 and picture.is_noted():
            return Noted(picture, self.tail)
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
