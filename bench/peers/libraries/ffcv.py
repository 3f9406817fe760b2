"""FFCV in its JPEG mode: from a file of its own that holds the photographs' own bytes."""

import os
import tempfile
from importlib.metadata import version

import numpy
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.rgb_image import (
    IMAGE_MODES, CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder, SimpleRGBImageDecoder)
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter

from . import MEAN, STD

RATIO = 224 / 256


class Bytes(RGBImageField):
    """Stores a JPEG as it is; FFCV itself would encode it once more."""

    def encode(self, destination, photo, malloc):
        destination["mode"] = IMAGE_MODES["jpg"]
        destination["width"], destination["height"] = photo.size
        destination["data_ptr"], storage = malloc(len(photo.data))
        storage[:] = numpy.frombuffer(photo.data, numpy.uint8)


class Samples:
    def __init__(self, photos):
        self.photos = photos

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, index):
        return self.photos[index], 0


def write(path, photos):
    fields = {"image": Bytes(write_mode="jpg"), "label": IntField()}
    DatasetWriter(path, fields, num_workers=1).from_indexed_dataset(Samples(photos))


def steps_of(job):
    if job == "decode":
        return [SimpleRGBImageDecoder()]
    if job == "crop":
        return [RandomResizedCropRGBImageDecoder((224, 224))]
    if job == "center":
        return [CenterCropRGBImageDecoder((224, 224), RATIO)]
    mean, std = (255 * numpy.array(each) for each in (MEAN, STD))
    return [RandomResizedCropRGBImageDecoder((224, 224)), RandomHorizontalFlip(),
            NormalizeImage(mean, std, numpy.float32), ToTensor(), ToTorchImage()]


class Library:
    version = version("ffcv")

    def __init__(self, photos):
        self.directory = tempfile.TemporaryDirectory()
        self.loaders = {}

    def begin(self):
        pass

    def _loader(self, job, photos):
        key = job, photos[0].path
        if key not in self.loaders:
            path = os.path.join(self.directory.name, "%d.beton" % len(self.loaders))
            write(path, photos)
            self.loaders[key] = Loader(
                path, batch_size=len(photos), num_workers=1, order=OrderOption.SEQUENTIAL,
                os_cache=True, custom_fields={"image": Bytes},
                pipelines={"image": steps_of(job), "label": None})
        return self.loaders[key]

    def run(self, job, photos):
        return [image for batch in self._loader(job, photos) for image in batch[0]]
