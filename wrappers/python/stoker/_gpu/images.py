"""Finds the tensors that are images, with their layouts, and makes the kernel's batches of them."""

from collections import namedtuple

import torch

from .. import _gpu_core
from .tensors import tensors

TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
NCHW, NHWC = "NCHW", "NHWC"
WORDS = 8  # of 32 bits for each image in a table, its place and its wanted window: gpu/job.h


def _is_row(values):
    """Returns true for a row of values. A tensor or an array may also be one number."""
    return hasattr(values, "__iter__") and getattr(values, "ndim", 1) > 0


def each(values, channels):
    """Returns three numbers, from one number for all channels or one for each."""
    values = list(values) if _is_row(values) else [values] * channels
    if len(values) != channels:
        raise ValueError(f"{len(values)} values for {channels} channels")
    return tuple((values * 3)[:3])


def type_of(dtype):
    """Returns the number of a dtype: enum stk_gpu_type."""
    if dtype not in TYPES:
        raise ValueError("dtype is torch.float32, torch.float16 or torch.bfloat16")
    return TYPES[dtype]


def image_table(addresses, width, height, stride):
    """Returns the kernel's table of images, a `struct stk_gpu_image` for each, without windows."""
    made = torch.zeros((len(addresses), WORDS), dtype=torch.int32, device="cpu")
    made.view(torch.int64)[:, 0] = addresses
    made[:, 2], made[:, 3], made[:, 4] = width, height, stride
    return made


def bytes_of(tensor):
    """Returns a tensor's memory as a buffer."""
    return memoryview(tensor.numpy()).cast("B")


class Work(namedtuple("Work", "plan image_table tensor shape")):
    """A batch for the kernel. `tensor` holds the bytes; `shape` is the result's, as it lies in memory."""

    def batch(self, out):
        """Returns the batch for _gpu_core, with `out`, a tensor or the like, for its result."""
        return (self.plan, bytes_of(self.image_table), self.tensor.data_ptr(), self.tensor.numel(),
                out.data_ptr(), out.numel() * out.element_size())


