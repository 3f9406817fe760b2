"""Compares Pillow's operations with the decoder's, once, at the first one.

Small images go through both. A kind of operation that differs in a single byte is left to Pillow from then on. The result
is kept (_proof/answers.py).
"""

import random

from PIL import Image, ImageOps

from .._proof import answers
from . import check, operate, versions

_proven = None  # names of the proven kinds

_SIZES = ((1, 1), (2, 3), (3, 2), (1, 9), (9, 1), (31, 17))
_SHARES = (0.0, 1.0, 1 / 3, 0.6180339887, 1.37, -0.4, 2.9, 0.999)
_RADII = (0.1, 0.5, 1.0, 1.3, 2.0, 5.7, 40.0)
_KERNELS = ((13, (1, 1, 1, 1, 5, 1, 1, 1, 1)), (16, (-2, -2, -2, -2, 32, -2, -2, -2, -2)),
            (6, (0, -1, 0, -1, 10, -1, 0, -1, 0)), (1, (-1, -2, 0, 3, 1, 0, 0, 0.3, 0.1)))
_WARPS = ((operate.AFFINE, (0.91, 0.3, -2.2, -0.27, 1.1, 1.3)), (operate.AFFINE, (1.0, 0.0, 0.5, 0.0, 1.0, -0.25)),
          (operate.AFFINE, (2.0, 0.0, 0.0, 0.0, 0.3, 0.0)), (operate.AFFINE, (1.0, 0.3, -2.2, 0.0, 1.0, 0.0)),
          (operate.AFFINE, (1.0, 0.0, 0.0, 0.2, 1.0, 0.3)),
          (operate.PERSPECTIVE, (0.9, 0.1, 0.4, 0.05, 1.2, -1.0, 0.01, -0.02)))


def proves(kind):
    """Returns true if a kind of operation gives Pillow's bytes. The first call finds out."""
    global _proven
    if _proven is None:
        _proven = frozenset()  # so Pillow's functions do all themselves meanwhile
        if versions.are_unchanged():
            _proven = answers.proven(_name, _KINDS, lambda kind: all(_KINDS[kind]()))
    return kind in _proven


# ---- finding out ----

def _image(mode, size, pixels=None):
    """Returns the core image of these bytes, or of random ones."""
    if pixels is None:
        pixels = random.Random(repr((mode, size))).randbytes(size[0] * size[1] * len(mode))
    return versions.core(Image.frombytes(mode, size, pixels))


def _is_same(ours, pillows):
    return ours is not None and check.stored(ours) == check.stored(pillows)


def _images(modes=("RGB", "L")):
    for mode in modes:
        for size in _SIZES:
            yield _image(mode, size)


def _blends():
    """Yields for each comparison if it is the same: all pairs of bytes."""
    a = _image("L", (256, 256), bytes(range(256)) * 256)
    b = versions.core(versions.plainly("transpose", versions.plain_image(a), 5))
    colours = _image("RGB", (31, 17)), _image("RGB", (31, 17), bytes(31 * 17 * 3))
    for share in _SHARES:
        yield _is_same(operate.blend(a, b, share), Image.core.blend(a, b, share))
        yield _is_same(operate.blend(*colours, share), Image.core.blend(*colours, share))


def _hues():
    """Returns the bytes of all colours of which a band is 0, and of all with two equal bands that are the least: all
    hues and all saturations."""
    a = bytes(range(256)) * 256
    b = b"".join(bytes([each]) * 256 for each in range(256))
    most = b"".join(bytes([each]) * each + bytes(range(each, 256)) for each in range(256))
    nothing = bytes(len(a))
    pixels = bytearray(4 * 3 * len(a))
    for band, planes in enumerate(((a, a, nothing, most), (b, nothing, a, a), (nothing, b, b, a))):
        pixels[band::3] = b"".join(planes)
    return bytes(pixels)


def _converts(before, after):
    size = (512, 512)
    pixels = _hues() if before == "RGB" else None
    cores = [_image(before, size, pixels), *_images((before,))]
    for core in cores:
        yield _is_same(operate.convert(core, after), core.convert(after, 3))


