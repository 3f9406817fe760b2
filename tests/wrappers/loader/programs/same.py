"""Batches of stoker.Loader on this processor beside those of the plain DataLoader. Usage: same.py
METHOD CASE..."""

import sys

import numpy as np
import torch
from sets import (MEAN, STD, all_same, array, drawn, floats, in_dict, loader_of, named, of_torch, pixels,
                  planes, same, say, stacked)

import stoker
from elsewhere import Elsewhere

METHOD = sys.argv[1]
CASES = {}
WANTED = {"device": "cpu", "mean": MEAN, "std": STD}


def case(function):
    CASES[function.__name__] = function
    return function


def loader(function, workers=2, **more):
    method = METHOD if workers else None
    return loader_of(function, workers, multiprocessing_context=method, **more)


def first_normalised(batches, **more):
    for images, *rest in batches:
        yield [of_torch(images, **more), *rest]


@case
def planes_of_bytes():
    ours = list(stoker.Loader(loader(planes), **WANTED))
    return all_same(first_normalised(loader(planes)), ours) and len(ours[-1][0]) == 4


@case
def one_worker():
    return all_same(first_normalised(loader(planes, 1)), stoker.Loader(loader(planes, 1), **WANTED))


@case
def pixels_of_bytes():
    """With None among the labels."""
    plain = ((of_torch(images.permute(0, 3, 1, 2)), *rest)
             for images, *rest in loader(array, collate_fn=stacked))
    return all_same(plain, stoker.Loader(loader(array, collate_fn=stacked), **WANTED))


@case
def means_of_any_kind():
    """One number, or one for each channel, however it is given."""
    images, right = planes(0)[0][None], of_torch(planes(0)[0][None], mean=0.5, std=0.25)
    return all(same(right, next(iter(stoker.Loader([images], device="cpu", mean=kind(0.5), std=kind(0.25)))))
               for kind in (float, np.float32, np.array, torch.tensor, lambda number: [number] * 3,
                            lambda number: torch.full((3,), number), lambda number: np.full(3, number)))


@case
def drop_last():
    ours = stoker.Loader(loader(planes, drop_last=True), **WANTED)
    return len(ours) == 5 and all_same(first_normalised(loader(planes, drop_last=True)), ours)


@case
def order_and_chances():
    made = []
    for wrap in first_normalised, lambda plain: stoker.Loader(plain, **WANTED):
        torch.manual_seed(7)
        plain = loader(drawn, shuffle=True)
        made.append([list(wrap(plain)), list(wrap(plain)), torch.rand(3)])
    (first, second, after), (ours, ours_again, ours_after) = made
    return (all_same(first, ours) and all_same(second, ours_again) and same(after, ours_after)
            and not all_same(first, second))


@case
def chances_without_workers():
    """The loop draws from the same generator."""
    made = []
    for wrap in first_normalised, lambda plain: stoker.Loader(plain, prefetch=3, **WANTED):
        torch.manual_seed(7)
        made.append([(batch, torch.rand(2)) for batch in wrap(loader(drawn, workers=0))])
    return all_same(*made)


@case
def floats_alone():
    return all_same(loader(floats), stoker.Loader(loader(floats), device="cpu", dtype=torch.float16))


@case
def floats_with_a_mean():
    return all_same(first_normalised(loader(floats)), stoker.Loader(loader(floats), **WANTED))


@case
def dicts():
    """Masks are no images, since they have one channel, and are moved."""
    plain = ({**batch, "image": of_torch(batch["image"])} for batch in loader(in_dict))
    return all_same(plain, stoker.Loader(loader(in_dict), **WANTED))


@case
def what_is_named():
    plain = [{**batch, "mask": of_torch(batch["mask"], mean=0.5, std=0.25)} for batch in loader(in_dict)]
    ours = stoker.Loader(loader(in_dict), device="cpu", mean=0.5, std=0.25, images="mask")
    return all_same(plain, ours)