class Recipe:
    """The wishes for all batches: mean, std, type, layout, and the images' names."""

    def __init__(self, mean, std, dtype, layout, input_layout, names):
        for name, value in ("layout", layout), ("input_layout", input_layout):
            if value not in (NCHW, NHWC) and (name == "layout" or value is not None):
                raise ValueError(f"{name} is {NCHW!r} or {NHWC!r}")
        self.normalises = mean is not None or std is not None
        self.mean = 0.0 if mean is None else _as_list(mean)
        self.std = 1.0 if std is None else _as_list(std)
        self.dtype = torch.float32 if dtype is None else dtype
        self.layout = layout
        self._form = torch.channels_last if layout == NHWC else torch.contiguous_format
        self._input = input_layout
        self._names = names
        self._plans = {}  # plans, and tensors of mean and std, each made once
        self._channels = self._find_channels()

    def _find_channels(self):
        lengths = {len(value) for value in (self.mean, self.std) if isinstance(value, list)}
        if len(lengths) > 1 or not lengths <= {1, 3}:
            raise ValueError("mean and std are one number, or one for each of 1 or 3 channels")
        channels = tuple(lengths) or (1, 3)
        for each_channels in channels:  # raises further errors now
            self._plan(each_channels, 1, 1, NCHW)
        return channels

    # ---- the tensors that are images ----

    def layout_of(self, tensor, name):
        """Returns the layout of the images in a tensor with this name in its batch, or None if it has no images."""
        if self._names is None:
            return self._fitting(tensor)
        layout = self._fitting(tensor) if name is None or name in self._names else None
        if layout is None and name in self._names and not tensor.is_floating_point():
            raise ValueError(f"{name!r}, of the shape {tuple(tensor.shape)} and the type "
                             f"{tensor.dtype}, is no batch of images")
        return layout

    def check_none(self, batch):
        """Raises ValueError for a batch without images, if one of its tensors looks as if it were meant."""
        for tensor in self._unnamed(batch):
            if self._looks_meant(tensor):
                raise ValueError(f"no images are found in a batch with a tensor of the shape {tuple(tensor.shape)} "
                                 f"and the type {tensor.dtype}: {self._looked_for()}")

    def _unnamed(self, batch):
        """Returns the batch's tensors, or none if one of them has a wanted name."""
        found = tensors(batch)
        is_named = self._names is not None and any(name in self._names for _, name in found)
        return [] if is_named else [tensor for tensor, _ in found]

    def _looks_meant(self, tensor):
        if self._names is not None:
            return self._fitting(tensor)
        return self.normalises and tensor.dtype is torch.uint8 and tensor.dim() > 2

    def _looked_for(self):
        channels = " or ".join(map(str, self._channels))
        named = "" if self._names is None else f", named {' or '.join(sorted(map(repr, self._names)))}"
        return f"they have four dimensions, and {channels} channels (as many as mean and std){named}"

    def _fitting(self, tensor):
        if tensor.dim() != 4 or tensor.layout is not torch.strided or not self._has_values(tensor):
            return None
        fitting = [layout for layout, place in ((NCHW, 1), (NHWC, 3))
                   if tensor.shape[place] in self._channels and self._input in (None, layout)]
        if len(fitting) > 1:
            raise ValueError(f"a batch of the shape {tuple(tensor.shape)} could be {NCHW} or {NHWC}: "
                             "say it by input_layout=")
        return fitting[0] if fitting else None

    def _has_values(self, tensor):
        return tensor.dtype is torch.uint8 or (self.normalises and tensor.is_floating_point())

    # ---- bytes ----

    def work(self, tensor, layout):
        """Returns the Work for a tensor of bytes."""
        side_by_side = tensor if layout == NHWC else tensor.permute(0, 2, 3, 1)
        if layout == NHWC or tensor.shape[1] == 1 or side_by_side.is_contiguous():
            return self._pixels(side_by_side.contiguous())
        return self._planes(tensor.contiguous())

    def _pixels(self, tensor):
        """Returns the Work for pixels whose channels lie side by side."""
        count, height, width, channels = tensor.shape
        shape = ((count, height, width, channels) if self.layout == NHWC
                 else (count, channels, height, width))
        images = image_table(_addresses(tensor, count), width, height, width * channels)
        return Work(self._plan(channels, width, height, self.layout), images, tensor, shape)

    def _planes(self, tensor):
        """Returns the Work for planes: each channel counts as an image."""
        count, channels, height, width = tensor.shape
        images = image_table(_addresses(tensor, count * channels), width, height, width)
        return Work(self._plan(1, width, height, NCHW, channels), images, tensor, tuple(tensor.shape))

    def _plan(self, channels, width, height, layout, planes=1):
        key = channels, width, height, layout, planes
        if key not in self._plans:
            shares = channels * planes
            self._plans[key] = _gpu_core.plan(
                type_of(self.dtype), int(layout == NHWC), channels, width, height,
                each(self.mean, shares), each(self.std, shares), (0, 0, 0), planes)
        return self._plans[key]

    def shaped(self, out, work):
        """Returns the result as count x channels x height x width."""
        if self.layout == NCHW:
            return out
        if len(work.image_table) == work.shape[0]:  # the result has the wanted layout
            return out.permute(0, 3, 1, 2)
        return out.contiguous(memory_format=torch.channels_last)

    def empty(self, tensor, layout, device):
        """Returns the result for a batch of no images."""
        count, channels, height, width = (tensor if layout == NCHW else tensor.permute(0, 3, 1, 2)).shape
        return torch.empty((count, channels, height, width), dtype=self.dtype, device=device,
                           memory_format=self._form)

    # ---- floats ----

    def normalised(self, tensor, layout):
        """Normalises floats where they lie, step by step as torchvision's Normalize."""
        images = tensor if layout == NCHW else tensor.permute(0, 3, 1, 2)
        mean, std = self._shares(tensor.dtype, tensor.device)
        made = images.sub(mean).div_(std).to(self.dtype)
        return made.contiguous(memory_format=self._form)

    def _shares(self, dtype, device):
        """Returns mean and std as tensors, made once: the host would wait for each copy to a device."""
        if (dtype, device) not in self._plans:
            self._plans[dtype, device] = [
                torch.as_tensor(value, dtype=dtype, device=device).reshape(-1, 1, 1)
                for value in (self.mean, self.std)]
        return self._plans[dtype, device]


def _as_list(values):
    return [float(value) for value in values] if _is_row(values) else float(values)


def _addresses(tensor, count):
    return tensor.data_ptr() + torch.arange(count, device="cpu") * (tensor.numel() // count)
