"""Pillow, or Pillow-SIMD, whichever this Python has."""

import io

import PIL
from PIL import Image

from . import OneByOne

BILINEAR = getattr(Image, "Resampling", Image).BILINEAR


class Library(OneByOne):
    version = PIL.__version__

    def __init__(self, photos):
        pass

    def decode(self, photo):
        return Image.open(io.BytesIO(photo.data)).convert("RGB")

    def crop(self, photo):
        return self.decode(photo).crop(photo.crop).resize((224, 224), BILINEAR)

    def center(self, photo):
        return self.decode(photo).resize(photo.resized, BILINEAR).crop(photo.window)
