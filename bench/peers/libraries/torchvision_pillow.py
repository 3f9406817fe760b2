"""torchvision's pipelines as most scripts have them: Pillow's images, from files."""

import torch
import torchvision
from torchvision import transforms
from torchvision.datasets.folder import default_loader

from . import MEAN, STD, Torch

try:
    from torchvision.transforms import v2
except ImportError:
    v2 = None


class Library(Torch):
    version = torchvision.__version__.partition("+")[0]

    def __init__(self, photos):
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD)])
        self.transform2 = v2 and v2.Compose([
            v2.RandomResizedCrop(224),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD)])

    def v1(self, photo):
        return self.transform(default_loader(photo.path))

    def v2(self, photo):
        return self.transform2(default_loader(photo.path))
