"""Blends, conversions, tables, filters and warps of ordinary images, of any file format, by the decoder's code.

An image is taken only if Pillow would not fail, and if the operation was proven to give the same bytes
(operations_check.py). All other images, and all errors, are Pillow's.
"""

from math import isfinite

from PIL import Image, ImageFilter, ImageOps

from .. import _core
from .._base.own import attempt, tried
from . import operate, operations_check, ordinary, versions

LEAST = 2048  # pixels. In smaller images the call costs more than it saves

_NUMBERS = (int, float)
_SIZE_3 = (3, 3)
_FILTER_TYPES = (int, getattr(Image, "Resampling", int))
_METHOD_TYPES = (int, getattr(Image, "Transform", int))
_FACTORS = {operate.AFFINE: 6, operate.PERSPECTIVE: 8}


_HISTOGRAM = Image.Image.histogram
_hooked_point = None  # Image.Image.point in its place
_BARE = Image.Image()  # its info is empty


def _is_large(size):
    return size[0] * size[1] >= LEAST


def _core_of(image, modes):
    """Returns the core image of a loaded image of one of these modes, or None."""
    if not isinstance(image, Image.Image) or image.mode not in modes or not _is_large(image.size):
        return None
    if not ordinary.loads_plainly(type(image)):
        return None
    mode, size = image.mode, image.size
    image.load()
    core = image.im
    return core if _is_known(core) and core.mode == mode and core.size == size == image.size else None


def _is_known(core):
    return type(core) is versions.CORE


def _counted(new):
    if new is not None:
        _core.count(_core.OPERATIONS)
    return new


def _operated(like, image, modes, kind, operation, *arguments):
    """Returns a new image like another one, with the result of an operation on an image of one of these modes. Returns
    None if this kind of operation is not proven, or Pillow is to do it."""
    core = _core_of(image, modes) if operations_check.proves(kind) else None
    new = None if core is None else _counted(operation(core, *arguments))
    return None if new is None else like._new(new)


# ---- images ----

def blended(first, second, alpha):
    """Returns the new image of Image.blend(), or None if Pillow is to make it."""
    if type(alpha) not in _NUMBERS or not abs(alpha) <= operate.MOST_SHARE or not operations_check.proves("blend"):
        return None
    a, b = _core_of(first, operate.BANDS), _core_of(second, operate.BANDS)
    if a is None or b is None or a.mode != b.mode or a.size != b.size:
        return None
    new = _counted(operate.blend(a, b, alpha))
    return None if new is None else first._new(new)


def converted(image, mode):
    """Returns the new image of convert(mode), or None if Pillow is to make it."""
    if (image.mode, mode) not in operate.CONVERSIONS or "transparency" in image.info:
        return None
    return _operated(image, image, (image.mode,), image.mode + mode, operate.convert, mode)


def recoloured(image, changes, hands_on=False):
    """Returns a new image after some changes of colours (operate.py), or None. It gets the image's info if that is
    handed on."""
    if "transparency" in image.info:
        return None
    return _operated(image if hands_on else _BARE, image, ("RGB",), "colours", operate.recolour, changes)


# ---- tables ----

def _is_pillows(image):
    """Returns true if Pillow's own functions would read and look up the values of the image."""
    kind = type(image)
    return (kind.histogram is _HISTOGRAM and kind.point is _hooked_point
            and image.__dict__.keys().isdisjoint(("histogram", "point")))


def _looked_up(image, tables, kind):
    """Returns a new image with the values of a table of 256 bytes, or of one for each band."""
    return _operated(image, image, operate.BANDS, kind, operate.look_up, tables)


def _looked_up_own(image, tables, kind):
    return _operated(image, image, operate.BANDS, kind, operate.look_up_own, tables)


def _pointed(image, lut, mode=None):
    """Point with the list of all values. Values outside of bytes are Pillow's to clip."""
    if mode is not None or type(lut) is not list or image.mode not in operate.BANDS:
        return None
    if len(lut) != 256 * operate.BANDS[image.mode] or not all(type(each) is int and 0 <= each < 256 for each in lut):
        return None
    return _looked_up(image, bytes(lut), "table")


def _inverted(image):
    return _looked_up(image, operate.inverse(), "invert")


