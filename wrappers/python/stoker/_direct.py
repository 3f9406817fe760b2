"""Functions that programs call: decode, decode_batch, view."""

import functools
import mmap
import os
import struct
import sys

from . import _core
from ._store import sources

_FILTERS = {"nearest": 0, "box": 1, "bilinear": 2, "hamming": 3, "bicubic": 4, "lanczos": 5}
_PILLOW_FILTERS = {0: 0, 1: 5, 2: 2, 3: 4, 4: 1, 5: 3}
_LAYOUTS = {"HWC": 0, "CHW": 1}
_FLIPS = {None: 0, "": 0, "h": 1, "v": 2, "hv": 3, "vh": 3}
_ERRORS = {-1: "damaged or cut short", -2: "no JPEG of a supported kind", -4: "no such region"}


@functools.cache
def _resizer():
    """Returns the resizer of the installed Pillow, or of the newest one if there is none."""
    try:
        from importlib.metadata import version
        parts = tuple(int(part) for part in version("pillow").split(".")[:2])
    except Exception:
        parts = (13, 0)
    return 0 if parts < (12, 2) else 1 if parts < (13, 0) else 2


def _filter_number(filter):
    if isinstance(filter, str) and filter in _FILTERS:
        return _FILTERS[filter]
    if not isinstance(filter, str) and filter in _PILLOW_FILTERS:
        return _PILLOW_FILTERS[filter]
    raise ValueError(f"filter must be one of {', '.join(_FILTERS)}, or Pillow's number of it")


def _channel_values(values, channels):
    if not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0:  # one number, perhaps NumPy's
        return [values] * channels
    values = list(values)
    if len(values) != channels:
        raise ValueError(f"mean and std have one value for each of {channels} channels")
    return values


def _table(mean, std, channels):
    return b"".join(_core.table(*pair) for pair in zip(_channel_values(mean, channels),
                                                       _channel_values(std, channels)))


def _is_float(dtype, mean, std):
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = name.rpartition(".")[2]
    if name == "uint8" and mean is None and std is None:
        return False
    if name == "float32":
        return True
    raise ValueError("dtype must be uint8, or float32 (which mean and std need)")


def _rows():
    """Returns the module that gives the memory of a DataLoader's batch (_torch/rows.py), if it is imported; else
    None."""
    return sys.modules.get(__package__ + "._torch.rows")


def _row(shape, is_float):
    rows = _rows()
    return None if rows is None else rows.array(shape, is_float)


def _new_array(shape, is_float, row):
    """Returns a row of the current batch, else a NumPy array, else, without NumPy, a memoryview of that shape."""
    array = row(shape, is_float)
    if array is not None:
        return array
    try:
        import numpy
    except ImportError:
        size = struct.calcsize("f") if is_float else 1
        for n in shape:
            size *= n
        flat = memoryview(bytearray(size))
        return flat.cast("f" if is_float else "B", shape)
    return numpy.empty(shape, "float32" if is_float else "uint8")


def decode(source, box=None, size=None, filter="bilinear", flip=None, layout="HWC", dtype="uint8",
           mean=None, std=None, out=None):
    """Returns a JPEG's pixels, bit for bit those of Pillow's crop, resize and transpose in this order.

    source  a path, or bytes (any buffer) that hold the file
    box     (left, top, right, bottom) of a region, in whole pixels
    size    (width, height) to resize to
    filter  nearest, box, bilinear, hamming, bicubic, lanczos, or Pillow's number of it
    flip    "h", "v" or "hv"
    layout  "HWC" or "CHW"; grey images have one channel
    dtype   uint8, or float32: pixels / 255, less mean, by std, as torchvision computes it
    out     a writable buffer of as many bytes as the result, which is then returned; else a NumPy
            array (or a memoryview, where there is no NumPy)

    Raises ValueError for a file that is no sound JPEG: let Pillow decode it.
    """
    return _decode(_row, source, box, size, filter, flip, layout, dtype, mean, std, out)


def _decode(row, source, box=None, size=None, filter="bilinear", flip=None, layout="HWC",
            dtype="uint8", mean=None, std=None, out=None):
    """Does what decode() does. `row` gives an array of a shape, or None."""
    if isinstance(source, (str, os.PathLike)):
        source = sources.of_path(source)
    else:
        source = sources.Bytes(source)
    frame = source.frame()
    if frame is None:
        raise ValueError("no JPEG")
    request = _request_of(frame, box, size, filter, flip, layout, dtype, mean, std)
    result = source.decode(request, _new_out(request, row) if out is None else out)
    if type(result) is int:
        if result == -3:
            raise MemoryError
        raise ValueError(_ERRORS.get(result, "cannot be decoded"))
    _core.count(_core.IMAGES)
    return result


def _request_of(frame, box, size, filter, flip, layout, dtype, mean, std):
    """Returns the plan as the decoder takes it (core/decode/plan_request.h)."""
    width, height, components = frame
    channels = 1 if components == 1 else 3
    left, top, right, bottom = crop = (0, 0, width, height) if box is None else tuple(box)
    size = (right - left, bottom - top) if size is None else tuple(size)
    is_float = _is_float(dtype, mean, std)
    if layout not in _LAYOUTS or flip not in _FLIPS:
        raise ValueError("layout must be HWC or CHW, flip h, v or hv")
    table = _table(mean, std, channels) if is_float else None
    geometry = crop, size, _filter_number(filter), _FLIPS[flip], None, 0
    return geometry, _resizer(), (channels, _LAYOUTS[layout], int(is_float), table)


def _new_out(request, row):
    """Returns a new array for the pixels of a plan."""
    (_, size, *_), _, (channels, layout, is_float, _) = request
    shape = (channels, size[1], size[0]) if layout else (size[1], size[0], channels)
    return _new_array(shape, bool(is_float), row)


def decode_batch(sources, threads=None, out=None, **options):
    """Returns a list of decode(source, **options), made on several threads. An option given as a list has one value for
    each source; `out` has one buffer for each (an array of them will do)."""
    from concurrent.futures import ThreadPoolExecutor

    from ._base.numbers import whole_number
    from ._base.processors import processors

    sources = list(sources)
    _check_lists(options, len(sources))
    rows = _rows()
    row = (lambda i: _row) if rows is None or out is not None else rows.reserve(len(sources))

    def one(i):
        own = {name: value[i] if isinstance(value, list) else value for name, value in options.items()}
        return _decode(row(i), sources[i], out=None if out is None else out[i], **own)

    threads = whole_number("threads", threads or processors(), 1)
    if threads == 1 or len(sources) < 2:
        return [one(i) for i in range(len(sources))]
    with ThreadPoolExecutor(min(threads, len(sources))) as pool:
        return list(pool.map(one, range(len(sources))))


def _check_lists(options, count):
    """Raises ValueError for an option whose list has not one value for each source."""
    for name, values in options.items():
        if isinstance(values, list) and len(values) != count:
            raise ValueError(f"{name} has {len(values)} values for {count} sources")


def view(path):
    """Returns a file's bytes as a read-only memoryview, without a copy. Under `stoker run` they are the cached entry's.
    The file must not be cut short while the view is in use."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
