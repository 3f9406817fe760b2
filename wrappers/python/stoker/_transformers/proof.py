"""Compares image processors that resize and crop here with transformers' own, once, as _pillow/check.py does with
Pillow's."""

import functools
import sys

import PIL
import torch
import torchvision
from PIL import Image

from .._pillow.plan import PILLOWS_FILTERS
from .._proof import answers
from .._pipeline.tensor_resize import pixels_of

_VALUES = {"image_mean": (0.5, 0.25, 0.4), "image_std": (0.5, 0.2, 0.3)}
_SQUARE = {"size": {"height": 24, "width": 31}}
_CROPPED = {"size": {"shortest_edge": 21}, "do_center_crop": True, "crop_size": {"height": 16, "width": 20}}
# (The options of a processor, the sizes of its images).
_CASES = (
    ({**_SQUARE, **_VALUES, "do_rescale": True, "do_normalize": True}, ((40, 53), (31, 24), (9, 23), (160, 120))),
    ({**_CROPPED, **_VALUES, "do_rescale": True, "do_normalize": True}, ((53, 40), (201, 157), (22, 90))),
    ({**_CROPPED, "do_rescale": True}, ((53, 41), (20, 30))),
    ({**_SQUARE, **_VALUES, "do_normalize": True}, ((64, 31),)))


def find(backend, entry, plain, ours):
    """Returns the decoder's numbers of the filters for which a backend's processors give the same by both functions of
    the name `entry`. The first process finds them."""
    return answers.proven(lambda: _name(backend.kind), backend.filters(),
                          lambda filter: _are_same(backend.kind, filter, entry, plain, ours))


def _name(kind):
    capability = getattr(torch.backends, "cpu", None) and torch.backends.cpu.get_cpu_capability()
    parts = [kind.__name__, torch.__version__, torchvision.__version__, PIL.__version__, capability]
    return answers.name_of("transformers", sys.modules["transformers"].__version__, parts,
                           [sys.modules[kind.__module__].__file__, torch._C.__file__])


def _are_same(kind, filter, entry, plain, ours):
    for options, sizes in _CASES:
        processor = kind(do_resize=True, resample=PILLOWS_FILTERS[filter], **options)
        images = [Image.frombytes("RGB", size, bytes(pixels_of(size))) for size in sizes]
        for more in {"return_tensors": "pt"}, {}:
            if _seen(processor, entry, plain, images, more) != _seen(processor, entry, ours, images, more):
                return False
    return True


def _seen(processor, entry, function, images, more):
    """Returns all that a program can see of the result by this function."""
    processor.__dict__[entry] = functools.partial(function, processor)
    with torch.inference_mode(False), torch.no_grad():
        result = processor(images, **more)
    values = result["pixel_values"]
    return type(result), list(result), list(vars(result)), type(values), _seen_of(values)


def _seen_of(value):
    if isinstance(value, list):
        return list(map(_seen_of, value))
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype, value.contiguous().numpy().tobytes()
    return type(value), value.shape, value.strides, value.dtype, value.tobytes()
