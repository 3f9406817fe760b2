"""The time of transforms that are called as they are, by their names, for the run's summary."""

from time import monotonic_ns

from .. import _core
from .._base.own import attempt


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
    name = getattr(transform, "__name__", None) or type(transform).__name__
    inner = getattr(transform, "transforms", None)
    if name == "Compose" or not name.isidentifier() and name != "<lambda>":
        return None
    if type(inner) in (list, tuple) and inner:
        name += f" of {type(inner[0]).__name__}"
    return f"decoding {image.format} and {name}" if _is_waiting(image) else name


def _is_waiting(image):
    """Returns true for an image of Pillow's that is not decoded yet: its first transform decodes it."""
    return getattr(image, "fp", None) is not None and isinstance(getattr(image, "format", None), str)
