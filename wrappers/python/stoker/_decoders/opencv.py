"""cv2.imread and cv2.imdecode of JPEGs and PNGs."""

import os
import sys

import numpy

from .._base.own import tried
from .._store import sources
from .library import BGR, GREY, RGB, Library, Way
from .replaced import Builtin, request

# By the flags: UNCHANGED, GRAYSCALE, COLOR, ANYDEPTH | COLOR, ANYCOLOR, ANYDEPTH | ANYCOLOR; with IGNORE_ORIENTATION (128).
# COLOR_RGB (256) means something else in older versions, which the self-test finds.
_WAYS = {-1: Way(BGR, GREY, False), 0: Way(GREY, GREY, True), 1: Way(BGR, BGR, True), 3: Way(BGR, BGR, True),
         4: Way(BGR, GREY, True), 6: Way(BGR, GREY, True), 128: Way(GREY, GREY, False), 129: Way(BGR, BGR, False),
         131: Way(BGR, BGR, False), 132: Way(BGR, GREY, False), 134: Way(BGR, GREY, False), 256: Way(RGB, RGB, True),
         384: Way(RGB, RGB, False)}
# REDUCED_GRAYSCALE and REDUCED_COLOR by 2, 4 and 8; with IGNORE_ORIENTATION.
_WAYS.update((bit | colour | ignored, Way(pixels, pixels, not ignored, scale=scale))
             for bit, scale in ((16, 2), (32, 4), (64, 8)) for colour, pixels in enumerate((GREY, BGR)) for ignored in (0, 128))
_LIMITS = "OPENCV_IO_MAX_IMAGE_"
_plain = {}  # OpenCV's own functions
_library = None


class _OpenCV(Library):
    name = "opencv"

    def __init__(self, module):
        super().__init__()
        self._about = module.__version__, [module.__file__]
        self.ways = {str(flags): way for flags, way in _WAYS.items()}
        self._flip, self._transpose = module.flip, module.transpose

    def about(self):
        return self._about

    def own(self, jpeg, way):
        return _plain["imdecode"](numpy.frombuffer(jpeg, numpy.uint8), int(way))

    def empty(self, shape):
        image = numpy.empty(shape if shape[2] > 1 else shape[:2], numpy.uint8)
        return image, image

    def turned(self, image, orientation):
        if orientation > 4:
            image = self._transpose(image)
        code = {2: 1, 3: -1, 4: 0, 6: 1, 7: -1, 8: 0}.get(orientation)
        return image if code is None else self._flip(image, code)

    def seen(self, image):
        return image.shape, image.strides, image.dtype, image.flags.owndata, image.flags.writeable, image.tobytes()


def _imread(*arguments, **named):
    """Returns the image, or None if OpenCV is to read it."""
    asked = request("filename", 1, arguments, named)
    if asked is None or type(asked[0]) is not str or type(asked[1]) is not int:
        return None
    name, way = asked[0], str(asked[1])
    if not _library.takes(way) or not _is_bytes_of(name):
        return None
    source = sources.image_of_path(name)
    return None if source is None else _library.decoded(source, way)


def _imdecode(*arguments, **named):
    """Returns the image, or None if OpenCV is to decode it."""
    asked = request("buf", None, arguments, named)
    if asked is None or type(asked[1]) is not int or not _library.takes(str(asked[1])):
        return None
    buffer = asked[0]
    if type(buffer) is not numpy.ndarray or buffer.dtype != numpy.uint8 or not _is_row(buffer):
        return None
    source = sources.image_of_memory(memoryview(buffer.reshape(-1)))
    return None if source is None else _library.decoded(source, str(asked[1]))


def _is_bytes_of(name):
    """Returns true if the kernel gets the same name from OpenCV, which encodes it as UTF-8."""
    return name.isascii() or os.fsencode(name) == name.encode()


def _is_row(buffer):
    """Returns true for bytes that lie one behind the other."""
    return buffer.flags.c_contiguous and buffer.ndim in (1, 2) and 0 < buffer.size == max(buffer.shape)


def install():
    """Puts the functions in place, once cv2 has been imported. In the pip package two modules are called cv2: the
    outer one imports the inner one and takes over its names, so this may be called twice."""
    global _library
    module = sys.modules["cv2"]
    if any(name.startswith(_LIMITS) for name in os.environ) or type(module.imread) is Builtin:
        return
    if type(module.imread) is not type(len):  # the program's own
        return
    _plain.update(imread=module.imread, imdecode=module.imdecode)
    _library = _OpenCV(module)
    module.imread = Builtin(module.imread, tried(_imread, module.imread))
    module.imdecode = Builtin(module.imdecode, tried(_imdecode, module.imdecode))
