"""From a file to its transforms' result: at once by Pillow, or as a plan for threads."""

import functools

import numpy
import torch
from PIL import Image

from .._pillow import check, take, versions
from .._pillow.plan import Plan
from .._store import sources
from .._pipeline import rng, lazy_images, pipeline, tensor_tail


class PlannedImage:
    """An image whose random numbers are drawn and whose operations are noted."""

    __slots__ = ("lazy", "tail")

    def __init__(self, lazy, tail):
        self.lazy = lazy
        self.tail = tail  # None: it ends as an image

    def request(self, end):
        """Returns the plan for _core.Files.decode(). `end` is the layout of the pixels."""
        return self.lazy.request(end)

    def done(self):
        """Makes the tensor now, and returns it."""
        if self.tail is None:
            return torch.from_numpy(self.lazy.pixels())
        return self.lazy.tensor(self.tail)


class Changed(OSError):
    """A file has become another image, of another size, since threads have read it."""


class _LazyJpeg:
    """A JPEG that threads have read. If Python wants its bytes, it is read again (_store/sources.py). Its noted
    operations hold for its first size alone."""

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

    def decode(self, request, out):
        return self._read().decode(request, out)

    def examine(self):
        return self._read().examine()

    def read(self):
        return self._read().read()


def _end(lazy, tail):
    if lazy.is_noted():
        return PlannedImage(lazy, tail)
    return lazy.image() if tail is None else lazy.tensor(tail)


@functools.cache
def _kinds_of(proven):
    """Returns {kind of file: the result of take.is_taken() for it}, which such files fill. `proven`: the Proven kinds."""
    return {}


class Maker:
    """Makes one batch's images."""

    def __init__(self, transforms):
        tensor_tail.know_v2()
        self._analysis = pipeline.analyse(transforms, "RGB")
        self.is_known = self._analysis.is_known
        self.tail = self._analysis.tail
        self._transforms = list(transforms)
        self._limit = Image.MAX_IMAGE_PIXELS or take.LARGEST_IMAGE
        self._kinds = None if "jpeg" in Image.DECODERS else _kinds_of(check.proven())

    def can_draw(self):
        """Returns true if draw() may be called."""
        return self._analysis.is_whole and self._kinds is not None and rng.can_draw()

    def draw(self, at, files, memory):
        """Draws and plans images from the at-th on without Python, as far as possible. Returns the next image's place.
        `memory` is the generator's state (worker_rng.py)."""
        most = int(min(self._limit, take.LARGEST_IMAGE)), take.SPARSEST, 1 if self.tail is None else 2
        return files.draw(at, self._analysis.steps, versions.RESIZER, self._kinds, most, memory)

    def learn(self, head):
        """Returns true if draw() did not know this kind of file. It knows the kind from now on."""
        is_new = head is not None and head[3] not in self._kinds
        if is_new:
            self._kinds[head[3]] = take.is_taken(head[3])
        return is_new

    def noted(self, path, image_size, drawn):
        """Returns the PlannedImage of an image that draw() planned (_core.Files.drawn)."""
        plan = Plan(_LazyJpeg(path, image_size), *drawn)
        return PlannedImage(lazy_images.LazyImage(plan), self.tail)

    def make(self, path, head):
        """Returns a PlannedImage, or the transforms' result. `head` is _core.Files.head() of the file."""
        if head is not None and self._is_taken(*head):
            try:
                plan = Plan.whole(_LazyJpeg(path, head[:2]), head[:2])
                return self._noted(lazy_images.LazyImage(plan))
            except Changed:
                pass
        return self.opened(path)

    def opened(self, path):
        """Returns the transforms' result for the file as it is now."""
        with Image.open(path) as file:
            image = file.convert("RGB")
        return self._run(0, lazy_images.is_float32() and lazy_images.of_image(image) or image)

    def _noted(self, lazy):
        steps = self._analysis.steps
        at = lazy.note(steps)
        if at == len(steps) and self.tail is not None and min(lazy.size) > 1 and lazy.is_noted():
            return PlannedImage(lazy, self.tail)
        return self._run(at, lazy)

    def _run(self, at, image):
        """Runs the transforms from the at-th on, and returns their result."""
        made = pipeline.run(self._transforms[at:], image, _end)
        return torch.from_numpy(numpy.array(made)) if isinstance(made, Image.Image) else made

    def _is_taken(self, width, height, end, kind):
        if self._kinds is None or width * height > self._limit:
            return False
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = take.is_taken(kind)
        return known and take.is_likely(width, height, end)
