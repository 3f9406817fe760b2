"""Compares the decoder with the installed Pillow, once, at the first JPEG.

Small images of every kind that is taken (_proof/images.py) are decoded, cropped and resized by both. A kind that differs in
a single byte is left to Pillow from then on. The result is kept (_proof/answers.py).
"""

from PIL import Image

from .. import _core
from .._proof import answers, images
from .._store.sources import Bytes
from . import versions
from .plan import FILTERS, TURNS, Plan, reference

_proven = None


class Proven:
    """The kinds that give the same bytes: samplings ((h, v) of each component), filters (Pillow's numbers), RGB files,
    the bands (1, 3, 4) of ordinary images that are resized, and files of several scans."""

    def __init__(self, samplings=(), filters=(), rgb=False, bands=(), scans=False):
        self.samplings = frozenset(samplings)
        self.filters = frozenset(filters)
        self.rgb = rgb
        self.bands = frozenset(bands)
        self.scans = scans

    def text(self):
        samplings = ";".join(",".join(f"{h}x{v}" for h, v in each)
                             for each in sorted(self.samplings))
        filters = ",".join(str(each) for each in sorted(self.filters))
        bands = ",".join(str(each) for each in sorted(self.bands))
        return f"{samplings}\n{filters}\n{int(self.rgb)}\n{bands}\n{int(self.scans)}\n"

    @classmethod
    def from_text(cls, text):
        samplings, filters, rgb, bands, scans = text.split("\n")[:5]
        return cls([tuple(tuple(int(n) for n in pair.split("x")) for pair in each.split(","))
                    for each in samplings.split(";") if each],
                   [int(n) for n in filters.split(",") if n], rgb == "1",
                   [int(n) for n in bands.split(",") if n], scans == "1")


def proven():
    """Returns the Proven kinds. The first call finds them."""
    global _proven
    if _proven is None:
        _proven = _remembered() or _find_out()
    return _proven


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
    try:
        expected = reference(plan)
        return _core.decode(plan.source.data, plan.request(4), None) == stored(expected)
    except Exception:
        return False


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


def _proven_bands(filters):
    found = {1, 3, 4}
    for bands, image in _ordinary():
        try:
            if not all(_is_resized(image, filter) for filter in filters):
                found.discard(bands)
        except Exception:
            found.discard(bands)
    return found


def _are_scans_same():
    """Returns true if progressive JPEGs are decoded as Pillow decodes them."""
    jpegs = [jpeg for _, kind, jpeg in images.samples() if kind == images.PROGRESSIVE]
    return all(all(map(_is_same, _plans(jpeg, _core.examine(jpeg)[:2]))) for jpeg in jpegs)


def _find_out():
    same = {}
    rgb = False
    filters = set(FILTERS)
    for sampling, is_rgb, jpeg in samples():
        size = _core.examine(jpeg)[:2]
        plans = list(_plans(jpeg, size))
        good = all(map(_is_same, plans))
        if is_rgb:
            rgb = good
        else:
            same[sampling] = same.get(sampling, True) and good
        if good:
            filters -= {filter for filter in filters
                        if not all(map(_is_same, _resizes(plans[0], filter)))}
    found = Proven([sampling for sampling, good in same.items() if good], filters, rgb,
                   _proven_bands(filters), _are_scans_same())
    _remember(found)
    return found


# ---- remembering ----

def _name():
    jpeg = getattr(Image.core, "jpeglib_version", "")
    return answers.name_of("pillow", versions.PIL.__version__, [jpeg], [Image.core.__file__])


def _remembered():
    try:
        return answers.remembered(_name(), Proven.from_text)
    except Exception:
        return None


def _remember(found):
    answers.remember(_name(), found.text())
