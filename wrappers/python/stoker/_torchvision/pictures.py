"""A picture that waits: what is to be done to it is noted, and done in one call when it is wanted.

It stands for a Pillow image of mode RGB or L. Its pixels come from a JPEG, a Pillow image
or an array; crops, one resize, crops of that and flips are noted in that order, and whatever does
not fit into the order is preceded by doing what was noted so far.
"""

import numpy
import torch
from PIL import Image

from .. import _core
from .._pillow import hook, pending, versions
from .._pillow.plan import FILTERS, HWC, U8, Plan, image_of, mirrored, within
from .._slots import DAMAGED, IMAGES
from . import tails


class Picture:
    __slots__ = ("channels", "size", "_source", "_pixels", "_image", "_crop", "_filter", "_flip",
                 "_resized", "_window", "_original", "_plan")

    def __init__(self, channels, size, source=None, pixels=None, image=None, original=None,
                 plan=None):
        self.channels = channels
        self.size = size  # (width, height) of the result so far
        self._source = source  # one of these three: a JPEG (_store/sources.py),
        self._pixels = pixels  # rows of pixels, contiguous,
        self._image = image  # an image of Pillow's
        self._original = original  # what to return while nothing was noted
        self._plan = plan  # of the image that it comes from, or None
        self._begin()

    def _begin(self):
        self._crop = (0, 0) + self.size
        self._filter = 0  # of the resize, in Pillow's numbers; 0: none
        self._resized = None  # the size that it makes
        self._window = ()  # what of that is wanted, once it is not all
        self._flip = 0

    @property
    def mode(self):
        """Of the image that it stands for."""
        return "RGB" if self.channels == 3 else "L"

    @classmethod
    def of_plan(cls, plan, original):
        picture = cls.__new__(cls)
        picture.channels, picture.size, picture._source = 3, plan.size, plan.source
        picture._pixels = picture._image = None
        picture._original, picture._plan = original, plan
        picture._crop, picture._filter, picture._flip = plan.crop, plan.filter, plan.flip
        picture._resized, picture._window = plan.target, plan.window or ()
        return picture

    # ---- noting ----

    def _changes(self):
        """Something is made of it: of its image, the second time, from pixels."""
        self._original = None
        if self._plan is not None:
            self._plan.used = True

    def crop(self, left, top, right, bottom):
        """The box may reach beyond the picture: it is black there."""
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
        """As crop(), with another colour beyond the picture."""
        self._become(_padded(self.pixels(), (left, top, right, bottom), fill))

    def resize(self, size, filter):
        """By a filter of Pillow's numbers that is known to give the same."""
        if size == self.size:
            return
        if self._filter or self._flip:
            self.settle()
        self._changes()
        self.size, self._resized, self._filter = size, size, filter

    def flip(self, direction):
        """1: left to right, 2: top to bottom."""
        self._changes()
        self._flip ^= direction

    # ---- doing ----

    def settle(self):
        """Does what was noted."""
        self._become(self.pixels())

    def _become(self, pixels):
        self._changes()
        self._source = self._image = self._plan = None
        self._pixels = pixels
        self.size = (pixels.shape[1], pixels.shape[0])
        self._begin()

    def pixels(self):
        """The result as an array of height x width x channels bytes; not to be written to."""
        if self._pixels is not None and self._crop == (0, 0) + self.size and not (
                self._filter or self._flip):
            return self._pixels
        out = numpy.empty((self.size[1], self.size[0], self.channels), numpy.uint8)
        self._make((self.channels, HWC, U8, None), out)
        return out

    def image(self):
        """The result as an image of Pillow's."""
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
        """What a chain of transforms (tails.py) makes of the result."""
        self._changes()
        tensor, memory = tail.tensor(self.size)
        self._make(tail.order, memory)
        return tail.finished(tensor)

    def is_noted(self):
        """Whether all that was done so far is noted, of a JPEG."""
        return self._source is not None

    def order(self, end):
        """What the decoder is to do then, with this end of its plan."""
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
        """The JPEG is not what its header says: Pillow's pixels, errors and warnings."""
        image = image_of(self._source)
        self._source, self._image = None, image.convert("RGB")

    def _cut(self):
        """(pixels, the crop in them): of an image no more than the crop is converted."""
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
    """A box of an array that may reach beyond it."""
    height, width, channels = pixels.shape
    left, top, right, bottom = box
    out = numpy.empty((bottom - top, right - left, channels), numpy.uint8)
    out[:] = fill
    x, y = max(left, 0), max(top, 0)
    right, bottom = min(right, width), min(bottom, height)
    if x < right and y < bottom:
        out[y - top:bottom - top, x - left:right - left] = pixels[y:bottom, x:right]
    return out


# ---- where pictures come from ----

def of_image(image):
    """A picture of a Pillow image; None if it has another mode, or a class that is not Pillow's."""
    if not tails.is_pillows(image) or image.mode not in ("RGB", "L") or 0 in image.size:
        return None
    picture = of_waiting(image)
    if picture is not None:
        return picture
    return Picture(3 if image.mode == "RGB" else 1, image.size, image=image, original=image)


def of_waiting(image):
    """A picture of one of Pillow's images of which nothing has been made yet, as its pixels are not
    decoded; else None."""
    if not tails.is_pillows(image):
        return None
    plan = hook.unused_plan(image)
    if plan is None or Image.MAX_IMAGE_PIXELS is not None and (
            plan.size[0] * plan.size[1] > Image.MAX_IMAGE_PIXELS):  # Pillow would warn of it
        return None
    return Picture.of_plan(plan, image)


def of_array(array):
    """A picture of an array of bytes, height x width x 3 or height x width, or None."""
    if type(array) is not numpy.ndarray or array.dtype != numpy.uint8 or 0 in array.shape:
        return None
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3):
        return None
    pixels = numpy.ascontiguousarray(array)
    return Picture(pixels.shape[2], (pixels.shape[1], pixels.shape[0]), pixels=pixels)


def is_float32():
    return torch.get_default_dtype() is torch.float32