@case
def named_tuples():
    plain = (batch._replace(image=of_torch(batch.image)) for batch in loader(named))
    return all_same(plain, stoker.Loader(loader(named), **WANTED))


@case
def types_and_layouts():
    right = []
    for dtype in torch.float16, torch.bfloat16, torch.float32:
        for layout, form in ("NCHW", torch.contiguous_format), ("NHWC", torch.channels_last):
            for function, collate in (planes, None), (array, stacked):
                made = stoker.Loader(loader(function, 0, collate_fn=collate), dtype=dtype,
                                     layout=layout, **WANTED)
                right += [same(images, of_torch(planar[0], dtype))
                          and images.is_contiguous(memory_format=form)
                          for (images, *_), planar in zip(made, loader(planes, 0))]
    return len(right) == 72 and all(right)


@case
def bytes_as_they_lie():
    """Views, of which none is copied if it need not be, and one channel."""
    random = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (5, 3, 20, 24), dtype=torch.uint8, generator=random)
    last = images.contiguous(memory_format=torch.channels_last)
    wide = torch.zeros(5, 3, 20, 48, dtype=torch.uint8)
    wide[..., ::2] = images
    made = list(stoker.Loader([images, last, wide[..., ::2], [images[:0]], images[:, :1]], device="cpu"))
    plain = images.to(torch.float32).div(255)
    none = next(iter(stoker.Loader([images[:0]], device="cpu", layout="NHWC")))
    return (all(same(each, plain) for each in made[:3]) and made[3][0].shape == (0, 3, 20, 24)
            and none.is_contiguous(memory_format=torch.channels_last)
            and same(made[4], plain[:, :1]))


@case
def where_tensors_are_made_elsewhere():
    sources = planes(0)[0][None], torch.from_numpy(pixels(0))[None], floats(0)[0][None]
    with Elsewhere():
        made = list(stoker.Loader(sources, **WANTED))
    return all(same(images, of_torch(sources[0])) for images in made) and len(made) == 3


@case
def either_layout():
    """Three rows of pixels, three columns: it has to be said."""
    images = torch.randint(0, 256, (2, 3, 5, 3), dtype=torch.uint8)
    try:
        list(stoker.Loader([images], **WANTED))
        return "no error"
    except ValueError as error:
        told = "input_layout" in str(error)
    made = [next(iter(stoker.Loader([images], input_layout=layout, **WANTED)))
            for layout in ("NCHW", "NHWC")]
    return (told and same(made[0], of_torch(images))
            and same(made[1], of_torch(images.permute(0, 3, 1, 2))))


@case
def dlpack():
    images, labels = next(iter(stoker.Loader(loader(planes), **WANTED)))
    again = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(images))
    return (same(again, images) and np.from_dlpack(images).ctypes.data == images.data_ptr()
            and np.from_dlpack(labels).tolist() == labels.tolist())


@case
def attributes():
    plain = loader(planes, 2, sampler=torch.utils.data.DistributedSampler(
        range(44), num_replicas=2, rank=1, seed=3))
    ours, made = stoker.Loader(plain, **WANTED), []
    for epoch in range(3):
        ours.sampler.set_epoch(epoch)
        made.append(list(ours))
        if not all_same(first_normalised(plain), made[-1]):
            return f"epoch {epoch}"
    return (len(ours) == len(plain) == 3 and ours.batch_size == 8 and ours.dataset is plain.dataset
            and ours.num_workers == 2 and not hasattr(ours, "nothing of this name")
            and not all_same(made[0], made[1]))


@case
def persistent_workers():
    ours = stoker.Loader(loader(planes, persistent_workers=True), **WANTED)
    plain = list(first_normalised(loader(planes)))
    passes = [all_same(plain, ours) for _ in range(3)]
    broken = [batch for batch, _ in zip(ours, range(2))]
    return all(passes) and all_same(plain[:2], broken) and all_same(plain, ours)


if __name__ == "__main__":
    for chosen in sys.argv[2:] or CASES:
        say(chosen, CASES[chosen]())
