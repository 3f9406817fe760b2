"""A library that decodes JPEGs and PNGs: its ways to do it, and the ways and kinds in which the decoder here does the
same.

All libraries have libjpeg-turbo and libpng inside, so most pixels are equal. Which ones are is found out once, as for Pillow
(_pillow/check.py): small images of each kind are decoded in each way by both. A kind that differs is left to
the library.
"""

import functools

from .. import _core
from .._base import header
from .._proof import answers, images, random_pngs
from .._store import sources
from . import pngs

# The pixels that come out: (channels, layout), as a plan has them. A grey JPEG may have all three.
GREY, RGB, BGR, RGBA = (1, 0), (3, 0), (3, 2), (4, 0)

_RGB = 2  # enum stk_color
_BYTES = 8
_TURNED, _PROGRESSIVE = "turned", "progressive"
_SIZES = (1, 1), (1, 7), (7, 1), (19, 23)
_PNGS = {1: "png-grey", 3: "png-rgb", 4: "png-rgba"}  # the kinds of PNGs, by bytes a pixel


class Way:
    """One way to decode: the pixels of a colour image, those of a grey one, if its orientation is heeded, and the pixels
    of a PNG with alpha. libjpeg makes a JPEG `scale` times smaller."""

    __slots__ = ("colour", "grey", "turns", "alpha", "scale")

    def __init__(self, colour, grey, turns, alpha=None, scale=1):
        self.colour, self.grey, self.turns, self.alpha, self.scale = colour, grey, turns, alpha or colour, scale

    def of_bands(self, bands):
        """Returns the pixels of a PNG with so many bytes a pixel."""
        return {1: self.grey, 3: self.colour, 4: self.alpha}[bands]


class Found:
    """The pixels of a JPEG that are to be made: the decoder's plan, the shape of rows, the orientation."""

    __slots__ = ("request", "shape", "turn")

    def __init__(self, size, pixels, turn, scale):
        width, height = size if scale == 1 else [-(-side // scale) for side in size]
        channels, layout = pixels
        self.request = ((0, 0, width, height), (width, height), 0, 0, None, 0), 0, (channels, layout, 0, None)
        if scale > 1:
            self.request += scale,
        self.shape = height, width, channels
        self.turn = turn


class _Sample(sources.Bytes):
    """An image of the self-test. No form of it is kept."""

    def decode(self, request, out):
        return _core.decode(self.data, request, out)


class Library:
    """The parts that differ: a library's module derives from this class.

    ways      {name: Way}
    about()   about() returns (the library's version, its files), which its pixels may depend on
    own()     own(image, name) returns the library's own result
    empty()   empty(shape) returns the result with any pixels, and its memory
    turned()  turned(result, orientation) returns the result in this orientation, 2 to 8
    seen()    seen(result) returns all that a program can see of a result
    """

    name, ways = "", {}

    def __init__(self):
        self._proven = None

    def decoded(self, source, way):
        """Returns an image's pixels, or None if the library is to decode it."""
        if source.is_png():
            return self._decoded_png(source.data, self.ways[way], self.proven()[way])
        found = self._found(source, self.ways[way], self.proven()[way])
        result = None if found is None else self._made(source, found)
        if result is not None:
            _core.count(_core.IMAGES)
        return result

    def takes(self, way):
        """Returns true if there is anything that this way decodes here."""
        return bool(self.ways.get(way) and self.proven()[way])

    def proven(self):
        """Returns {way: the kinds that give the same}. The first call finds them."""
        if self._proven is None:
            found = answers.proven(self._name, dict.fromkeys(self._kinds()), self._are_same)
            self._proven = {way: frozenset(kind for each, kind in found if each == way) for way in self.ways}
        return self._proven

    def _found(self, source, way, kinds):
        info = source.examine()
        kind = None if info is None else _kind_of(info, source.head)
        if kind not in kinds or (info[5] and _PROGRESSIVE not in kinds):
            return None
        turn = header.orientation(source.head) if way.turns else 1
        if turn is None or (turn > 1 and _TURNED not in kinds):
            return None
        return Found(info[:2], way.grey if info[2] == 1 else way.colour, turn, way.scale)

    def _made(self, source, found):
        result, memory = self.empty(found.shape)  # the library's own says a lack of memory in its way
        if type(source.decode(found.request, memory)) is int:
            return None
        return result if found.turn == 1 else self.turned(result, found.turn)

    def _decoded_png(self, data, way, kinds):
        png = None if kinds.isdisjoint(_PNGS.values()) else pngs.parsed(data)
        if png is None or _PNGS[png.bands] not in kinds:
            return None
        result = self._made_png(png, way)
        if result is not None:
            _core.count(_core.PNGS)
        return result

    def _made_png(self, png, way):
        pixels = way.of_bands(png.bands)
        result, memory = self.empty((*png.size[::-1], pixels[0]))
        return result if _core.png_pixels(png.data, png.size, png.bands, pixels, memory) else None

    # ---- the self-test ----

    def _kinds(self):
        """Yields (way, the name of a kind)."""
        return ((way, kind) for way in self.ways for kind, _ in _images(self.ways[way]))

    def _are_same(self, kind):
        """Returns true if all test images of a kind equal the library's own."""
        way, name = kind
        return all(self._is_same(image, way) for each, image in _images(self.ways[way]) if each == name)

    def _is_same(self, image, way):
        ours, theirs = self._of_sample(_Sample(image), self.ways[way]), self.own(image, way)
        return ours is not None and theirs is not None and self.seen(ours) == self.seen(theirs)

    def _of_sample(self, sample, way):
        if sample.is_png():
            return self._made_png(pngs.parsed(sample.data), way)
        everything = frozenset((_PROGRESSIVE, _TURNED, *map(_name_of, _samplings())))
        return self._made(sample, self._found(sample, way, everything))

    def _name(self):
        version, files = self.about()
        return answers.name_of(self.name, version, [], files)


def _kind_of(info, head):
    """Returns the name of a JPEG's kind, or None if no kind like it is decoded here."""
    width, height, _, color, precision, _, arithmetic, _, end, _ = info
    if precision != _BYTES or arithmetic or not end or not header.is_likely(width, height, end):
        return None
    factors = _core.sampling(head)
    return None if factors is None else _name_of((factors, color == _RGB))


@functools.lru_cache(64)
def _name_of(kind):
    """Returns the name of (a sampling, true for RGB)."""
    factors, is_rgb = kind
    return ",".join(f"{h}x{v}" for h, v in factors) + ("-rgb" if is_rgb else "")


def _samplings():
    return {(sampling, kind == images.RGB) for sampling, kind, _ in images.samples()}


def _images(way):
    """Yields (the name of a kind, a JPEG or PNG)."""
    turned = None
    for sampling, kind, jpeg in images.samples():
        turned = turned or jpeg
        yield _PROGRESSIVE if kind == images.PROGRESSIVE else _name_of((sampling, kind == images.RGB)), jpeg
    for orientation in range(1, 9) if way.turns else ():
        for order in "<>":
            yield _TURNED, images.with_orientation(turned, orientation, order)
    for (bands, kind), mode in zip(_PNGS.items(), ("L", "RGB", "RGBA")):
        for size in _SIZES if way.scale == 1 and way.of_bands(bands)[0] in (3, bands) else ():
            yield kind, random_pngs.png(mode, size, 31, ((b"gAMA", b"\0\0\xb1\x8f"),))
