#!/usr/bin/env python3
"""The loading sides of recipes as their projects write them, one epoch after the other, without workers.

    recipes_script.py DIRECTORY EPOCHS [RECIPE...]

Prints the processor time of each epoch: nanoseconds a sample, and the recipe. It knows nothing of Stoker.
"""

import glob
import io
import os
import random
import sys
import time

import numpy
import torch
from PIL import Image, ImageFilter
from torchvision import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZE = 224
BATCH = 64  # of CIFAR
# The folders of the copies: with EXIF's orientation 6 alone, and among all that a telephone writes, as PNGs, progressive, grey, as MPOs, and masks of segments as PNGs.
TURNED, CAMERA, PNG, PROGRESSIVE, GREY, MPO, MASKS = FOLDERS = (
    "turned", "camera", "png", "progressive", "grey", "mpo", "masks")


def beside(path, folder):
    return os.path.join(os.path.dirname(path), folder, os.path.basename(path))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def usual():
    return T.Compose([T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])


# ---- Pillow ----

def imagefolder():
    from torchvision.datasets.folder import pil_loader
    transform = usual()
    return lambda path: transform(pil_loader(path))


def webdataset_pil():
    """Its "pil" decoder, of bytes out of an archive."""
    transform = usual()

    def sample(path):
        with io.BytesIO(read(path)) as stream:
            image = Image.open(stream)
            image.load()
            image = image.convert("RGB")
        return transform(image)
    return sample


def hf_parquet():
    """The image feature of a table of bytes, then torchvision."""
    transform = usual()

    def sample(path):
        image = Image.open(io.BytesIO(read(path)))
        image.load()
        if image.getexif().get(0x0112) is not None:
            raise ValueError("the photographs have no orientation")
        return transform(image.convert("RGB"))
    return sample


def pair_v2():
    """v2's transforms of an image and its label."""
    from torchvision.transforms import v2
    transform = v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip(), v2.ToImage(),
                            v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
    return lambda path: transform(Image.open(path).convert("RGB"), 3)


def usual_v2():
    from torchvision.transforms import v2
    return [v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD)]


def documented_v2():
    """As torchvision's pages have it: the tensor first."""
    from torchvision.transforms import v2
    transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.uint8, scale=True), *usual_v2()])
    return lambda path: transform(Image.open(path).convert("RGB"))


def detection():
    """An image and its boxes, as torchvision's reference has them."""
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    transform = v2.Compose([v2.Resize((320, 320)), v2.RandomHorizontalFlip(), v2.ToImage(),
                            v2.ToDtype(torch.float32, scale=True), v2.ConvertBoundingBoxFormat("xyxy"),
                            v2.SanitizeBoundingBoxes(), v2.ToPureTensor()])

    def sample(path):
        image = Image.open(path).convert("RGB")
        boxes = tv_tensors.BoundingBoxes([[10, 10, 50, 60], [30, 20, 100, 90]], format="xywh", canvas_size=image.size[::-1])
        return transform(image, {"boxes": boxes, "labels": torch.tensor([1, 2])})
    return sample


def augmented(kind):
    """The usual transforms, and one of torchvision's automatic augmentations."""
    first, flip, *rest = usual().transforms
    transform = T.Compose([first, flip, kind(), *rest])
    return lambda path: transform(Image.open(path).convert("RGB"))


def timm(**options):
    """timm's transforms for training, as its own function makes them. (With mstd0.5 it asks Pillow for a posterize of no
    bits from time to time, which Pillow 13 refuses.)"""
    from timm.data import create_transform
    transform = create_transform(SIZE, is_training=True, **options)
    return lambda path: transform(Image.open(path).convert("RGB"))


def cifar():
    """CIFAR-10 as torchvision's data set hands it out: an array of 32 x 32, and an image of each row. One sample are as
    many images as a batch has."""
    from torchvision.datasets import CIFAR10
    data = CIFAR10.__new__(CIFAR10)
    data.data, data.targets = numpy.random.default_rng(1).integers(0, 256, (BATCH, 32, 32, 3), numpy.uint8), [3] * BATCH
    data.transform = T.Compose([T.RandomCrop(32, padding=4), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])
    data.target_transform = None
    return lambda path: [data[index] for index in range(BATCH)]


class Blur:
    """Pillow's GaussianBlur of a random deviation, as MoCo v3 and DINO have it."""

    def __call__(self, image):
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2.0)))


def view(size, scale, blur):
    """Returns the colours of self-supervised recipes for a crop of this size."""
    jitter = T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8)
    return T.Compose([T.RandomResizedCrop(size, scale), jitter, T.RandomGrayscale(0.2), T.RandomApply([Blur()], p=blur),
                      T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])


