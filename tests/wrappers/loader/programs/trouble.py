"""Faults of a Loader, and what is left of it. Usage: trouble.py CASE..."""

import gc
import os
import sys
import threading
import time
import traceback

import torch
from sets import (MEAN, STD, all_same, is_of_a_killed_worker, killing, loader_of, of_torch, planes, same,
                  say, until_error, watched, without_images)

import stoker
from stoker import gpu

CASES = {}
WANTED = {"device": "cpu", "mean": MEAN, "std": STD}


def case(function):
    CASES[function.__name__] = function
    return function


def expected():
    return [[of_torch(images), labels] for images, labels in loader_of(planes, 0)]


def raising(i):
    if i == 20:
        raise LookupError("no sample of this number")
    return planes(i)


@case
def early_break():
    ours, right = stoker.Loader(loader_of(planes), **WANTED), expected()
    for stop in 1, 3, 5:
        if not all_same(right[:stop], [batch for batch, _ in zip(ours, range(stop))]):
            return stop
    return all_same(right, ours)


@case
def an_error_of_a_data_set():
    """In its place, with torch's traceback; the next pass is as any other."""
    ours = stoker.Loader(loader_of(raising), **WANTED)
    for _ in range(2):
        made, error = until_error(ours)
        told = "".join(traceback.format_exception(error))
        if not (all_same(expected()[:2], made) and type(error) is LookupError
                and "in raising" in told and "no sample of this number" in told):
            return told
    return True


@case
def what_goes_on_after_an_error():
    """As the DataLoader itself does."""
    batches, made = iter(stoker.Loader(loader_of(raising), **WANTED)), []
    while True:
        try:
            made.append(next(batches)[1].tolist())
        except LookupError:
            made.append(None)
        except StopIteration:
            break
    plain = [labels.tolist() for _, labels in expected()]
    return made == plain[:2] + [None] + plain[3:]


@case
def a_worker_that_is_killed():
    made, error = until_error(watched(stoker.Loader(loader_of(killing), **WANTED)))
    return (is_of_a_killed_worker(error)
            and (not made or all_same(expected()[:len(made)], made)))


@case
def no_device():
    said = []
    for device in "cuda", "cuda:3", 1:
        try:
            stoker.Loader([], device=device)
        except gpu.NoDevice as error:
            said.append(str(error))
    usual = stoker.Loader([]).device
    return len(said) == 3 and all(said) and usual == torch.device("cpu")


@case
def what_makes_no_sense():
    wrong = ({"mean": (1, 2)}, {"std": 0}, {"mean": (1, 2, 3), "std": [1]}, {"dtype": torch.int8},
             {"layout": "CHW"}, {"input_layout": "HWC"}, {"prefetch": -1}, {"device": "meta"},
             {"mean": float("nan")})
    told = []
    for arguments in wrong:
        try:
            stoker.Loader([], **{"device": "cpu", **arguments})
        except ValueError as error:
            told.append(str(error))
    for arguments in {"batch_size": 3}, {"labels": [1]}:
        try:
            stoker.Loader([torch.zeros(1)], **arguments)
        except TypeError as error:
            told.append(str(error))
    try:
        list(stoker.Loader([{"image": torch.zeros(3, 5, dtype=torch.uint8)}], images="image"))
    except ValueError as error:
        told.append(str(error))
    return len(told) == len(wrong) + 3 and all(told)


@case
def images_that_are_not_found():
    return without_images(lambda batches, **wanted: stoker.Loader(batches, device="cpu", **wanted))


def left():
    gc.collect()
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
            "maps": sum(1 for _ in open("/proc/self/maps")),
            "kib": int(status["VmRSS"].split()[0])}


def grown(work, times, first):
    for _ in range(first):
        work()
    before = left()
    for _ in range(times):
        work()
    return settled(before)


def settled(before):
    """Returns what there is more of than before. The threads of torch's queues end a moment after their loader."""
    allowed = {"descriptors": 0, "threads": 0, "maps": 20, "kib": 8 << 10}
    deadline = time.monotonic() + 30
    while True:
        after = left()
        more = {name: after[name] - before[name] for name in after if after[name] > before[name] + allowed[name]}
        if not more or time.monotonic() > deadline:
            return more
        time.sleep(0.05)


@case
def a_thousand_loaders():
    plain = loader_of(planes, 0, count=8)
    right = [[of_torch(images), labels] for images, labels in plain]

    def work():
        ours = stoker.Loader(plain, **WANTED)
        assert same(next(iter(ours)), right[0])
    return grown(work, 1000, 50)


@case
def some_loaders_with_workers():
    def work():
        for _ in zip(stoker.Loader(loader_of(planes), **WANTED), range(3)):
            pass
    return grown(work, 8, 3)


for name in sys.argv[1:] or CASES:
    say(name, CASES[name]())
