"""Resizes of a tensor of bytes that no Compose runs: by v1's functions, or by one of v2's transforms, as nn.Sequential and
people's own code call them. Each is done at once, by a lazy tensor (_pipeline/lazy_tensors.py)."""

import torch

from .. import _core
from .._pipeline import exact, inspection, lazy_images, lazy_tensors, steps, tensor_resize
from .._pipeline.exact import T

FUNCTIONS = "resize", "resized_crop"
_BILINEAR = 2  # in the decoder's numbers
_SIDES = "left", "top", "width", "height"


def has_antialias(name):
    """Returns true if v1's function of this name has the argument antialias. Some versions of resized_crop lack it."""
    code = getattr(getattr(exact.F, name), "__code__", None)
    return code is not None and "antialias" in code.co_varnames[:code.co_argcount]


def resize(img, size, interpolation=T.InterpolationMode.BILINEAR, max_size=None, antialias=None):
    """Returns the result of v1's function, or None if torchvision is to make it."""
    return _of_v1(img, None, size, interpolation, antialias) if max_size is None else None


def resized_crop(img, top, left, height, width, size, interpolation=T.InterpolationMode.BILINEAR, antialias=None):
    """Returns the result of v1's function, or None if torchvision is to make it."""
    return _of_v1(img, (left, top, width, height), size, interpolation, antialias)


def transformed(transform, tensor, params):
    """Returns what a transform of v2's makes of a tensor with the parameters that it has drawn, or None if torchvision is to
    make it."""
    if not _are_known() or not lazy_tensors.is_image(tensor):
        return None
    step = lazy_tensors.step_for(type(tensor), inspection.inspect((transform,))[0])
    if step is None or step[0] not in (_core.STEP_RESIZE, _core.STEP_REGION):
        return None
    if step[0] == _core.STEP_RESIZE:
        return _made(tensor, None, step)
    return _made(tensor, [params[side] for side in _SIDES], steps.resize(step[2:4], step[1]))


def _are_known():
    return exact.functions_are_own() and lazy_images.is_float32()


def _of_v1(tensor, box, size, interpolation, antialias):
    if type(tensor) is not torch.Tensor:  # v1 makes one of each other class
        return None
    filter = tensor_resize.BY_FLOATS[_BILINEAR]
    if (antialias is not True or interpolation is not T.InterpolationMode.BILINEAR or not _are_known()
            or filter not in tensor_resize.proven()):
        return None
    return _made(tensor, box, steps.resize(size, filter))


def _made(tensor, box, step):
    """Returns the tensor of a resize step for a box of a tensor, or None."""
    lazy = None if step is None else lazy_tensors.of_tensor(tensor)
    noted = (step,) if box is None else (_cut(box, lazy), step)
    return lazy.image() if lazy is not None and lazy.note(noted) == len(noted) else None


def _cut(box, lazy):
    """Returns the step of a crop. Raises ValueError for a box that is not within the image: torchvision pads it."""
    left, top, width, height = box
    if lazy is None or any([type(each) is not int for each in box]) or min(left, top) < 0 or min(width, height) < 1 or (
            left + width > lazy.size[0] or top + height > lazy.size[1]):
        raise ValueError("torchvision's crop pads")
    return _core.STEP_BOX, 0, height, width, (left, top, 0, 0, 0, 0)
