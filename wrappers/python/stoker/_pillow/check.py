"""Compares the decoder with the installed Pillow, once, at the first JPEG.

Small images of every kind that is taken (_proof/images.py) are decoded, cropped and resized by both. A kind that differs in
a single byte is left to Pillow from then on. The result is kept (_proof/answers.py).
"""

import functools

from PIL import Image

from .. import _core
from .._proof import answers, images
from .._store.sources import Bytes
from . import versions
from .plan import FILTERS, TURNS, Plan, reference


class Proven:
    """The kinds that give the same bytes: samplings ((h, v) of each component), filters (Pillow's numbers), RGB files,
    the bands (1, 3, 4) of ordinary images that are resized, and files of several scans."""

    def __init__(self, samplings=(), filters=(), rgb=False, bands=(), scans=False):
        self.samplings = frozenset(samplings)
        self.filters = frozenset(filters)
        self.rgb = rgb
        self.bands = frozenset(bands)
        self.scans = scans


@functools.cache
def proven():
    """Returns the Proven kinds. The first call finds them. They are none where the program has replaced functions before."""
    if not versions.are_unchanged():
        return Proven()
    found = answers.proven(_name, dict.fromkeys(_kinds()), lambda kind: _TESTS[kind[0]](kind[1]))

    def of(trait):
        return [value for each, value in found if each == trait]
    return Proven(of("samplings"), of("filters"), bool(of("rgb")), of("bands"), bool(of("scans")))


# ---- finding out ----

def samples():
    """Yields (sampling, is RGB, JPEG) of each image of one scan. A grey one becomes an RGB image."""
    for sampling, kind, jpeg in images.samples():
        if kind != images.PROGRESSIVE:
            yield sampling, kind == images.RGB, jpeg


def _plans(jpeg, size):
    """Yields the plans that are tried with each image, without resizes."""
    width, height = size
    source = Bytes(jpeg)
    regions = [(0, 0, width, height), (0, 0, 1, height), (width - 1, 0, width, height),
               (0, 0, 1, 1), (width // 3, height // 4, width - 2, height - 1),
               (1, 2, width // 2 + 1, height // 2)]
    for box in regions:
        left, top, right, bottom = (max(n, 0) for n in box)
        if right > left and bottom > top:
            for flip in range(4):
                yield Plan(source, (left, top, right, bottom), (right - left, bottom - top), 0, flip)
    for turn in TURNS.values():
        turned = Plan.whole(source, size).turned(turn)
        yield turned
        yield turned.cropped((0, turned.size[1] // 3, turned.size[0] // 2 + 1, turned.size[1]))


def _resizes(plan, filter):
    """Yields resizes of a plan, by Pillow's number of the filter."""
    filter = FILTERS[filter]
    width, height = plan.size
    for size in ((width * 2 + 1, height * 2 - 1 or 1), (width // 2 or 1, height), (width, 3),
                 (max(width - 1, 1), height // 3 or 1), (7, 5)):
        if size != plan.size:
            yield Plan(plan.source, plan.crop, size, filter, plan.flip)
    yield plan.turned(TURNS[4]).resized((width // 2 + 1, height + 3), filter)
    yield Plan(plan.source, plan.crop, (width + 9, height + 9), filter, 3,
               (1, 3, width + 5, height // 2 + 4))


def _is_same(plan):
    """Returns true if the pixels are those that Pillow stores, with the unused byte."""
    return _core.decode(plan.source.data, plan.request(4), None) == stored(reference(plan))


def _ordinary():
    """Yields (bands, image) of pixels that were never in a file."""
    for mode, bands in (("L", 1), ("RGB", 3), ("CMYK", 4)):
        for width, height in ((37, 53), (3, 330), (41, 1)):
            count = width * height * bands
            values = bytes(n * n * 7 + n // 5 & 255 for n in range(count))
            yield bands, Image.frombytes(mode, (width, height), values)


def _is_resized(image, filter):
    """Returns true if an ordinary image's resizes are the same: down, up, of a box, along one axis."""
    width, height = image.size
    for size, box in (((19, 7), (0, 0, width, height)), ((width, 31), (0, 0, width, height)),
                      ((50, height), (0, 0, width, height)),
                      ((30, 40), (width * 0.1, 0.3, width * 0.9, height * 0.7))):
        new = versions.resized_core(versions.core(image), image.mode, image.size, size, box,
                                    FILTERS[filter])
        expected = versions.core(versions.plainly("resize", image, size, filter, box))
        if new is None or stored(new) != stored(expected):
            return False
    return True


def stored(core):
    """Returns all bytes of a core image."""
    raw = "RGBX" if core.mode == "RGB" else core.mode
    encoder = Image.core.raw_encoder(core.mode, raw, 0, 1)
    encoder.setimage(core, (0, 0) + core.size)
    return encoder.encode(core.size[0] * core.size[1] * 4 + 65536)[2]


@functools.cache
def _is_decoded(jpeg):
    """Returns true if the image is the same by all plans without resizes."""
    return all(map(_is_same, _plans(jpeg, _core.examine(jpeg)[:2])))


@functools.cache
def _does_resize(filter):
    """Returns true if the filter's resizes of all images that are decoded are the same."""
    plans = (next(_plans(jpeg, _core.examine(jpeg)[:2])) for _, _, jpeg in samples() if _is_decoded(jpeg))
    return all(_is_same(resized) for plan in plans for resized in _resizes(plan, filter))


def _are_bands_resized(bands):
    filters = [filter for filter in FILTERS if _does_resize(filter)]
    return all(_is_resized(image, filter) for each, image in _ordinary() if each == bands for filter in filters)


def _kinds():
    """Yields (a trait of Proven, the value of a kind)."""
    for sampling, kind, _ in images.samples():
        yield {images.RGB: ("rgb", True), images.PROGRESSIVE: ("scans", True)}.get(kind, ("samplings", sampling))
    yield from (("filters", filter) for filter in FILTERS)
    yield from (("bands", bands) for bands, _ in _ordinary())


_TESTS = {
    "samplings": lambda value: all(_is_decoded(jpeg) for each, rgb, jpeg in samples() if each == value and not rgb),
    "rgb": lambda _: all(_is_decoded(jpeg) for _, rgb, jpeg in samples() if rgb),
    "scans": lambda _: all(_is_decoded(jpeg) for _, kind, jpeg in images.samples() if kind == images.PROGRESSIVE),
    "filters": _does_resize,
    "bands": _are_bands_resized,
}


def _name():
    jpeg = getattr(Image.core, "jpeglib_version", "")
    return answers.name_of("pillow", versions.PIL.__version__, [jpeg], [Image.core.__file__])
