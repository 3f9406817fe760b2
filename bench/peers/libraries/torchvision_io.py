"""torchvision's own decoder, and its transforms of tensors."""

import torch
import torchvision
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from . import MEAN, STD, Torch


class Library(Torch):
    version = torchvision.__version__.partition("+")[0]

    def __init__(self, photos):
        self.bytes = {photo.path: torch.frombuffer(bytearray(photo.data), dtype=torch.uint8)
                      for group in photos.values() for photo in group}
        self.transform = v2.Compose([
            v2.RandomResizedCrop(224, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD)])

    def _decoded(self, photo):
        return decode_jpeg(self.bytes[photo.path], mode=ImageReadMode.RGB)

    def decode(self, photo):
        return self._decoded(photo).permute(1, 2, 0)

    def crop(self, photo):
        left, top, right, bottom = photo.crop
        return F.resized_crop(self._decoded(photo), top, left, bottom - top, right - left,
                              [224, 224], antialias=True)

    def center(self, photo):
        width, height = photo.resized
        return F.center_crop(F.resize(self._decoded(photo), [height, width], antialias=True), [224])

    def tensor(self, photo):
        return self.transform(decode_jpeg(read_file(photo.path), mode=ImageReadMode.RGB))
