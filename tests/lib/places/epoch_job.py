"""A job over a folder of images, with epochs: a DataLoader of any kind (programs/epochs.py), or Pillow alone
(programs/pillow_epochs.py)."""

import random

import pytest

IMAGES = 60


def make_image(path, seed):
    """Writes a JPEG with smooth and rough parts, some 5 to 30 KB."""
    from PIL import Image
    dice = random.Random(seed)
    size = dice.randint(120, 320), dice.randint(120, 240)
    coarse = Image.frombytes("RGB", (12, 9), dice.randbytes(12 * 9 * 3))
    image = coarse.resize(size, Image.BICUBIC)
    grain = Image.frombytes("RGB", size, dice.randbytes(size[0] * size[1] * 3))
    Image.blend(image, grain, dice.uniform(0.02, 0.2)).save(path, quality=85)


@pytest.fixture(scope="module")
def images(session_scratch):
    """A folder of images, one directory per class."""
    folder = session_scratch / "images"
    for number in range(IMAGES):
        directory = folder / f"class{number % 3}"
        directory.mkdir(parents=True, exist_ok=True)
        make_image(directory / f"image {number}.JPEG", number)
    return folder


def program(programs, origin, epochs, configurations):
    return [programs / "epochs.py", origin.control_path, str(epochs), *configurations]


def without_torch(programs, origin, epochs, folder):
    """Where the tier is the point, and not the loader. torch takes longer to import than the job."""
    return [programs / "pillow_epochs.py", origin.control_path, str(epochs), folder]
