"""A stand-in for Pillow's decoder of a PNG's image data, by the decoder's code.

Pillow's own load() runs, and gets the stand-in where it asks for its decoder. The stand-in fills the core image at
once. It leaves the image and its file as after the last byte of image data. If the stand-in cannot do
it, Pillow's load() runs a second time, with its own decoder. png.py says which images it is for.
"""

import functools
import threading

from PIL import Image

from .. import _core
from .._base.own import attempt_beside
from . import versions

LEFT = "_PngImageFile__idat"  # the attribute with the bytes that are left of a chunk of image data
_BETWEEN = 12  # bytes of a check sum, and of the next chunk's length and type
PIXEL_BYTES = {"L": 1, "P": 1, "RGB": 3, "RGBA": 4}  # of a file, by mode


class _Left(Exception):
    """Pillow is to load the image."""


class _Thread(threading.local):
    waiting = None  # the stand-in for the decoder that Pillow asks for next


_thread = _Thread()


class _Decoder:
    """The stand-in, with the methods of Pillow's decoders."""

    pulls_fd = True

    def __init__(self, image):
        self._image = image
        self._core = None

    def setimage(self, core, extents):
        self._core = core

    def setfd(self, file):
        pass

    def decode(self, data):
        if not attempt_beside(fill, self._core, self._image):
            raise _Left
        return -1, 0

    def cleanup(self):
        self._core = self._image = None


def fill(core, image):
    """Fills the core image of an image whose file stands at the image data. Returns false if Pillow is to do it."""
    file, own = image.fp, image.__dict__
    data, end = _image_data(file, own[LEFT])
    if data is None or not _core.png(core, PIXEL_BYTES[image.mode], image.size, data):
        return False
    file.seek(end)
    own[LEFT] = 0
    return True


def _image_data(file, length):
    """Returns (the data of the chunks of image data, the offset behind them); (None, None) if a chunk is cut short. The
    first chunk has so many bytes."""
    parts = []
    while True:
        parts.append(file.read(length))
        if len(parts[-1]) != length:
            return None, None
        end, header = file.tell(), file.read(_BETWEEN)
        if len(header) < _BETWEEN or header[8:] != b"IDAT":
            return b"".join(parts), end
        length = int.from_bytes(header[4:8], "big")


def load(image):
    """Loads an image that may be taken. Returns None if Pillow is to do it, from the beginning."""
    _thread.waiting = _Decoder(image)
    try:
        return versions.plain_load(image)
    except _Left:  # the core image stays, and may have rows of pixels: Pillow's, up to a filter that does not exist
        return None
    finally:
        _thread.waiting = None


def _decoder_of(plain):
    def choose(mode, decoder_name, *arguments, **named):
        waiting = _thread.waiting
        if waiting is not None and decoder_name == "zip":
            _thread.waiting = None
            return waiting
        return plain(mode, decoder_name, *arguments, **named)
    return choose


_choice = None  # Image._getdecoder in its place


def is_installed():
    """Returns true if Pillow asks for its decoder here, and no function of the program's is in between."""
    return _choice is not None and Image._getdecoder is _choice


def install():
    """Puts the stand-in's choice in the place of Pillow's; once."""
    global _choice
    plain = Image._getdecoder
    code = getattr(plain, "__code__", None)
    if code is not None and code.co_filename == Image.__file__:  # none of the program's
        _choice = Image._getdecoder = functools.wraps(plain)(_decoder_of(plain))
