"""Lazy images note crops, resizes and flips, and do them in one call when pixels are wanted.

A lazy image stands for a Pillow image of mode RGB or L. Its pixels come from a JPEG, a Pillow image or an array. It
notes crops, one resize, crops of the resized image, and flips, in this order. Before an operation that does not fit
into the order, the noted ones are done.
"""

import numpy
import torch
from PIL import Image

from .. import _core
from .._base.counters import DAMAGED, IMAGES
from .._pillow import hook, pending, versions
from .._pillow.plan import FILTERS, HWC, U8, Plan, image_of, mirrored, within
from . import tensor_tail


class LazyImage:
    __slots__ = ("channels", "size", "_source", "_pixels", "_image", "_crop", "_filter", "_flip",
                 "_resized", "_window", "_original", "_plan")

    def __init__(self, channels, size, source=None, pixels=None, image=None, original=None,
                 plan=None):
        self.channels = channels
        self.size = size  # (width, height) of the result so far
        self._source = source  # one of these three: a JPEG (_store/sources.py),
        self._pixels = pixels  # rows of pixels, contiguous,
        self._image = image  # an image of Pillow's
        self._original = original  # the image to return while nothing was noted
        self._plan = plan  # the plan of the Pillow image that it comes from, or None
        self._begin()

    def _begin(self):
        self._crop = (0, 0) + self.size
        self._filter = 0  # of the resize, in Pillow's numbers; 0: none
        self._resized = None  # the size that it makes
        self._window = ()  # the box that is wanted of the resized image, if not all of it
        self._flip = 0

    @property
    def mode(self):
        """Returns the mode of the image that it stands for."""
        return "RGB" if self.channels == 3 else "L"

    @classmethod
    def of_plan(cls, plan, original):
        lazy = cls.__new__(cls)
        lazy.channels, lazy.size, lazy._source = 3, plan.size, plan.source
        lazy._pixels = lazy._image = None
        lazy._original, lazy._plan = original, plan
        lazy._crop, lazy._filter, lazy._flip = plan.crop, plan.filter, plan.flip
        lazy._resized, lazy._window = plan.target, plan.window or ()
        return lazy

    # ---- noting ----

    def _changes(self):
        """Notes that the image changes. Its plan counts as used: its next user gets pixels."""
        self._original = None
        if self._plan is not None:
            self._plan.used = True

    def crop(self, left, top, right, bottom):
        """Crops to a box, which may reach beyond the lazy image; there it is black."""
        if left < 0 or top < 0 or right > self.size[0] or bottom > self.size[1]:
            self.crop_padded(left, top, right, bottom, 0)
            return
        self._changes()
        box = left, top, right, bottom
        if self._flip:
            box = mirrored(box, self.size, self._flip)
        if self._filter:
            self._window = within(self._window or (0, 0), box)
        else:
            self._crop = within(self._crop, box)
        self.size = (right - left, bottom - top)

    def crop_padded(self, left, top, right, bottom, fill):
        """Crops to a box, with this colour beyond the lazy image."""
        self._become(_padded(self.pixels(), (left, top, right, bottom), fill))

    def resize(self, size, filter):
        """Resizes by a filter that is known to give Pillow's bytes. `filter` is Pillow's number."""
        if size == self.size:
            return
        if self._filter or self._flip:
            self.materialise()
        self._changes()
        self.size, self._resized, self._filter = size, size, filter

    def flip(self, direction):
        """Flips the image. 1: left to right, 2: top to bottom."""
        self._changes()
        self._flip ^= direction

    # ---- doing ----

    def materialise(self):
        """Does the noted operations."""
        self._become(self.pixels())

    def _become(self, pixels):
        self._changes()
        self._source = self._image = self._plan = None
        self._pixels = pixels
        self.size = (pixels.shape[1], pixels.shape[0])
        self._begin()

    def pixels(self):
        """Returns the result as an array of height x width x channels bytes. The caller must not write to it."""
        if self._pixels is not None and self._crop == (0, 0) + self.size and not (
                self._filter or self._flip):
            return self._pixels
        out = numpy.empty((self.size[1], self.size[0], self.channels), numpy.uint8)
        self._make((self.channels, HWC, U8, None), out)
        return out

    def image(self):
        """Returns the result as an image of Pillow's."""
        if self._original is not None:
            return self._original
        if self._plan is not None:
            return pending.image_with(self._as_plan())
        pixels = self.pixels()
        return Image.frombuffer("RGB" if self.channels == 3 else "L", self.size, pixels.tobytes(),
                                "raw", "RGB" if self.channels == 3 else "L", 0, 1).copy()

    def _as_plan(self):
        if self._filter:
            return Plan(self._source, self._crop, self._resized, self._filter, self._flip,
                        self._window or None)
        return Plan(self._source, self._crop, self.size, 0, self._flip)

    def tensor(self, tail):
        """Returns the tensor that a chain of transforms (tensor_tail.py) makes of the result."""
        self._changes()
        tensor, memory = tail.tensor(self.size)
        self._make(tail.order, memory)
        return tail.finished(tensor)

    def is_noted(self):
        """Returns true if the pixels come from a JPEG and all operations so far are noted."""
        return self._source is not None

    def order(self, end):
        """Returns the order for the decoder, with this end."""
        return self._order(self._crop, end)

    def _order(self, crop, end):
        whole = (0.0, 0.0, crop[2] - crop[0], crop[3] - crop[1])
        order = (crop, self._resized if self._filter else self.size, whole,
                 FILTERS.get(self._filter, 0), versions.PASS_ORDER, self._flip) + end
        return order + (self._window,) if self._window else order

    def _make(self, end, out):
        if self._source is not None:
            status = self._source.decode(self._order(self._crop, end), out)
            _core.count(DAMAGED if type(status) is int else IMAGES)
            if type(status) is not int:
                return
            self._leave_to_pillow()
        pixels, crop = self._cut()
        shape = (pixels.shape[1], pixels.shape[0], self.channels)
        if type(_core.transform(pixels, shape, self._order(crop, end), out)) is int:
            raise MemoryError

    def _leave_to_pillow(self):
        """Lets Pillow decode a JPEG that is not as its header says, with Pillow's errors and warnings."""
        image = image_of(self._source)
        self._source, self._image = None, image.convert("RGB")

    def _cut(self):
        """Returns (pixels, the crop in them). Only the crop of a Pillow image is converted."""
        if self._image is None:
            return self._pixels, self._crop
        left, top, right, bottom = self._crop
        width, height = right - left, bottom - top
        image = self._image
        if (width, height) != image.size:
            image = image.crop(self._crop)
        pixels = numpy.frombuffer(image.tobytes(), numpy.uint8)
        return pixels.reshape(height, width, self.channels), (0, 0, width, height)


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
    return LazyImage(3 if image.mode == "RGB" else 1, image.size, image=image, original=image)


def of_waiting(image):
    """Returns a lazy image of a Pillow image whose pixels are not decoded and whose plan is unused; else None."""
    if not tensor_tail.is_pillows(image):
        return None
    plan = hook.unused_plan(image)
    if plan is None or Image.MAX_IMAGE_PIXELS is not None and (
            plan.size[0] * plan.size[1] > Image.MAX_IMAGE_PIXELS):  # Pillow would warn of it
        return None
    return LazyImage.of_plan(plan, image)


def of_array(array):
    """Returns a lazy image of an array of bytes, height x width x 3 or height x width, or None."""
    if type(array) is not numpy.ndarray or array.dtype != numpy.uint8 or 0 in array.shape:
        return None
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3):
        return None
    pixels = numpy.ascontiguousarray(array)
    return LazyImage(pixels.shape[2], (pixels.shape[1], pixels.shape[0]), pixels=pixels)


def is_float32():
    return torch.get_default_dtype() is torch.float32
