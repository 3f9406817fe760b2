"""Decoding and resizing by cv2. Its linear resize does not antialias, its area does. Blue comes first, as in cv2."""

import cv2
import numpy

from . import OneByOne


class Library(OneByOne):
    version = cv2.__version__

    def __init__(self, photos):
        cv2.setNumThreads(0)

    def decode(self, photo):
        return cv2.imdecode(numpy.frombuffer(photo.data, numpy.uint8), cv2.IMREAD_COLOR)

    def _crop(self, photo, filter):
        left, top, right, bottom = photo.crop
        return cv2.resize(self.decode(photo)[top:bottom, left:right], (224, 224),
                          interpolation=filter)

    def _center(self, photo, filter):
        left, top, right, bottom = photo.window
        image = cv2.resize(self.decode(photo), photo.resized, interpolation=filter)
        return image[top:bottom, left:right]

    def crop(self, photo):
        return self._crop(photo, cv2.INTER_LINEAR)

    def crop_area(self, photo):
        return self._crop(photo, cv2.INTER_AREA)

    def center(self, photo):
        return self._center(photo, cv2.INTER_LINEAR)

    def center_area(self, photo):
        return self._center(photo, cv2.INTER_AREA)
