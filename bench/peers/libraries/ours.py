"""Stoker's own calls: stoker.decode, and stoker.transforms for what has a pipeline."""

import stoker
from stoker import transforms
from torchvision import transforms as T

from . import MEAN, STD, Torch


class Library(Torch):
    version = "with " + stoker._core.simd()

    def __init__(self, photos):
        self.center_transform = transforms.Compose([
            T.Resize(256), T.CenterCrop(224), T.PILToTensor()])
        self.pipeline = transforms.RandomResizedCropFlip(224)

    def decode(self, photo):
        return stoker.decode(photo.data)

    def crop(self, photo):
        return stoker.decode(photo.data, box=photo.crop, size=(224, 224))

    def center(self, photo):
        return self.center_transform(photo.data).permute(1, 2, 0)

    def transforms(self, photo):
        return self.pipeline(photo.path)

    def tensor(self, photo):
        return stoker.decode(photo.path, box=photo.crop, size=(224, 224),
                             flip="h" if photo.flip else None, layout="CHW", dtype="float32",
                             mean=MEAN, std=STD)
