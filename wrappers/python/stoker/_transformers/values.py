"""Tables of what image processors make of each value, 256 floats for each channel. The processors fill them themselves."""

import numpy

from .._base import cache
from .._pillow.plan import CHW, F32, HWC, U8

_NAMES = "do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std"
_DONE = {"do_rescale": False, "do_normalize": False}
_NUMBERS = (int, float, bool, type(None))

_tables = {}  # {(class, what is asked for): (layout, table), or None if there is no such table}


def ending(backend, processor, named):
    """Returns (the layout of the pixels as Plan.request takes it, the steps that are done by it)."""
    found, parts = None, [named[name] for name in _NAMES]
    if all(map(_is_plain, parts)):
        key = type(processor), repr(parts)
        found = _tables[key] if key in _tables else cache.put(_tables, key, _find(backend, processor, named))
    return ((3, backend.layout, U8, None), {}) if found is None else ((3, found[0], F32, found[1]), _DONE)


def _is_plain(value):
    return all(type(each) in _NUMBERS for each in (value if type(value) is tuple else (value,)))


def _find(backend, processor, named):
    """Lets the processor's own steps work on an image that holds each value once in each channel."""
    pixels = numpy.arange(256, dtype=numpy.uint8).reshape(1, 16, 16).repeat(3, 0)
    rest = {"do_resize": False, "do_center_crop": False, "do_pad": False, "return_tensors": None}
    try:
        result = numpy.asarray(processor._preprocess([backend.ramp(pixels)], **{**named, **rest})["pixel_values"][0])
    except Exception:  # transformers will raise it where it belongs
        return None
    layout = {(1024, 64, 4): CHW, (4, 192, 12): HWC}.get(result.strides)
    if result.dtype != numpy.float32 or result.shape != (3, 16, 16) or layout is None:
        return None
    return layout, result.tobytes()
