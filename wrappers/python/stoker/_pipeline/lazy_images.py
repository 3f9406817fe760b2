"""Lazy images note crops, resizes and flips, and do them in one call when pixels are wanted.

A lazy image stands for a Pillow image of mode RGB or L. Its pixels come from a JPEG, a Pillow image or an array. A plan
(_pillow/plan.py) notes crops, one resize, crops of the resized image, and flips, in this order. Before an operation
that does not fit into the order, the noted ones are done.
"""

import functools

import numpy
import torch
from PIL import Image

from .. import _core
from .._base.own import attempt_beside
from .._pillow import hook, pending, versions
from .._pillow.plan import HWC, U8, Plan, turned_image
from . import rng, tensor_tail
from .exact import F

_nothing = Image.Image()  # without info
_OF_CORES = 4, HWC, U8, None  # the layout of the pixels in core images of mode RGB


class LazyImage:
    __slots__ = ("channels", "_plan", "_pixels", "_image", "_original", "_parent", "_waits", "_core")

    def __init__(self, plan, channels=3, pixels=None, image=None, original=None, waits=False, core=None):
        self._plan = plan  # the noted operations: on a JPEG, if the plan has a source,
        self._pixels = pixels  # on rows of pixels, contiguous,
        self._image = image  # or on an image of Pillow's
        self.channels = channels
        self._original = original  # the image to return while nothing was noted
        self._parent = original  # the image whose info a new one gets
        self._waits = waits  # true for an image of Pillow's that waits as a plan
        self._core = core  # the image's core image, if the image was made here

    @property
    def size(self):
        """Returns (width, height) of the result so far."""
        return self._plan.size

    @property
    def mode(self):
        """Returns the mode of the image that it stands for."""
        return "RGB" if self.channels == 3 else "L"

    # ---- noting ----

    def step(self, found):
        """Returns the step of an Inspection (inspection.py) for this image, or None."""
        return found.step

    def _changes(self):
        """Notes that the image changes. A plan of Pillow's image counts as used: its next user gets pixels."""
        self._original = None
        self._plan.used = True

    def note(self, steps):
        """Notes steps (steps.py). Returns how many were noted; the next one is to be called as it is."""
        at, before = 0, -1
        while before < at < len(steps):
            before = at
            at, geometry, rest = rng.note(steps, at, self._plan.geometry, self.channels)
            if geometry is not None:
                self._changes()
                self._plan = Plan(self._plan.source, *geometry)
            if _copies_unchanged() and any([step[0] == _core.STEP_RESIZE for step in steps[before:at]]):
                self._changes()
            if any([len(step) > 5 for step in steps[before:at]]):
                self._parent = None  # Pillow's padded image has no info
            if rest is not None:
                self._do(rest, steps[at - 1])
        return at

    def region(self, box, size, filter):
        """Notes a box and its resize to (width, height). Returns this image, or None if they do not fit into the plan."""
        plan = self._plan.cropped(box)
        if plan.size != size:
            if plan.filter or plan.flip:
                return None
            plan = plan.resized(size, filter)
        self._changes()
        self._plan = plan
        return self

    def _do(self, rest, step):
        """Does what a step has left (_core.note), on pixels."""
        if len(rest) == 4:
            fill = step[5] if len(step) > 5 else 0
            self._become(_padded(self.pixels(), rest, fill))
            self._parent = None
        else:
            self._become(self.pixels())
            self._plan = self._plan.resized(*rest)

    # ---- doing ----

    def _become(self, pixels):
        self._changes()
        self._plan = Plan.whole(None, (pixels.shape[1], pixels.shape[0]))
        self._pixels, self._image, self._core, self._waits = pixels, None, None, False

    def pixels(self):
        """Returns the result as an array of height x width x channels bytes. The caller must not write to it."""
        width, height = self.size
        if self._pixels is not None and self._plan.is_whole(self._pixels.shape[1::-1]):
            return self._pixels
        out = numpy.empty((height, width, self.channels), numpy.uint8)
        self._make((self.channels, HWC, U8, None), out)
        return out

    def image(self):
        """Returns the result as an image of Pillow's."""
        if self._original is not None:
            return self._original
        if self._waits:
            return pending.new_image(self._parent or _nothing, self._plan.again())
        return self._image_of_core() or self._image_of_pixels()

    def like(self, core, has_info=True):
        """Returns an image of Pillow's of a core image, with the info of the result if it has that."""
        return (has_info and self._parent or _nothing)._new(core)

    def is_transparent(self):
        """Returns true if the info of the result says that some pixels are transparent."""
        return self._parent is not None and "transparency" in self._parent.info

    def core(self):
        """Returns a core image of the result that nothing else has, or None if that cannot be done. It is for colours only."""
        if self._core is not None and self._plan.is_whole(self._image.size):
            return self._core
        core = versions.empty_core(self.size)
        memory = None if self._pixels is not None else _core.memory(core, self.size)
        if memory is None:
            return None
        self.fill(_OF_CORES, memory)
        return core

    def _image_of_core(self):
        """Returns the image that is made of an image's core image, or None if that cannot be done."""
        if self._image is None or self.channels != 3:
            return None
        core = versions.empty_core(self.size)
        memory = _core.memory(core, self.size)
        if memory is None or not self._make_of_core(_OF_CORES, memory):
            return None
        return self.like(core)

    def _image_of_pixels(self):
        image = Image.frombuffer(self.mode, self.size, self.pixels().tobytes(), "raw", self.mode, 0, 1)
        return self.like(image.im.copy())

    def tensor(self, tail):
        """Returns the tensor that a chain of transforms (tensor_tail.py) makes of the result."""
        tensor, memory = tail.tensor(self.size)
        self.fill(tail.end, memory)
        return tail.finished(tensor)

    def fill(self, end, out):
        """Writes the result to `out`, with this layout of the pixels (Plan.request)."""
        self._changes()
        self._make(end, out)

    def is_noted(self):
        """Returns true if the pixels come from a JPEG and all operations so far are noted."""
        return self._plan.source is not None

    def request(self, end):
        """Returns the plan as the decoder takes it, with this layout of the pixels."""
        return self._plan.request(*end, self.resizer())

    def resizer(self):
        """Returns the resizer (Plan.request)."""
        return None

    def _make(self, end, out):
        if self.is_noted():
            status = self._plan.source.decode(self.request(end), out)
            _core.count(_core.DAMAGED if type(status) is int else _core.IMAGES)
            if type(status) is not int:
                return
            self._leave_to_pillow()
        if self._image is not None and self._make_of_core(end, out):
            return
        pixels, plan = self._cut()
        shape = (pixels.shape[1], pixels.shape[0], self.channels)
        if type(_core.transform(pixels, shape, plan.request(*end, self.resizer()), out)) is int:
            raise MemoryError

    def _make_of_core(self, end, out):
        """Makes the result of an image's core image. Returns false if that cannot be done."""
        image = self._image
        image.load()
        core, shape = image.im, (*image.size, self.channels)
        return type(core) is versions.CORE and type(_core.transform_core(core, shape, self.request(end), out)) is not int

    def _leave_to_pillow(self):
        """Lets Pillow decode a JPEG that is not as its header says, with Pillow's errors and warnings."""
        self._image = turned_image(self._plan).convert("RGB")
        self._plan = self._plan.of(None, self._plan.crop)

    def _cut(self):
        """Returns (pixels, the plan of what is to be done with them). Only the crop of a Pillow image is converted."""
        if self._image is None:
            return self._pixels, self._plan
        left, top, right, bottom = self._plan.crop
        width, height = right - left, bottom - top
        image = self._image
        if (width, height) != image.size:
            image = image.crop(self._plan.crop)
        pixels = numpy.frombuffer(image.tobytes(), numpy.uint8)
        return pixels.reshape(height, width, self.channels), self._plan.of(None, (0, 0, width, height))


