"""The time of transforms that are called as they are, by their names, for the run's summary."""

from time import monotonic_ns

import torch
from PIL import Image

from .. import _core
from .._base.own import attempt

_SLOW = torch.nn.Module, Image.Image


def called(transform, image):
    """Returns the transform's result for an image. Its time is counted, unless it raises an error."""
    name, began = attempt(_name, transform, image), monotonic_ns()
    result = transform(image)
    if name is not None:
        attempt(_core.add_call, name, monotonic_ns() - began)
    return result


def _name(transform, image):
    """Returns the name of a class or a function, with the first transform that it applies, and the format that it
    decodes. Returns None for a Compose, whose transforms are counted by themselves."""
    name = _attribute(transform, "__name__") or type(transform).__name__
    inner = _attribute(transform, "transforms")
    if name == "Compose" or not name.isidentifier() and name != "<lambda>":
        return None
    if type(inner) in (list, tuple) and inner:
        name += f" of {type(inner[0]).__name__}"
    return f"decoding {image.format} and {name}" if _is_waiting(image) else name


def _is_waiting(image):
    """Returns true for an image of Pillow's that is not decoded yet: its first transform decodes it."""
    return _attribute(image, "fp") is not None and isinstance(getattr(image, "format", None), str)


def _attribute(value, name):
    """Returns an attribute, or None. Modules and images have a slow __getattr__() for what they lack."""
    return value.__dict__.get(name) if isinstance(value, _SLOW) else getattr(value, name, None)
