"""stoker.gpu.augment on the processor, against torchvision's functions with the same draws."""

import contextlib
import os
import subprocess
import sys

import pytest

from checkout import BUILD

torch = pytest.importorskip("torch")
F = pytest.importorskip("torchvision.transforms.functional")

gpu = pytest.importorskip("stoker.gpu")
from elsewhere import Elsewhere

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}


@pytest.fixture
def images():
    return torch.randint(0, 256, (100, 32, 32, 3), dtype=torch.uint8,
                         generator=torch.Generator().manual_seed(0))


def of_torch(images, indices, padding, flip, fill=0, size=None):
    """Makes the batch by torchvision's functions, one image after the other."""
    draws = torch.Generator().manual_seed(5)
    count, made, (height, width) = len(indices), [], size or (32, 32)
    left, top = ([[0] * count] * 2) if padding == 0 else (
        torch.randint(-padding, 32 + padding - side + 1, (count,), generator=draws, dtype=torch.int32).tolist()
        for side in (width, height))
    flips = torch.rand(count, generator=draws) < 0.5 if flip else [False] * count
    for index, x, y, mirrored in zip(indices, left, top, flips):
        image = F.pad(images[index].permute(2, 0, 1), padding, fill)
        image = F.crop(image, y + padding, x + padding, height, width)
        image = F.hflip(image) if mirrored else image
        made.append(F.normalize(image.float().div(255), MEAN, STD))
    return torch.stack(made)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("padding, flip", [(0, False), (4, False), (0, True), (4, True)])
def test_batches_are_torchvision_s(images, padding, flip, dtype, channels_last, threads):
    indices = [3, 99, 0, 42, 42, 7, 63]
    ours = gpu.augment(images, indices, mean=MEAN, std=STD, padding=padding, flip=flip, dtype=dtype,
                       channels_last=channels_last, generator=torch.Generator().manual_seed(5),
                       threads=threads)
    theirs = of_torch(images, indices, padding, flip).to(dtype)
    form = torch.channels_last if channels_last else torch.contiguous_format
    assert ours.is_contiguous(memory_format=form)
    assert torch.equal(ours.contiguous().view(BITS[dtype]), theirs.view(BITS[dtype]))


@pytest.mark.parametrize("padding", [0, 2])
def test_all_of_them_and_other_sizes(images, padding):
    """All of the padded image is cropped from."""
    ours = gpu.augment(images, mean=MEAN, std=STD, padding=padding, fill=9, size=(24, 20),
                       generator=torch.Generator().manual_seed(5))
    assert torch.equal(ours, of_torch(images, range(100), padding, False, 9, (24, 20)))


def test_a_crop_larger_than_the_padded_image(images):
    """It lies anywhere around that."""
    ours = gpu.augment(images, mean=0, std=1, padding=1, size=(32, 40))
    columns = ours.sum((1, 2)) > 0
    assert columns.sum(1).unique().tolist() == [32]
    assert columns.int().argmax(1).unique().tolist() == list(range(1, 8))


def test_torch_s_own_generator_is_the_default(images):
    made = []
    for _ in range(2):
        torch.manual_seed(3)
        made.append(gpu.augment(images, mean=MEAN, std=STD, padding=4, flip=True))
    assert torch.equal(*made)
    assert not torch.equal(made[0], gpu.augment(images, mean=MEAN, std=STD, padding=4, flip=True))


@pytest.mark.parametrize("indices", [None, [3, 4, 1]])
def test_where_tensors_are_made_elsewhere(images, indices):
    made = []
    for where in contextlib.nullcontext(), Elsewhere():
        torch.manual_seed(3)
        with where:
            made.append(gpu.augment(images, indices, mean=MEAN, std=STD, padding=4, flip=True))
    assert torch.equal(*made)


def test_what_makes_no_sense_is_said(images):
    for wrong in ({"mean": (0, 0)}, {"std": 0}, {"size": (0, 5)}, {"padding": 70000}, {"padding": -1},
                  {"dtype": torch.float64}, {"indices": torch.arange(100) > 40}, {"indices": [1.5]}):
        with pytest.raises(ValueError):
            gpu.augment(images, **{"mean": MEAN, "std": STD, **wrong})
    for indices in [100], [-1]:
        with pytest.raises(IndexError):
            gpu.augment(images, indices, mean=MEAN, std=STD)
    for other in images.float(), images[..., :2], images.permute(0, 2, 1, 3):
        with pytest.raises(ValueError):
            gpu.augment(other, mean=MEAN, std=STD)


def test_where_there_is_no_device_it_is_said():
    told = subprocess.run([sys.executable, "-c", "from stoker import _gpu_core\n"
                           "try: _gpu_core.open(0)\nexcept _gpu_core.NoDevice as why: print(why)"],
                          env={**os.environ, "PYTHONPATH": str(BUILD / "python")}, check=True,
                          capture_output=True, text=True).stdout
    assert told.startswith("no") or torch.cuda.is_available()