@functools.cache
def _copies_unchanged():
    """Returns true if this torchvision's Resize makes a new image of one that has the size already."""
    image = Image.new("L", (2, 2))
    return F.resize(image, [2, 2]) is not image


def _padded(pixels, box, fill):
    """Returns a box of an array, filled where it reaches beyond the array."""
    height, width, channels = pixels.shape
    left, top, right, bottom = box
    out = numpy.empty((bottom - top, right - left, channels), numpy.uint8)
    out[:] = fill
    x, y = max(left, 0), max(top, 0)
    right, bottom = min(right, width), min(bottom, height)
    if x < right and y < bottom:
        out[y - top:bottom - top, x - left:right - left] = pixels[y:bottom, x:right]
    return out


# ---- where lazy images come from ----

def of_image(image):
    """Returns a lazy image of a Pillow image, or None if its mode is neither RGB nor L, or its class not Pillow's."""
    if not tensor_tail.is_pillows(image) or image.mode not in ("RGB", "L") or 0 in image.size:
        return None
    lazy = of_waiting(image)
    if lazy is not None:
        return lazy
    return LazyImage(Plan.whole(None, image.size), 3 if image.mode == "RGB" else 1, image=image, original=image)


def of_core(core, image):
    """Returns a lazy image of a core image, which only this image of Pillow's has so far."""
    return LazyImage(Plan.whole(None, image.size), image=image, original=image, core=core)


def of_loaded(image):
    """Returns a lazy image of a Pillow image that was never a file and is not closed, so that nothing can fail; else None."""
    is_sound = type(image) is Image.Image and type(image.__dict__.get(versions.FIELD)) is versions.CORE and not _is_bomb(image.size)
    return of_image(image) if is_sound else None


def _is_bomb(size):
    """Returns true for an image of which Pillow warns."""
    return Image.MAX_IMAGE_PIXELS is not None and size[0] * size[1] > Image.MAX_IMAGE_PIXELS


def of_waiting(image):
    """Returns a lazy image of a Pillow image whose pixels are not decoded and whose plan is unused; else None. An image that
    cannot be decoded fails once more in the transform that wants its pixels."""
    if not tensor_tail.is_pillows(image):
        return None
    plan = attempt_beside(hook.unused_plan, image)
    if plan is None or _is_bomb(plan.size):
        return None
    return LazyImage(plan, original=image, waits=True)


def of_array(array):
    """Returns a lazy image of an array of bytes, height x width x 3 or height x width, or None."""
    if type(array) is not numpy.ndarray or array.dtype != numpy.uint8 or 0 in array.shape:
        return None
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3):
        return None
    pixels = numpy.ascontiguousarray(array)
    return LazyImage(Plan.whole(None, (pixels.shape[1], pixels.shape[0])), pixels.shape[2], pixels=pixels)


def is_float32():
    return torch.get_default_dtype() is torch.float32