def _solarized(image, threshold=128):
    if type(threshold) not in _NUMBERS or not isfinite(threshold):
        return None
    return _looked_up(image, operate.solarized(threshold), "solarize")


def _posterized(image, bits):
    if type(bits) is not int or not 1 <= bits <= 8:
        return None
    return _looked_up(image, operate.posterized(bits), "posterize")


def _spread(image, cutoff=0, ignore=None, mask=None, preserve_tone=False):
    if type(cutoff) not in _NUMBERS or cutoff or ignore is not None or mask is not None or preserve_tone:
        return None
    return _looked_up_own(image, operate.SPREAD, "autocontrast")


def _evened_out(image, mask=None):
    return None if mask is not None else _looked_up_own(image, operate.EVEN, "equalize")


_IMAGE_OPS = (("invert", _inverted), ("solarize", _solarized), ("posterize", _posterized), ("autocontrast", _spread),
              ("equalize", _evened_out))


# ---- core images ----

def _filtered(kernel, core):
    """Returns the new core image of a filter of nine weights, or None."""
    size, scale, offset, weights = kernel.filterargs
    if size != _SIZE_3 or offset != 0 or not scale or not _is_known(core) or not _is_large(core.size):
        return None
    if core.mode not in operate.BANDS or not operations_check.proves("nine"):
        return None
    return _counted(operate.weigh_nine(core, weights, scale))


def _blurred(core, radius, passes):
    if type(radius) not in _NUMBERS or not 0 < radius <= operate.LARGEST_RADIUS or not _is_known(core) or not _is_large(core.size):
        return None
    if core.mode != "RGB" or not operations_check.proves("blur"):
        return None
    return _counted(operate.blur(core, (radius, radius), passes))


def _by_gaussian(self, image):
    return _blurred(image, self.radius, operate.PASSES)


def _by_box(self, image):
    return _blurred(image, self.radius, 0)


# ---- warps ----

def _warped(target, box, image, method, data, resample=0, fill=1):
    """Fills the target with the warped image. Returns None if Pillow is to do it."""
    if type(method) not in _METHOD_TYPES or type(resample) not in _FILTER_TYPES or target is image:
        return None
    count = _FACTORS.get(method)
    if count is None or resample not in (operate.BILINEAR, operate.BICUBIC) or tuple(box) != (0, 0) + target.size:
        return None
    factors = _numbers(data, count)
    if factors is None or not operations_check.proves("warp"):
        return None
    core, to = _core_of(image, ("RGB",)), _core_of(target, ("RGB",))
    if core is None or to is None:
        return None
    done = operate.warp(to, core, int(method), factors, int(resample), bool(fill))
    return _counted(done or None)


def _numbers(data, count):
    """Returns the first numbers of a list as floats, or None if they are not all numbers."""
    if type(data) not in (tuple, list) or len(data) < count:
        return None
    numbers = data[:count]
    if not all(type(each) in _NUMBERS and isfinite(each) for each in numbers):
        return None
    return tuple(map(float, numbers))


# ---- in the place of Pillow's functions ----

def _of_pillows(ours):
    """Returns a function of ImageOps that leaves images with functions of the program's to Pillow."""
    return lambda image, *arguments, **named: ours(image, *arguments, **named) if _is_pillows(image) else None


def _transformer(plain):
    def transformer(*arguments, **named):
        if attempt(_warped, *arguments, **named) is None:
            plain(*arguments, **named)
    return transformer


def install(replace):
    """Puts the functions in place by hook.py's `replace(owner, name, new, key)`."""
    for owner, name, ours in ((Image, "blend", blended), (ImageFilter.BuiltinFilter, "filter", _filtered),
                              (ImageFilter.GaussianBlur, "filter", _by_gaussian),
                              (ImageFilter.BoxBlur, "filter", _by_box), (Image.Image, "point", _pointed),
                              *((ImageOps, name, _of_pillows(ours)) for name, ours in _IMAGE_OPS)):
        replace(owner, name, tried(ours, owner.__dict__[name]), f"{owner.__name__}.{name}")
    global _hooked_point
    _hooked_point = Image.Image.point
    name = "_Image__transformer"
    if name in Image.Image.__dict__:
        replace(Image.Image, name, _transformer(Image.Image.__dict__[name]), "transformer")