def _without(core, kind):
    """Returns the core image from which a change of this kind goes to another one."""
    if kind == operate.BRIGHTNESS:
        return Image.core.fill("RGB", core.size, 0)
    grey = core.convert("L", 3)
    if kind == operate.CONTRAST:
        mean = int(sum(check.stored(grey)) / (core.size[0] * core.size[1]) + 0.5)
        grey = Image.core.fill("L", core.size, mean)
    return grey.convert("RGB", 3)


def _turned(core, turn):
    """Returns a core image with another hue, as torchvision makes it."""
    hue, *others = (core.convert("HSV", 3).getband(band) for band in range(3))
    turned = check.stored(hue).translate(bytes(value + turn & 255 for value in range(256)))
    return Image.core.merge("HSV", _image("L", core.size, turned), *others).convert("RGB", 3)


def _recolours():
    for core in (_image("RGB", (512, 512), _hues()), *_images(("RGB",))):
        for turn in (0, 1, 101, 255):
            yield _is_same(operate.recolour(core, (operate.HUE, turn)), _turned(core, turn))
    for core in _images(("RGB",)):
        for share in _SHARES:
            made, changes = core, ()
            for kind in (operate.SATURATION, operate.CONTRAST, operate.BRIGHTNESS):
                made, changes = Image.core.blend(_without(made, kind), made, share), (*changes, kind, share)
                yield _is_same(operate.recolour(core, changes), made)


def _points():
    for core in _images():
        values = random.Random(1).randbytes(256 * operate.BANDS[core.mode])
        yield _is_same(operate.look_up(core, values), core.point(list(values), None))


def _tables(function, table, parameters):
    for core in (*_images(), _image("RGB", (256, 9))):
        for each in parameters:
            expected = function(versions.plain_image(core), *each)
            yield _is_same(operate.look_up(core, table(*each)), versions.core(expected))


def _own_tables(function, kind):
    dark = _image("L", (31, 17)).point([value // 3 + 40 for value in range(256)], None)
    for core in (*_images(), dark, _image("L", (40, 1), bytes(40)), _image("RGB", (256, 9))):
        expected = function(versions.plain_image(core))
        yield _is_same(operate.look_up_own(core, kind), versions.core(expected))


def _nines():
    for core in _images():
        for scale, kernel in _KERNELS:
            yield _is_same(operate.weigh_nine(core, kernel, scale), core.filter((3, 3), scale, 0, kernel))


def _blurs():
    for core in _images(("RGB",)):
        for radius in _RADII:
            radii = (radius, radius) if versions.HAS_TWO_RADII else radius
            yield _is_same(operate.blur(core, (radius, radius), operate.PASSES), core.gaussian_blur(radii))
            yield _is_same(operate.blur(core, (radius, radius), 0), core.box_blur(radii))


def _warps():
    for core in _images(("RGB",)):
        for method, factors in _WARPS:
            for filter in (operate.BILINEAR, operate.BICUBIC):
                for clears in (False, True):
                    ours, pillows = (Image.core.fill("RGB", (19, 23), (9, 8, 7)) for _ in range(2))
                    versions.transform_core(pillows, core, method, factors, filter, clears)
                    yield operate.warp(ours, core, method, factors, filter, clears) and _is_same(ours, pillows)


_KINDS = {"blend": _blends, "colours": _recolours, "nine": _nines, "blur": _blurs, "warp": _warps}
_KINDS.update({
    "table": _points,
    "invert": lambda: _tables(ImageOps.invert, operate.inverse, [()]),
    "solarize": lambda: _tables(ImageOps.solarize, operate.solarized, [(0,), (100.5,), (255,), (256,), (-1.2,)]),
    "posterize": lambda: _tables(ImageOps.posterize, operate.posterized, [(bits,) for bits in range(1, 9)]),
    "autocontrast": lambda: _own_tables(ImageOps.autocontrast, operate.SPREAD),
    "equalize": lambda: _own_tables(ImageOps.equalize, operate.EVEN)})
_KINDS.update({before + after: lambda before=before, after=after: _converts(before, after)
               for before, after in operate.CONVERSIONS})


def _name():
    return answers.name_of("operations", versions.PIL.__version__, [], [Image.core.__file__])
