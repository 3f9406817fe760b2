"""decode="nvjpeg" on a GPU, against the processor's pixels: part of `make test-gpu`.

    nvjpeg_device.py          how far apart pixels are, which must be within a bound, and rates
    nvjpeg_device.py --dry    all of it, small, on the GPU of the tests

Says 77 where there is no GPU or no nvJPEG, with the reason, and 1 where pixels are farther apart.
"""

import os
import pathlib
import sys
import tempfile
import time

import torch
import torchvision.transforms as T
from sets import MEAN, STD, picture

import stoker
from stoker import gpu

DRY = "--dry" in sys.argv
IMAGES, BATCH, PASSES = (12, 5, 1) if DRY else (512, 128, 5)
# Bounds in bytes: (at most, on average). They are more than twice the differences of libjpeg with
# another IDCT, and with chroma that is repeated (docs/gpu.md). For repeated chroma, single pixels
# mean nothing.
BOUNDS = {"4:4:4": (8, 0.5), "4:2:2": (255, 2), "4:2:0": (255, 2)}
CROP = T.Compose([T.RandomCrop(224), T.RandomHorizontalFlip()])
REGION = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip()])


def make(directory, sampling):
    paths = []
    for i in range(IMAGES):
        paths.append(pathlib.Path(directory) / f"{sampling.replace(':', '')}-{i}.jpg")
        picture(i, 500, 375).save(paths[-1], quality=90, subsampling=sampling)
    return paths


def loader_of(paths, transform, decode, **more):
    return stoker.Loader(paths, list(range(len(paths))), transform=transform, batch_size=BATCH, shuffle=True,
                         generator=1, device="cuda:0", decode=decode, **more)


def here(batch):
    return fake.fetched(batch) if DRY else [part.cpu() for part in batch]


def compare(paths, sampling):
    """Returns true if pixels are near each other, and all else is equal."""
    most, total, count = 0, 0, 0
    ours = loader_of(paths, CROP, "nvjpeg", mean=0, std=1 / 255)
    for one, other in zip(ours, loader_of(paths, CROP, None, mean=0, std=1 / 255)):
        (images, labels), (plain, plain_labels) = here(one), here(other)
        assert labels.tolist() == plain_labels.tolist()
        apart = (images - plain).abs()
        most, total, count = max(most, float(apart.max())), total + float(apart.sum()), count + apart.numel()
    highest, on_average = BOUNDS[sampling]
    good = most <= highest + 1e-3 and total / count <= on_average
    print(f"| {sampling}, {ours.decoder.there} images there and {ours.decoder.here} here | {most:.0f} at most, {total / count:.3f} on average"
          f"{'' if good else ': TOO FAR'} |")
    return good and ours.decoder.there > 0


def rate(paths, decode):
    """Images a second, after a pass that makes what is kept."""
    loader = loader_of(paths, REGION, decode, mean=MEAN, std=STD, prefetch=3)
    for number in range(PASSES + 1):
        if number == 1:
            begin = time.perf_counter()
        for batch in loader:
            pass
        here(batch)
    return len(paths) * PASSES / (time.perf_counter() - begin)


def main():
    with tempfile.TemporaryDirectory() as directory:
        paths = {sampling: make(directory, sampling) for sampling in BOUNDS}
        try:
            name = loader_of(paths["4:2:0"], CROP, "nvjpeg").decoder.name
        except gpu.NoDevice as why:
            print(f"skipped: {why}")
            return 77
        print(f"| {name} | apart from the processor's pixels, of 255 |\n|---|---|")
        good = [compare(each, sampling) for sampling, each in paths.items()]
        for decode, said in ("nvjpeg", name), (None, f"{len(os.sched_getaffinity(0))} threads here"):
            print(f"| decoding and a region to 224x224, {said} | {rate(paths['4:2:0'], decode):.0f} images/s |")
    return 0 if all(good) else 1


if DRY:
    import fake
    import late
    late.install()
torch.set_num_threads(1)
status = main()
sys.stdout.flush()
os._exit(status)
