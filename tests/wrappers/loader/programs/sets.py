"""Data sets of the programs here, and what torch makes of them."""

import collections
import json
import os
import pathlib
import signal
import sys

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, _utils
from torchvision.transforms import functional as F

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "lib/tensors"))

from indexed import Of  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDES = 40, 48  # height, width: 8 images are some 46 KB, which travel in a slot
Named = collections.namedtuple("Named", "image label name")


def say(name, what):
    print(json.dumps([name, what]), flush=True)


def pixels(i):
    """HWC."""
    return np.random.RandomState(i).randint(0, 256, (*SIDES, 3), np.uint8)


def picture(i, width, height):
    small = np.random.RandomState(i).randint(0, 256, (5, 7, 3), np.uint8)
    return Image.fromarray(small).resize((width, height), Image.BICUBIC)


def planes(i):
    """As PILToTensor makes it."""
    return torch.from_numpy(pixels(i)).permute(2, 0, 1), i


def array(i):
    return pixels(i), i


def drawn(i):
    """With a chance of the worker's."""
    image = torch.from_numpy(pixels(i)).permute(2, 0, 1)
    return torch.roll(image, int(torch.randint(9, ())), 2).contiguous(), i


def killing(i):
    """The worker dies while it has slots under way."""
    if i == 40:
        os.kill(os.getpid(), signal.SIGKILL)
    return planes(i)


def watched(loader):
    """Begins a pass for which torch looks after its workers itself. By default a signal reports
    their end. Its handler raises the error wherever the program happens to be, once or more than
    once."""
    batches = iter(loader)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _utils.MP_STATUS_CHECK_INTERVAL = 0.3
    return batches


def is_of_a_killed_worker(error):
    """Returns true for torch's own error, or that of fetching a descriptor from a process that has
    gone."""
    return (type(error) is RuntimeError and "DataLoader worker" in str(error)
            or isinstance(error, (OSError, EOFError)))


def until_error(batches):
    made = []
    try:
        for batch in batches:
            made.append(batch)
    except Exception as error:
        return made, error
    return made, None


def floats(i):
    return F.to_tensor(pixels(i)), i


def in_dict(i):
    return {"image": planes(i)[0], "mask": torch.from_numpy(pixels(i)[:, :, :1].copy()).permute(2, 0, 1),
            "more": [i, {"name": str(i), "weight": i / 3}]}


def named(i):
    return Named(planes(i)[0], i, f"image {i}")


def stacked(samples):
    """A collate_fn of bytes, pixel by pixel, with nothing for labels that are even."""
    return (torch.from_numpy(np.stack([image for image, _ in samples])),
            [None if i % 2 == 0 else i for _, i in samples], None)


def of_torch(images, dtype=torch.float32, mean=MEAN, std=STD):
    """Bytes, or floats, as torchvision's ToTensor and Normalize have them."""
    if images.dtype is torch.uint8:
        images = images.to(torch.float32).div(255)
    return F.normalize(images, mean, std).to(dtype)


def loader_of(function, workers=2, count=44, **more):
    return DataLoader(Of(function, count), **{"batch_size": 8, "num_workers": workers, **more})


def same(one, other):
    """All of two batches, to the last bit."""
    if isinstance(one, torch.Tensor):
        return (type(one) is type(other) and one.dtype is other.dtype and one.shape == other.shape
                and torch.equal(bits(one), bits(other)))
    if isinstance(one, dict):
        return type(one) is type(other) and list(one) == list(other) and all(
            same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def bits(tensor):
    kinds = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
    tensor = tensor.contiguous()
    return tensor.view(kinds[tensor.dtype]) if tensor.dtype in kinds else tensor


def without_images(loader_for):
    """Returns the errors of loader_for(batches, **wanted) for batches whose images cannot be
    found."""
    images, told = torch.zeros(2, 3, 5, 6, dtype=torch.uint8), []
    for batch, wanted in (({"image": images}, {"images": "imgae"}), ([images, 1], {"mean": (0.5,), "std": (0.2,)}),
                          ([[images[0], images[1]]], {"mean": 0.5})):
        try:
            list(loader_for([batch], **wanted))
        except ValueError as error:
            told.append(str(error))
    fine = [list(loader_for([batch], **wanted)) for batch, wanted in (
        ([None], {"mean": 0.5}), ([images[:, :1]], {"images": 1, "mean": (0, 0, 0)}), ([images[0]], {}),
        ([images[:, :1].float()], {"mean": (0, 0, 0)}), (images[0, 0], {"mean": 0.5}), ([], {"images": "image"}),
        ({"image": images.float(), "mask": images}, {"images": "image"}))]
    return len(fine) == 7 and len(told) == 3 and "'imgae'" in told[0] and all("(2, 3, 5, 6)" in why for why in told[:2])


def all_same(ones, others):
    ones, others = list(ones), list(others)
    return len(ones) == len(others) > 0 and all(map(same, ones, others))