def processed(name):
    """An image processor of transformers, as its pages have it."""
    import transformers
    processor = getattr(transformers, name)()
    return lambda path: processor(Image.open(path).convert("RGB"), return_tensors="pt")["pixel_values"]


def views(*kinds):
    def sample(path):
        image = Image.open(path).convert("RGB")
        return [kind(image) for kind in kinds]
    return sample


def moco():
    return views(view(SIZE, (0.08, 1.0), 1.0), view(SIZE, (0.08, 1.0), 0.1))


def dino():
    return views(view(SIZE, (0.4, 1.0), 1.0), view(SIZE, (0.4, 1.0), 0.1), *[view(96, (0.05, 0.4), 0.5)] * 8)


def of_copies(folder):
    """Copies of the photographs in another format."""
    transform = usual()
    return lambda path: transform(Image.open(beside(path, folder)).convert("RGB"))


def one_by_one():
    """The usual transforms as functions that a data set calls itself."""
    from torchvision.transforms import functional as F

    def sample(path):
        image = Image.open(path).convert("RGB")
        image = F.resized_crop(image, *T.RandomResizedCrop.get_params(image, (0.08, 1.0), (3 / 4, 4 / 3)), (SIZE, SIZE))
        if random.random() < 0.5:
            image = F.hflip(image)
        return F.normalize(F.to_tensor(image), MEAN, STD)
    return sample


def sequential():
    from torchvision.transforms import v2
    transform = torch.nn.Sequential(v2.ToImage(), *usual_v2())
    return lambda path: transform(Image.open(path).convert("RGB"))


def sequential_of_tensor():
    """Transforms of tensors behind one that makes the tensor, as torchvision's pages have them for scripting."""
    transform = torch.nn.Sequential(T.RandomResizedCrop(SIZE, antialias=True), T.RandomHorizontalFlip(),
                                    T.ConvertImageDtype(torch.float32), T.Normalize(MEAN, STD))
    first = T.PILToTensor()
    return lambda path: transform(first(Image.open(path).convert("RGB")))


def segmentation():
    """An image and its mask, as torchvision's reference has them."""
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as F

    def sample(path):
        image, mask = Image.open(path).convert("RGB"), Image.open(beside(path, MASKS))
        edge = random.randint(260, 1040)
        image, mask = F.resize(image, edge, antialias=True), F.resize(mask, edge, interpolation=InterpolationMode.NEAREST)
        if random.random() < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        least = min(image.size)
        if least < 480:
            wide, high = (max(480 - each, 0) for each in image.size)
            image, mask = F.pad(image, (0, 0, wide, high), fill=0), F.pad(mask, (0, 0, wide, high), fill=255)
        region = T.RandomCrop.get_params(image, (480, 480))
        image, mask = F.crop(image, *region), F.crop(mask, *region)
        image, mask = F.pil_to_tensor(image), torch.as_tensor(numpy.array(mask), dtype=torch.int64)
        return F.normalize(F.convert_image_dtype(image, torch.float), MEAN, STD), mask
    return sample


def turned(folder):
    """Photographs that lie on their side, as their EXIF says."""
    from PIL import ImageOps
    transform = usual()

    def sample(path):
        with Image.open(beside(path, folder)) as image:
            return transform(ImageOps.exif_transpose(image).convert("RGB"))
    return sample


def array_of_pillow():
    return lambda path: numpy.array(Image.open(path).convert("RGB"))


# ---- other decoders ----

def cv2_imread():
    import cv2
    return lambda path: cv2.imread(path)


def cv2_reduced():
    import cv2
    return lambda path: cv2.imread(path, cv2.IMREAD_REDUCED_COLOR_2)


def cv2_usual():
    """Reading, colours, RandomResizedCrop's region and resize, and floats, as albumentations does them."""
    import cv2
    cv2.setNumThreads(0)
    region = T.RandomResizedCrop(SIZE)

    def sample(path):
        image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
        blank = torch.empty(3, *image.shape[:2])
        top, left, height, width = region.get_params(blank, region.scale, region.ratio)
        image = cv2.resize(image[top:top + height, left:left + width], (SIZE, SIZE))
        return numpy.ascontiguousarray(image[:, ::-1].transpose(2, 0, 1), numpy.float32) / 255
    return sample


