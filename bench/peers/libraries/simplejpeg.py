"""simplejpeg, which only decodes."""

from importlib.metadata import version

import simplejpeg

from . import OneByOne


class Library(OneByOne):
    version = version("simplejpeg")

    def __init__(self, photos):
        pass

    def decode(self, photo):
        return simplejpeg.decode_jpeg(photo.data, colorspace="RGB")
