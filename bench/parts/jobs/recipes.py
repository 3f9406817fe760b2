"""Recipes as their projects write them: processor time a sample in later epochs, plainly and under Stoker."""

import glob
import io
import os
import random
import sys

import ground
from measure import Table, in_us, ratio, times
from parts.jobs import epochs

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "recipes_script.py")
IMAGES, STARTS, EPOCHS = 60, 3, 5
FORGOTTEN = 3  # epochs, in which forms are made and templates noted
RECIPES = {  # the goal of each, over plain
    "torchvision, ImageFolder": 6, "webdataset's pil": 6, "HF parquet + torchvision": 6,
    "v2.Compose of (image, label)": 4, "v2 as documented, ToImage first": 5,
    "v2.Compose of (image, boxes)": 4,
    "torchvision.io.decode_image + v2": 4, "EXIF orientation 6, exif_transpose": 6, "EXIF of a telephone, exif_transpose": 6, "PNG": 2.2, "progressive": 6,
    "grey as RGB": 5, "MPO": 6, "functional calls, one by one": None, "nn.Sequential of images": None, "nn.Sequential of tensors": None,
    "segmentation, a mask as PNG": None,
    "cv2.imread of a PNG": 2.2, "torchvision.io.read_image of a PNG": 2.2, "imageio.imread": None,
    "skimage.io.imread": None, "np.array(Image.open())": None, "cv2.imread": None, "cv2.imread, reduced by 2": None,
    "transformers, ViTImageProcessor": 4, "transformers, ViTImageProcessorPil": 4, "transformers, CLIPImageProcessor": 4,
    "RandAugment": 4, "TrivialAugmentWide": 5, "timm, default": 5, "timm, rand-m9": 4, "CIFAR-10, a batch": 4,
    "two views, as MoCo v3": 4.5, "ten crops, as DINO": 4,
    "cv2.imread + RandomResizedCrop, as albumentations": 2.2, "cv2.imread + letterbox, as YOLO val": 1.4,
    "torchvision.io.read_image": None, "torchvision.io.decode_jpeg + transforms": 4}


EXIF = b"Exif\0\0MM\0*\0\0\0\x08\0\1\x01\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"  # orientation 6 alone


def with_exif(data, exif):
    segment = b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif
    return data[:2] + segment + data[2:]


def turned(data):
    return with_exif(data, EXIF)


def turned_by_camera(data):
    """Copies a photograph with the EXIF data of a telephone: three directories, and in each photograph other values."""
    from PIL import Image, TiffImagePlugin
    dice, made = random.Random(len(data)), Image.Exif()
    date = "2019:05:%02d 10:%02d:11" % (dice.randrange(1, 29), dice.randrange(60))

    def ratio(most, parts):
        return TiffImagePlugin.IFDRational(dice.randrange(1, most), parts)
    made.update({
        0x010F: "a maker", 0x0110: "a telephone 11", 0x0112: 6, 0x011A: ratio(2, 1), 0x011B: ratio(2, 1), 0x0128: 2,
        0x0131: "13.3.1", 0x0132: date, 0x0213: 1,
        0x8769: {0x829A: ratio(9, 1000), 0x829D: ratio(30, 10), 0x8822: 2, 0x8827: dice.randrange(20, 2000), 0x9000: b"0231",
                 0x9003: date, 0x9004: date, 0x9101: b"\1\2\3\0", 0x9201: ratio(100000, 9001), 0x9202: ratio(90000, 50001),
                 0x9203: ratio(90000, 8003), 0x9204: ratio(2, 1), 0x9207: 5, 0x9209: 16, 0x920A: ratio(20, 4),
                 0x9214: (2015, 1511, 2217, 1330), 0x927C: dice.randbytes(800), 0x9291: "123", 0x9292: "123", 0xA000: b"0100",
                 0xA001: 65535, 0xA002: 4032, 0xA003: 3024, 0xA217: 2, 0xA301: b"\1", 0xA402: 0, 0xA403: 0, 0xA405: 26,
                 0xA406: 0, 0xA433: "a maker", 0xA434: "the back camera of a telephone 11"},
        0x8825: {1: "N", 2: (ratio(90, 1), ratio(60, 1), ratio(6000, 100)), 3: "E",
                 4: (ratio(180, 1), ratio(60, 1), ratio(6000, 100)), 5: b"\0", 6: ratio(90000, 311), 12: "K", 13: ratio(900, 711),
                 16: "T", 17: ratio(90000, 251), 23: "T", 24: ratio(90000, 251), 29: date[:10], 31: ratio(90, 7)}})
    return with_exif(data, made.tobytes())


def saved(change, *arguments, **named):
    """Returns a function that saves the changed image of a file in another format, and returns its bytes."""
    def of(data):
        from PIL import Image
        out = io.BytesIO()
        change(Image.open(io.BytesIO(data))).save(out, *arguments, **named)
        return out.getvalue()
    return of


def mpo(data):
    from PIL import Image
    out = io.BytesIO()
    image = Image.open(io.BytesIO(data))
    image.save(out, "MPO", quality=90, save_all=True, append_images=[image.reduce(2)])
    return out.getvalue()


COPIES = {"turned": turned, "camera": turned_by_camera, "png": saved(lambda image: image, "PNG"),
          "progressive": saved(lambda image: image, "JPEG", quality=90, progressive=True),
          "grey": saved(lambda image: image.convert("L"), "JPEG", quality=90), "mpo": mpo,
          "masks": saved(lambda image: image.convert("L").quantize(21), "PNG")}


def make_copies(directory):
    """Copies each image below the directory to folders beside it, in other formats under its own name."""
    for path in glob.glob(os.path.join(directory, "*", "*.*")):
        with open(path, "rb") as file:
            data = file.read()
        for name, copy_of in COPIES.items():
            folder = os.path.join(os.path.dirname(path), name)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, os.path.basename(path)), "wb") as copy:
                copy.write(copy_of(data))


def later(printed):
    """{recipe: nanoseconds a sample of its later epochs}."""
    found = {}
    for line in printed.splitlines():
        ns, _, recipe = line.partition(" ")
        found.setdefault(recipe, []).append(float(ns))
    return {recipe: each[FORGOTTEN:] for recipe, each in found.items()}


def one_start(images, tier):
    """The epochs plainly, and under Stoker."""
    command = [sys.executable, SCRIPT, images, str(EPOCHS)]
    ours, _ = ground.run_stoker(images, tier + ":1G", command)
    return later(ground.run(command)), later(ours)


def measure():
    table = Table("recipes")
    with epochs.some_images(IMAGES) as (images, tier):
        make_copies(images)
        starts = [one_start(images, tier) for _ in range(times(STARTS))]
    for recipe in starts[0][0]:
        plain, ours = ([start[side][recipe] for start in starts] for side in (0, 1))
        table.row(recipe, "us", in_us(ours), in_us(plain), peer_name="plain", goal=RECIPES[recipe], at_least=True,
                  compared=ratio(plain, ours), decimals=0)
    table.note("processor time of one process without workers, %d photographs of 75 KB, 500 x 375; the"
               " first %d epochs are left out" % (IMAGES, FORGOTTEN))
    return table