def yolo_val():
    """Reading and letterbox, as ultralytics validates."""
    import cv2
    cv2.setNumThreads(0)

    def sample(path):
        image = cv2.imread(path)
        scale = 640 / max(image.shape[:2])
        wide, high = (min(round(each * scale), 640) for each in image.shape[1::-1])
        image = cv2.resize(image, (wide, high), interpolation=cv2.INTER_LINEAR)
        top, left = (640 - high) // 2, (640 - wide) // 2
        image = cv2.copyMakeBorder(image, top, 640 - high - top, left, 640 - wide - left, cv2.BORDER_CONSTANT,
                                   value=(114, 114, 114))
        return torch.from_numpy(numpy.ascontiguousarray(image.transpose(2, 0, 1)[::-1]))
    return sample


def cv2_png():
    import cv2
    return lambda path: cv2.imread(beside(path, PNG))


def io_png():
    from torchvision.io import read_image
    return lambda path: read_image(beside(path, PNG))


def by_imageio():
    import imageio.v3
    return lambda path: imageio.v3.imread(path)


def by_skimage():
    from skimage.io import imread
    return lambda path: imread(path)


def io_read_image():
    from torchvision.io import read_image
    return lambda path: read_image(path)


def io_usual():
    """decode_jpeg of a file's bytes, then transforms of tensors."""
    from torchvision.io import decode_jpeg, read_file
    transform = T.Compose([T.RandomResizedCrop(SIZE, antialias=True), T.RandomHorizontalFlip(),
                           T.ConvertImageDtype(torch.float32), T.Normalize(MEAN, STD)])
    return lambda path: transform(decode_jpeg(read_file(path)))


def io_v2():
    from torchvision.io import decode_image, read_file
    from torchvision.transforms import v2
    transform = v2.Compose(usual_v2())
    return lambda path: transform(decode_image(read_file(path)))


RECIPES = {"torchvision, ImageFolder": imagefolder, "webdataset's pil": webdataset_pil,
           "HF parquet + torchvision": hf_parquet, "v2.Compose of (image, label)": pair_v2,
           "v2 as documented, ToImage first": documented_v2, "torchvision.io.decode_image + v2": io_v2,
           "EXIF orientation 6, exif_transpose": lambda: turned(TURNED),
           "EXIF of a telephone, exif_transpose": lambda: turned(CAMERA), "PNG": lambda: of_copies(PNG),
           "progressive": lambda: of_copies(PROGRESSIVE), "grey as RGB": lambda: of_copies(GREY),
           "MPO": lambda: of_copies(MPO), "functional calls, one by one": one_by_one, "nn.Sequential of images": sequential,
           "nn.Sequential of tensors": sequential_of_tensor, "segmentation, a mask as PNG": segmentation,
           "RandAugment": lambda: augmented(T.RandAugment), "TrivialAugmentWide": lambda: augmented(T.TrivialAugmentWide),
           "timm, default": timm,
           "timm, rand-m9": lambda: timm(auto_augment="rand-m9-inc1", re_prob=0.25), "CIFAR-10, a batch": cifar,
           "two views, as MoCo v3": moco, "ten crops, as DINO": dino,
           "v2.Compose of (image, boxes)": detection,
           "transformers, ViTImageProcessor": lambda: processed("ViTImageProcessor"),
           "transformers, ViTImageProcessorPil": lambda: processed("ViTImageProcessorPil"),
           "transformers, CLIPImageProcessor": lambda: processed("CLIPImageProcessor"),
           "np.array(Image.open())": array_of_pillow,
           "cv2.imread of a PNG": cv2_png, "torchvision.io.read_image of a PNG": io_png,
           "imageio.imread": by_imageio, "skimage.io.imread": by_skimage,
           "cv2.imread": cv2_imread, "cv2.imread, reduced by 2": cv2_reduced,
           "cv2.imread + RandomResizedCrop, as albumentations": cv2_usual,
           "cv2.imread + letterbox, as YOLO val": yolo_val,
           "torchvision.io.read_image": io_read_image,
           "torchvision.io.decode_jpeg + transforms": io_usual}


def run_epoch(sample, files):
    """Returns the processor time of one sample."""
    start = time.process_time_ns()
    for path in files:
        sample(path)
    return (time.process_time_ns() - start) / len(files)


def main():
    torch.set_num_threads(1)
    files = sorted(path for path in glob.glob(os.path.join(sys.argv[1], "**", "*.*"), recursive=True)
                   if os.path.basename(os.path.dirname(path)) not in FOLDERS)
    wanted = sys.argv[3:] or RECIPES
    for name, make in RECIPES.items():
        if name not in wanted:
            continue
        try:
            sample = make()
        except (ImportError, AttributeError):
            continue
        for _ in range(int(sys.argv[2])):
            print(run_epoch(sample, files), name, flush=True)


if __name__ == "__main__":
    main()
