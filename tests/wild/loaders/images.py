"""Libraries that decode images, each format for itself, since each has a reader of its own."""

from .arrays import an_array
from .case import BAD_DIRECTORIES, case


def picture():
    """A smooth picture: noise would hide what a decoder does to a damaged file."""
    import numpy
    from PIL import Image

    x, y = numpy.meshgrid(numpy.arange(160), numpy.arange(120))
    planes = [(x * 3 + y * n) % 256 for n in range(3)]
    return Image.fromarray(numpy.stack(planes, 2).astype("u1"))


def save_picture(path):
    picture().save(path)


def with_pil(path):
    from PIL import Image

    with Image.open(path) as image:
        image.load()
        return image, image.convert("RGB")


for suffix in (".jpg", ".png", ".bmp", ".tif", ".webp", ".gif", ".ppm"):
    case(f"PIL.Image.open of {suffix}", "PIL numpy", suffix, save_picture)(with_pil)


@case("PIL.Image.open of a file object", "PIL numpy", ".jpg", save_picture)
def pil_of_file(path):
    from PIL import Image

    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


def make_folder(path):
    for label in ("cat", "dog"):
        (path / label).mkdir(parents=True)
        for number in range(3):
            picture().rotate(number * 90).save(path / label / f"{number}.jpg")


@case("torchvision.datasets.ImageFolder", "torchvision PIL numpy", "", make_folder,
      bad=BAD_DIRECTORIES)
def image_folder(path):
    from torchvision.datasets import ImageFolder

    return list(ImageFolder(str(path)))


@case("ImageFolder and DataLoader, 2 workers", "torchvision PIL numpy", "", make_folder, bad=(),
      threads=False)
def image_folder_loaded(path):
    import torch
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import ToTensor

    torch.manual_seed(1)
    loader = torch.utils.data.DataLoader(ImageFolder(str(path), ToTensor()), batch_size=2,
                                         shuffle=True, num_workers=2)
    return list(loader)


def with_cv2(path):
    import cv2

    found = cv2.imread(str(path), cv2.IMREAD_COLOR)
    return found if found is None else (found, cv2.imread(str(path), cv2.IMREAD_GRAYSCALE))


for suffix in (".jpg", ".png", ".bmp", ".tif", ".webp"):
    case(f"cv2.imread of {suffix}", "cv2 PIL numpy", suffix, save_picture)(with_cv2)


@case("cv2.imdecode of numpy.fromfile", "cv2 PIL numpy", ".jpg", save_picture)
def cv2_decode(path):
    import cv2
    import numpy

    return cv2.imdecode(numpy.fromfile(path, "u1"), cv2.IMREAD_COLOR)


@case("skimage.io.imread", "skimage PIL numpy", ".png", save_picture, main=False)
def with_skimage(path):
    import skimage.io

    return skimage.io.imread(path)


@case("skimage.io.imread of .tif", "skimage PIL numpy", ".tif", save_picture, main=False)
def with_skimage_tiff(path):
    import skimage.io

    return skimage.io.imread(path)


# Its error for a file that is no picture depends on what else has been imported.
@case("imageio.imread", "imageio PIL numpy", ".jpg", save_picture, main=False,
      bad=("missing", "closed"))
def with_imageio(path):
    import imageio
    import numpy

    return numpy.asarray(imageio.imread(path))


@case("matplotlib.image.imread", "matplotlib PIL numpy", ".png", save_picture, main=False)
def with_matplotlib(path):
    import matplotlib.image

    return matplotlib.image.imread(path)


def make_dicom(path):
    import pydicom
    from pydicom.dataset import FileDataset, FileMetaDataset

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
    meta.MediaStorageSOPInstanceUID = "1.2.3"
    meta.TransferSyntaxUID = "1.2.840.10008.1.2.1"
    found = FileDataset(str(path), {}, file_meta=meta, preamble=bytes(128))
    found.is_little_endian, found.is_implicit_VR = True, False
    found.SOPClassUID, found.SOPInstanceUID = meta.MediaStorageSOPClassUID, "1.2.3"
    found.PatientName, found.Rows, found.Columns = "Test^Wild", 100, 100
    found.BitsAllocated = found.BitsStored = 8
    found.HighBit, found.PixelRepresentation, found.SamplesPerPixel = 7, 0, 1
    found.PhotometricInterpretation = "MONOCHROME2"
    found.PixelData = an_array(100, 100).tobytes()
    if hasattr(pydicom, "dcmwrite"):
        pydicom.dcmwrite(str(path), found, **new_format(pydicom))


def new_format(pydicom):
    major = int(pydicom.__version__.split(".")[0])
    return {"enforce_file_format": True} if major >= 3 else {"write_like_original": False}


@case("pydicom.dcmread", "pydicom numpy", ".dcm", make_dicom)
def dicom(path):
    import pydicom

    found = pydicom.dcmread(path)
    return str(found.PatientName), found.pixel_array


def make_vips_picture(path):
    picture().save(path)


def with_vips(path):
    import pyvips

    try:
        image = pyvips.Image.new_from_file(str(path))
        return image.width, image.height, image.write_to_memory()
    except pyvips.Error as error:
        error.detail = ""  # libvips has one text for all threads, in which their lines mix
        raise


for suffix in (".jpg", ".png", ".tif", ".webp"):
    case(f"pyvips of {suffix}", "pyvips PIL numpy", suffix, make_vips_picture,
         main=False)(with_vips)
