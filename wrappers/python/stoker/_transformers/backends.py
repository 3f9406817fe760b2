"""transformers' two backends: their own code, and images as they have them."""

import numpy
import torch

from .. import _core
from .._pillow.plan import CHW, F32, HWC
from .._pipeline import lazy_images, lazy_tensors

# Methods of an image processor that must be the backend's own, and functions that these call.
_METHODS = ("_preprocess", "_prepare_image_like_inputs", "_prepare_images_structure", "fetch_images", "process_image",
            "convert_to_rgb", "resize", "center_crop", "rescale", "normalize", "rescale_and_normalize")
FUNCTIONS = "resize", "center_crop", "convert_to_rgb", "to_pil_image", "rescale", "normalize"


class _Backend:
    def __init__(self, kind, filters):
        self.kind = kind  # the class
        self.filters = filters  # filters() returns the decoder's numbers of the filters that may give the same bytes
        self.proven = None  # those that do
        self.methods = _methods_of(kind)

    def is_own(self, processor):
        """Returns true if a processor's steps are the backend's own methods."""
        return _methods_of(type(processor)) == self.methods and processor.__dict__.keys().isdisjoint(_METHODS)

    def lazy(self, image, steps):
        """Returns the lazy image that is resized and cropped, or None."""
        lazy = self.begun(lazy_images.of_image(image))
        return lazy if lazy and _is_noted(lazy, *steps) else None


class Torchs(_Backend):
    """Images are tensors, and torch resizes them."""

    layout = CHW

    def begun(self, lazy):
        """Returns the lazy image of which a processor's steps begin."""
        return lazy and lazy_tensors.of_lazy(lazy, torch.Tensor)

    def image(self, lazy, end):
        """Returns an image with this layout of the pixels."""
        return torch.from_numpy(_array(lazy, end))

    def batch(self, lazies, end):
        """Returns a tensor of images, or None: they have different sizes, or are not as torch stacks them."""
        (width, height), *others = {lazy.size for lazy in lazies}
        if others or end[1:3] != (CHW, F32):
            return None
        batch = torch.empty((len(lazies), 3, height, width), dtype=torch.float32)
        bytes = 4 * 3 * height * width
        for at, lazy in enumerate(lazies):
            lazy.fill(end, _core.memory_at(batch.data_ptr() + at * bytes, bytes))
        return batch

    def ramp(self, pixels):
        """Returns an image of these pixels, three planes of bytes."""
        return torch.from_numpy(pixels.copy())


class Pillows(_Backend):
    """Images are views of arrays in the order of Pillow's pixels, and Pillow resizes them."""

    layout = HWC

    def begun(self, lazy):
        return lazy

    def image(self, lazy, end):
        return _array(lazy, end)

    def batch(self, lazies, end):
        return None

    def ramp(self, pixels):
        return numpy.ascontiguousarray(pixels.transpose(1, 2, 0)).transpose(2, 0, 1)


def _methods_of(kind):
    return [getattr(kind, name, None) for name in _METHODS]


def _array(lazy, end):
    """Returns the pixels of a lazy image as three planes, in the order of memory that `end` says."""
    _, layout, type, _ = end
    width, height = lazy.size
    shape = (3, height, width) if layout == CHW else (height, width, 3)
    out = numpy.empty(shape, numpy.float32 if type else numpy.uint8)
    lazy.fill(end, out)
    return out if layout == CHW else out.transpose(2, 0, 1)


def _is_noted(lazy, resize, crop):
    """Notes the resize and the crop of the centre. Returns false if the crop would reach beyond the image, and for thin
    images: their strides have rules of their own."""
    if lazy.note((resize,)) != 1 or min(lazy.size) < 2 or crop is None:
        return crop is None and min(lazy.size) > 1
    height, width = crop
    left, top = (lazy.size[0] - width) // 2, (lazy.size[1] - height) // 2
    step = _core.STEP_BOX, 0, height, width, (left, top, 0, 0, 0, 0)
    return min(left, top) >= 0 and min(crop) > 1 and lazy.note((step,)) == 1
