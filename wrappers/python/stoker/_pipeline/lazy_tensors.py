"""Lazy images that stand for a tensor of bytes: for what ToImage makes, or a decoder of torchvision.io.

Such a tensor has three channels, and its memory the order of an image's pixels, HWC. Steps are noted as for images, with
torch's own resize in the place of Pillow's. That of v1 gives CHW, that of v2 HWC again if the rows of its input lie without
gaps, else CHW: a crop is a view. Not all that torch does is done here. Its views, its padding and tensors of a single row are not: ValueError then
leaves all of it to torchvision.
"""

import sys

import torch

from .. import _core
from .._pillow.plan import CHW, HWC, Plan
from . import exact, rng, tensor_tail
from .lazy_images import LazyImage

TORCHS = 3  # enum stk_resizer
FLOATS = 6  # enum stk_filter: torch's bilinear one of floats, which is v1's
_CROP = 4  # numbers of a box


class LazyTensor(LazyImage):
    __slots__ = ("like", "_whole", "_is_new", "_resized", "_was_noted", "_holds")

    def __init__(self, plan, like, is_new, holds=None, **where):
        """The plan neither resizes nor flips."""
        super().__init__(plan, 3, **where)
        self._holds = holds  # the tensor that has the pixels
        self.like = like  # the class of the tensor
        self._whole = plan.crop
        self._is_new = is_new  # false for a tensor that the program has
        self._resized = None  # the layout after the resize, if it is not that of a crop of the whole
        self._was_noted = False

    @property
    def mode(self):
        return self.like, self.layout()

    def note(self, steps):
        noted = super().note(steps)
        self._heed_thin()
        if self._plan.filter != FLOATS and any([step[1] == FLOATS for step in steps[:noted]]):
            raise ValueError("some versions copy a tensor that has the size already, others do not")
        self._was_noted |= noted > 0
        return noted

    def _do(self, rest, step):
        self._heed_thin()
        if len(rest) == _CROP:
            raise ValueError("the padding is torch's own")
        layout = CHW if rest[1] == FLOATS else self._layout_resized()
        super()._do(rest, step)
        self._whole, self._is_new, self._resized = self._plan.crop, True, layout

    def _heed_thin(self):
        left, top, right, bottom = self._plan.crop
        if min(right - left, bottom - top, *self._plan.target, *self.size) < 2:
            raise ValueError("the strides of thin tensors have rules of their own")

    def resizer(self):
        return TORCHS

    def layout(self):
        """Returns the order of the result's memory."""
        if not self._plan.filter:
            return HWC
        if self._plan.filter == FLOATS:
            return CHW
        return _without_gaps(self._plan.crop, self._whole) if self._resized is None else self._resized

    def _layout_resized(self):
        """Returns the layout of a further resize's result."""
        plan = self._plan
        if plan.flip:
            if plan.window is not None or plan.crop != self._whole:
                raise ValueError("a flip before a crop fills gaps, and one behind it does not")
            return self.layout()
        if not plan.filter:
            return _without_gaps(plan.crop, self._whole)
        return CHW if plan.window is not None and self.size[0] != plan.target[0] else self.layout()

    def is_new(self):
        """Returns true if torchvision would make a new tensor of it, no view of another one."""
        plan = self._plan
        if plan.window is not None:
            return False
        return plan.filter != 0 or (plan.crop == self._whole and (plan.flip != 0 or self._is_new))

    def image(self):
        """Returns the result as a tensor of bytes."""
        if self._original is not None and not (self._was_noted and self.like is not torch.Tensor):
            return self._original
        if not self.is_new():
            raise ValueError("a crop is a view of the whole, and an unchanged image may be wrapped anew")
        return self.tensor(tensor_tail.of_bytes(*self.mode))

    def step(self, found):
        """Returns the step of an Inspection for this tensor, or None."""
        return step_for(self.like, found)

    def as_class(self, like):
        """Returns the lazy tensor of another class."""
        self._changes()
        self.like = like
        return self


def _without_gaps(crop, whole):
    """Returns the layout of what is resized of a crop."""
    return HWC if crop[2] - crop[0] == whole[2] - whole[0] else CHW


def of_lazy(lazy, like):
    """Returns the lazy tensor of a class for the tensor of bytes that is made of a lazy image; None if it is to be made
    now."""
    if type(lazy) is LazyTensor:
        return lazy.as_class(like)
    if lazy.mode != "RGB" or lazy._plan.filter or lazy._plan.flip:
        return None
    lazy._changes()
    return LazyTensor(lazy._plan, like, True, pixels=lazy._pixels, image=lazy._image)


def step_for(like, found):
    """Returns the step of an Inspection for a tensor of a class, or None."""
    return found.tensor_step if like is torch.Tensor else found.image_step


def is_image(value):
    """Returns true for a tensor that v2 takes for an image."""
    tv_tensors = sys.modules.get("torchvision.tv_tensors")
    return type(value) is torch.Tensor or (tv_tensors is not None and type(value) is tv_tensors.Image)


def is_torch_alone():
    """Returns true if nothing stands between torch's functions and the tensors: no trace, no compiler, no mode."""
    return not (torch.jit.is_tracing() or exact.is_compiling()) and rng.can_draw()


def of_tensor(tensor):
    """Returns the lazy tensor of a tensor of bytes, or None."""
    if not is_image(tensor) or tensor.dtype is not torch.uint8 or tensor.ndim != 3 or not tensor.is_cpu:
        return None
    channels, height, width = tensor.shape
    if channels != 3 or min(height, width) < 2 or tensor.stride() != (1, 3 * width, 3) or not is_torch_alone():
        return None
    # Tensor.numpy() would forbid resizes of the tensor's memory from then on.
    memory = _core.memory_at(tensor.data_ptr(), channels * height * width)
    pixels = memory.cast("B", (height, width, channels))
    return LazyTensor(Plan.whole(None, (width, height)), type(tensor), False, pixels=pixels, original=tensor, holds=tensor)
