#!/usr/bin/env python3
"""A script's loader with a GPU behind it, that runs an epoch on order.

    device_script.py KIND DIRECTORY WORKERS DEVICE PACKAGE

For each line of its standard input it has every batch of an epoch on the device once, as normalised floats. An epoch
has two batches for each worker, whatever the directory holds. Then it prints the images, the seconds until the last
image is there, and the seconds of this process's own processor time. KIND is

- `pinned`: ToTensor, Normalize, pin_memory, to() without waiting
- `loader`: PILToTensor and stoker.Loader; `paths`: the same by stoker.Loader's own threads
- `timm`: bytes, collated by timm, and its PrefetchLoader
- `dali`: decoded on the processor; `dali-gpu`: decoded on the device

All crop and flip at random; DALI draws and resizes in its own way.
"""

import sys
import time

import torch
from torchvision import datasets, transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
GEOMETRY = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()]
BATCH, BATCHES_OF_A_WORKER = 256, 2


def make_loader(directory, workers, end, **options):
    dataset = datasets.ImageFolder(directory, transforms.Compose(GEOMETRY + end))
    images = BATCH * BATCHES_OF_A_WORKER * workers
    return torch.utils.data.DataLoader(dataset, BATCH, num_workers=workers, persistent_workers=True,
                                       sampler=torch.utils.data.RandomSampler(dataset, num_samples=images), **options)


def make_pinned(directory, workers, device):
    return make_loader(directory, workers, [transforms.ToTensor(), transforms.Normalize(MEAN, STD)],
                       pin_memory=device.type == "cuda")


def make_ours(directory, workers, device):
    import stoker
    return stoker.Loader(make_loader(directory, workers, [transforms.PILToTensor()]),
                         device=device, mean=MEAN, std=STD)


def make_paths(directory, workers, device):
    """Returns a loader whose own threads decode: as many as the others have workers."""
    import stoker
    samples = datasets.ImageFolder(directory).samples
    images = BATCH * BATCHES_OF_A_WORKER * workers
    paths, labels = zip(*(samples * -(-images // len(samples)))[:images])
    return stoker.Loader(paths, labels, transform=transforms.Compose(GEOMETRY + [transforms.PILToTensor()]),
                         batch_size=BATCH, shuffle=True, threads=workers, device=device, mean=MEAN, std=STD)


def make_timm(directory, workers, device):
    from timm.data.loader import PrefetchLoader, fast_collate
    from timm.data.transforms import ToNumpy
    loader = make_loader(directory, workers, [ToNumpy()], collate_fn=fast_collate)
    return PrefetchLoader(loader, MEAN, STD, device=device)


def make_dali(directory, workers, device, decoder="cpu"):
    from dali_lane import Batches
    return Batches(directory, workers, device, decoder, BATCH, (MEAN, STD), BATCHES_OF_A_WORKER * workers)


def make_dali_gpu(directory, workers, device):
    return make_dali(directory, workers, device, "mixed")


KINDS = {"pinned": make_pinned, "loader": make_ours, "paths": make_paths, "timm": make_timm, "dali": make_dali,
         "dali-gpu": make_dali_gpu}


def run_epoch(batches, device):
    images = 0
    for batch, target in batches:
        batch, target = (each.to(device, non_blocking=True) for each in (batch, target))
        images += len(target)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return images


def main():
    kind, directory, workers, device, package = sys.argv[1:]
    sys.path.insert(0, package)
    torch.set_num_threads(1)
    device = torch.device(device)
    batches = KINDS[kind](directory, int(workers), device)
    print("ready", flush=True)
    for _ in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        images = run_epoch(batches, device)
        print(images, time.perf_counter() - start, time.process_time() - cpu, flush=True)


if __name__ == "__main__":
    main()
