"""A stand-in for Pillow's decoder of a PNG's image data, by the decoder's code.

Pillow's own load() runs, and gets the stand-in where it asks for its decoder. The stand-in fills the core image from the
rest of the file at once. It leaves the image and its file as after the last byte of image data. If the stand-in cannot do
it, Pillow's load() runs a second time, with its own decoder. png.py says which images it is for.
"""

import functools
import io
import threading

from PIL import Image

from .. import _core
from . import versions

LEFT = "_PngImageFile__idat"  # the attribute with the bytes that are left of a chunk of image data
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
        try:
            done = fill(self._core, self._image)
        except Exception:  # Pillow meets it once more, and says it
            done = False
        if not done:
            raise _Left
        return -1, 0

    def cleanup(self):
        self._core = self._image = None


def fill(core, image):
    """Fills the core image of an image whose file stands at the image data. Returns false if Pillow is to do it."""
    file, own = image.fp, image.__dict__
    start = file.tell()
    with _rest(file, start) as data:
        end = _core.png(core, PIXEL_BYTES[image.mode], image.size, data, own[LEFT])
    if end is None:
        return False
    file.seek(start + end)
    own[LEFT] = 0
    return True


def _rest(file, start):
    """Returns the file's bytes from the start on, as a memory view."""
    if type(file) is io.BytesIO:
        return file.getbuffer()[start:]
    return memoryview(file.read())


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


def install():
    """Puts the stand-in's choice in the place of Pillow's; once."""
    plain = Image._getdecoder
    Image._getdecoder = functools.wraps(plain)(_decoder_of(plain))
