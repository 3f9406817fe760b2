"""PNGs whose pixels are made by the decoder's code when Pillow loads them.

An image is taken only if nothing is special about its file, and if its mode was proven to be loaded as by Pillow
(png_check.py). All other images, and all errors, are Pillow's.
"""

import io

from PIL import Image, PngImagePlugin

from .. import _core
from .._store import sources
from . import png_check, png_decoder
from .png_decoder import PIXEL_BYTES

LEAST = 2048  # pixels. In smaller images the call costs more than it saves

_Png = PngImagePlugin.PngImageFile
# The functions that load() and the stand-in depend on, as they are when the first PNG is loaded.
_OWN = _Png, tuple(part for name in ("load", "load_prepare", "load_read", "load_end")
                   for part in (name, getattr(_Png, name)))
_REPLACED = frozenset(_OWN[1][::2]) | {"load_seek", "tile_prefix"}


def _is_plain(file):
    return type(file) is io.BytesIO or (type(file) is io.BufferedReader and sources.is_plain(file))


def _is_taken(image):
    """Returns true for a PNG that nothing is special about: eight bits a sample, one frame, not interlaced."""
    mode, size, tile = image.mode, image.size, image.tile
    return (type(image) is _Png and mode in PIXEL_BYTES and size[0] * size[1] >= LEAST
            and len(tile) == 1 and tile[0][:2] == ("zip", (0, 0) + size) and tile[0][3] == mode
            and not image.decoderconfig and not image.info.get("interlace") and image.n_frames == 1
            and not image.is_animated and "zip" not in Image.DECODERS and _is_plain(image.fp)
            and _REPLACED.isdisjoint(image.__dict__) and _core.are_as_seen(_OWN)
            and png_decoder.is_installed())


def loaded(image):
    """Returns the result of load(), or None if Pillow is to load the image."""
    if not _is_taken(image) or image.mode not in png_check.proven():
        return None
    access = png_decoder.load(image)
    if access is not None:
        _core.count(_core.PNGS)
    return access
