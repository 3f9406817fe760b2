"""Which tensors are images, how they lie, and what is wanted of them."""

import torch

from .. import _gpu_core
from .leaves import tensors

TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
NCHW, NHWC = "NCHW", "NHWC"
WORDS = 8  # of 32 bits, that say where an image lies and what is wanted of it: gpu/job.h


def _is_row(values):
    """Rather than one number, which tensors and arrays may be as well."""
    return hasattr(values, "__iter__") and getattr(values, "ndim", 1) > 0


def each(values, channels):
    """Three numbers, of one for all channels or of one for each."""
    values = list(values) if _is_row(values) else [values] * channels
    if len(values) != channels:
        raise ValueError(f"{len(values)} values for {channels} channels")
    return tuple((values * 3)[:3])


def type_of(dtype):
    """Its number: enum stk_gpu_type."""
    if dtype not in TYPES:
        raise ValueError("dtype is torch.float32, torch.float16 or torch.bfloat16")
    return TYPES[dtype]


def told(addresses, width, height, stride):
    """What the kernel is told of each image, as `struct stk_gpu_image`: all of it but windows."""
    made = torch.zeros((len(addresses), WORDS), dtype=torch.int32, device="cpu")
    made.view(torch.int64)[:, 0] = addresses
    made[:, 2], made[:, 3], made[:, 4] = width, height, stride
    return made


def bytes_of(tensor):
    """As the memory of a buffer."""
    return memoryview(tensor.numpy()).cast("B")


class Work:
    """A batch for the kernel: `tensor` holds the bytes, `shape` is what comes out, as it lies there."""

    __slots__ = ("plan", "told", "tensor", "shape")

    def __init__(self, plan, told, tensor, shape):
        self.plan = plan
        self.told = told
        self.tensor = tensor
        self.shape = shape

    def batch(self, out):
        """For _gpu_core: into this tensor, or what is like one."""
        return (self.plan, bytes_of(self.told), self.tensor.data_ptr(), self.tensor.numel(),
                out.data_ptr(), out.numel() * out.element_size())


class Recipe:
    """What is wanted of all batches."""

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
        self._plans = {}  # and what else is made once
        self._channels = self._find_channels()

    def _find_channels(self):
        lengths = {len(value) for value in (self.mean, self.std) if isinstance(value, list)}
        if len(lengths) > 1 or not lengths <= {1, 3}:
            raise ValueError("mean and std are one number, or one for each of 1 or 3 channels")
        channels = tuple(lengths) or (1, 3)
        for each_channels in channels:  # what else may be wrong with them is said now
            self._plan(each_channels, 1, 1, NCHW)
        return channels

    # ---- which tensors ----

    def layout_of(self, tensor, name):
        """How the images lie in a tensor of that name in its batch; None if it is none of images."""
        if self._names is None:
            return self._fitting(tensor)
        layout = self._fitting(tensor) if name is None or name in self._names else None
        if layout is None and name in self._names and not tensor.is_floating_point():
            raise ValueError(f"{name!r}, of the shape {tuple(tensor.shape)} and the type "
                             f"{tensor.dtype}, is no batch of images")
        return layout

    def check_none(self, batch):
        """Of a batch in which there were no images: ValueError if something in it looks as if it were to be."""
        for tensor in self._unnamed(batch):
            if self._looks_meant(tensor):
                raise ValueError(f"no images are found in a batch with a tensor of the shape {tuple(tensor.shape)} "
                                 f"and the type {tensor.dtype}: {self._looked_for()}")

    def _unnamed(self, batch):
        """Its tensors, if none of them has a name that is meant."""
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
        if tensor.dim() != 4 or tensor.layout is not torch.strided or not (
                tensor.dtype is torch.uint8 or (self.normalises and tensor.is_floating_point())):
            return None
        fitting = [layout for layout, place in ((NCHW, 1), (NHWC, 3))
                   if tensor.shape[place] in self._channels and self._input in (None, layout)]
        if len(fitting) > 1:
            raise ValueError(f"a batch of the shape {tuple(tensor.shape)} could be {NCHW} or {NHWC}: "
                             "say it by input_layout=")
        return fitting[0] if fitting else None

    # ---- bytes ----

    def work(self, tensor, layout):
        """For bytes on this side."""
        side_by_side = tensor if layout == NHWC else tensor.permute(0, 2, 3, 1)
        if layout == NHWC or tensor.shape[1] == 1 or side_by_side.is_contiguous():
            return self._pixels(side_by_side.contiguous())
        return self._planes(tensor.contiguous())

    def _pixels(self, tensor):
        """Channels lie side by side."""
        count, height, width, channels = tensor.shape
        shape = ((count, height, width, channels) if self.layout == NHWC
                 else (count, channels, height, width))
        images = told(_addresses(tensor, count), width, height, width * channels)
        return Work(self._plan(channels, width, height, self.layout), images, tensor, shape)

    def _planes(self, tensor):
        """Each channel is told of as an image."""
        count, channels, height, width = tensor.shape
        images = told(_addresses(tensor, count * channels), width, height, width)
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
        """What came out, as count x channels x height x width."""
        if self.layout == NCHW:
            return out
        if len(work.told) == work.shape[0]:  # it lies as it shall
            return out.permute(0, 3, 1, 2)
        return out.contiguous(memory_format=torch.channels_last)

    def empty(self, tensor, layout, device):
        """What becomes of no images."""
        count, channels, height, width = (tensor if layout == NCHW else tensor.permute(0, 3, 1, 2)).shape
        return torch.empty((count, channels, height, width), dtype=self.dtype, device=device,
                           memory_format=self._form)

    # ---- floats ----

    def normalised(self, tensor, layout):
        """Floats, wherever they are: torchvision's Normalize, step by step."""
        images = tensor if layout == NCHW else tensor.permute(0, 3, 1, 2)
        mean, std = self._shares(tensor.dtype, tensor.device)
        made = images.sub(mean).div_(std).to(self.dtype)
        return made.contiguous(memory_format=self._form)

    def _shares(self, dtype, device):
        """Made once: on its way to a device each would be waited for."""
        if (dtype, device) not in self._plans:
            self._plans[dtype, device] = [
                torch.as_tensor(value, dtype=dtype, device=device).reshape(-1, 1, 1)
                for value in (self.mean, self.std)]
        return self._plans[dtype, device]


def _as_list(values):
    return [float(value) for value in values] if _is_row(values) else float(values)


def _addresses(tensor, count):
    return tensor.data_ptr() + torch.arange(count, device="cpu") * (tensor.numel() // count)
