"""The parts of v2's transforms for boxes, and for images beside them."""

import sys

from . import exact

# The functions that do it, by the modules of v2.functional that have them.
_BOX_FUNCTIONS = {"_geometry": ("resize_bounding_boxes", "horizontal_flip_bounding_boxes", "vertical_flip_bounding_boxes"),
                  "_meta": ("_convert_bounding_box_format", "convert_bounding_box_format"),
                  "_misc": ("_get_sanitize_bounding_boxes_mask",)}


def functions(functional):
    """Returns [(a module of v2.functional, names)] of the functions of boxes."""
    return [(getattr(functional, name, functional), names) for name, names in _BOX_FUNCTIONS.items()]


def knows(kind):
    """Returns true if of() may return what transforms of this class do."""
    return kind.__name__ in _MAKERS and getattr(exact.v2(), kind.__name__, None) is kind


def of(transform):
    """Returns "image" for a transform that makes a tensor of an image and hands boxes on. Returns "pure" for one that makes
    tensors of torch's own class of both. One that hands images on is ("convert", format) or ("sanitize", limits, getter). All
    others are None."""
    return _MAKERS[type(transform).__name__](transform) if knows(type(transform)) else None


def _converting(transform):
    form = transform.format
    name = form.upper() if type(form) is str else getattr(form, "value", None)
    tv_tensors = sys.modules["torchvision.tv_tensors"]
    return ("convert", name) if name in tv_tensors.BoundingBoxFormat.__members__ else None


def _sanitizing(transform):
    limits = transform.min_size, getattr(transform, "min_area", 1.0)
    getter = transform._labels_getter
    if type(transform.labels_getter) is not str or not exact.is_torchvisions(getter):
        return None
    return ("sanitize", limits, getter) if all([type(each) in (int, float) and each >= 1 for each in limits]) else None


_MAKERS = {"ConvertBoundingBoxFormat": _converting, "SanitizeBoundingBoxes": _sanitizing, "ToImage": lambda transform: "image",
           "ToPureTensor": lambda transform: "pure"}
