"""stoker.Loader on the GPU of the tests (fake.py). Usage: device.py CASE..."""

import gc
import os
import sys
import tempfile
import threading
import weakref
from unittest import mock

import fake
import torch
from fake import devices, fetched, left, world
from sets import (MEAN, SIDES, STD, Named, all_same, floats, in_dict, is_of_a_killed_worker, killing,
                  loader_of, named, of_torch, pixels, planes, same, say, until_error, watched, without_images)

import stoker
from stoker import _core, _gpu_core
from stoker._gpu.images import Recipe
from stoker._torch.tensors import over, tensor_of

CASES = {}
WANTED = {"device": "cuda:0", "mean": MEAN, "std": STD}
IMAGES = 4
SHAPE = IMAGES, *SIDES, 3
SIZE = IMAGES * SIDES[0] * SIDES[1] * 3


def case(function):
    CASES[function.__name__] = function
    return function


def normalised(batches):
    return [[of_torch(images), *rest] for images, *rest in batches]


# ---- slots without workers: both sides of them are here ----

class Slots:
    """Batches in slots that are written again as soon as they are given back."""

    borrowed = {}  # as borrow.py has them

    def __init__(self, batches, sizes=(SIZE,)):
        self.batches = batches
        self.sizes = sizes
        self.alive = []

    def __len__(self):
        return self.batches

    def __iter__(self):
        for i in range(self.batches):
            yield self.make(i)

    def make(self, i):
        piece = _core.ring_take(self.sizes[i % len(self.sizes)])
        memory = torch.frombuffer(piece, dtype=torch.uint8)
        memory[:SIZE] = torch.from_numpy(batch_of(i)).flatten()
        slot, ring, number, offset, fd = _core.ring_lend(memory.data_ptr())
        if fd >= 0:
            self.borrowed[ring, number] = _core.borrow(fd, False)
            _core.ring_introduced(slot)
        loan = self.borrowed[ring, number].loan(offset, SIZE, False)
        for name in [name for name, slot in self.borrowed.items() if slot.is_over()]:
            del self.borrowed[name]
        made = tensor_of(over(loan), torch.uint8, 0, SHAPE, (SIZE // IMAGES, SIDES[1] * 3, 3, 1))
        self.alive.append(weakref.ref(made))
        return made, torch.tensor([i])

    def are_alive(self):
        return sum(reference() is not None for reference in self.alive)


def batch_of(i):
    import numpy as np
    return np.stack([pixels(IMAGES * i + k) for k in range(IMAGES)])


def expected(batches):
    return [(of_torch(torch.from_numpy(batch_of(i)).permute(0, 3, 1, 2)), torch.tensor([i]))
            for i in range(batches)]


def fetch_all(loader):
    return [fetched(batch) for batch in loader]


# ---- what arrives ----

@case
def slots_are_not_written_before_their_copies_have_ended():
    """The driver reads late, and workers write at once."""
    world.late_us, right = 8000, normalised(loader_of(planes, 0, count=160))
    seen = []
    for prefetch in 0, 2, 3:
        ours = stoker.Loader(loader_of(planes, count=160), prefetch=prefetch, **WANTED)
        seen.append(all_same(right, fetch_all(ours)))
    return all(seen) and world.wild == 0


@case
def slots_are_locked_once():
    """And unlocked before they are unmapped, or what is mapped there next could not be locked."""
    right, locks = normalised(loader_of(planes, 0)), []
    for _ in range(4):
        ours = stoker.Loader(loader_of(planes), **WANTED)
        batches = iter(ours)
        if not same(right[0], list(fetched(next(batches)))):
            return "other batches"
        locks.append(devices.of(0).pinned())
        rest = [list(fetched(batch)) for batch in batches]
        del batches
        if not all_same(right[1:], rest):
            return "other batches afterwards"
        gc.collect()
        locks.append(devices.of(0).pinned())
    return all(locks[::2]) and not any(locks[1::2]) and world.wild == 0


@case
def slots_of_all_sizes_come_and_go():
    """The ring forgets those that do not fit, and others lie where they were."""
    world.late_us, slots = 0, Slots(60, [SIZE, SIZE * 3, SIZE * 9, SIZE * 30])
    ours = fetch_all(stoker.Loader(slots, prefetch=1, **WANTED))
    return all_same(expected(60), ours) and 0 < world.locks < 60 and world.wild == 0


@case
def kept_workers():
    """Their slots stay locked from pass to pass."""
    right, ours = normalised(loader_of(planes, 0)), stoker.Loader(
        loader_of(planes, persistent_workers=True), **WANTED)
    passes, locks = [], []
    for _ in range(3):
        passes.append(all_same(right, fetch_all(ours)))
        locks.append(devices.of(0).pinned())
    del ours
    gc.collect()
    return all(passes) and min(locks) > devices.of(0).pinned() and world.wild == 0


def jpegs(directory, count):
    from PIL import Image
    paths = [os.path.join(directory, f"{i}.jpg") for i in range(count)]
    for i, path in enumerate(paths):
        Image.fromarray(pixels(i)).resize((96, 80)).save(path)
    return paths


def of_paths(paths, batch_size, **wanted):
    return stoker.Loader(paths, range(len(paths)), batch_size=batch_size, threads=2, mean=MEAN, std=STD,
                         **wanted)


@case
def what_threads_decode_is_locked_once():
    """It is written again as soon as its copy has ended, and not before. It stays locked from pass
    to pass, and is unlocked before it is unmapped."""
    world.late_us = 8000
    with tempfile.TemporaryDirectory() as directory:
        paths = jpegs(directory, 10) * 12
        right = list(of_paths(paths, 4, device="cpu"))
        gc.collect()
        seen, others = [], devices.of(0).pinned()
        for prefetch in 0, 2, 6:
            ours = of_paths(paths, 4, device="cuda:0", prefetch=prefetch)
            with mock.patch.object(_gpu_core, "pin", wraps=_gpu_core.pin) as pin:
                seen += [all_same(right, fetch_all(ours)) for _ in range(3)]
            seen.append(0 < devices.of(0).pinned() - others == pin.call_count)
            del ours
            gc.collect()
            seen.append(devices.of(0).pinned() == others)
    return all(seen) and world.wild == 0 or seen


@case
def two_devices_have_the_same_slots():
    """Memory that one device has locked is locked for both."""
    world.devices, made = 2, []
    for device in "cuda:0", "cuda:1", "cuda:0":
        loader = stoker.Loader(Slots(6, [SIZE * 70]), **{**WANTED, "device": device})
        made.append(all_same(expected(6), fetch_all(loader)))
    return all(made) and world.wild == 0


@case
def floats_in_slots_are_held():
    """Sources of torch's copies from locked memory are held as well."""
    plain = list(loader_of(floats, 0, count=160))
    ours = stoker.Loader(loader_of(floats, count=160), device="cuda:0")
    made = fetch_all(ours)
    return all_same(plain, made)


@case
def structures():
    plain = [{**batch, "image": of_torch(batch["image"])} for batch in loader_of(in_dict, 0)]
    ours = fetch_all(stoker.Loader(loader_of(in_dict), **WANTED))
    plain_named = [batch._replace(image=of_torch(batch.image)) for batch in loader_of(named, 0)]
    ours_named = fetch_all(stoker.Loader(loader_of(named), **WANTED))
    return (all_same(plain, ours) and all_same(plain_named, ours_named)
            and isinstance(ours_named[0], Named))


@case
def channels_last():
    ours = stoker.Loader(Slots(5), dtype=torch.float16, layout="NHWC", **WANTED)
    return all_same([(images.to(torch.float16), label) for images, label in expected(5)],
                    fetch_all(ours)) and next(iter(ours))[0].shape == SHAPE


class Moving:
    """An object that moves itself to a device."""

    def __init__(self, device=None):
        self.device = device

    def to(self, device):
        return Moving(device)


@case
def what_moves_itself():
    batch = {"a": Moving(), "b": "text", "c": None}
    made = next(iter(stoker.Loader([batch], device="cuda:0")))
    return type(made["a"].device) is torch.device and made["b"] == "text" and batch["a"].device is None


@case
def floats_that_are_there_already():
    """The batches' own stream may not have come so far, but the consumer is on it. (Here they are
    tensors without memory, of a device with such a name.)"""
    batches, seen = [[torch.zeros(2, 3, 4, 5, device="meta"), i] for i in range(3)], []
    with mock.patch.object(Recipe, "normalised", autospec=True,
                           side_effect=lambda _, images, layout: seen.append(layout) or images):
        loader = stoker.Loader(batches, prefetch=2, **WANTED)
        loader._sink.device = batches[0][0].device
        passing = iter(loader)
        asked = [(next(passing)[1], len(seen)) for _ in batches]
    return asked == [(0, 1), (1, 2), (2, 3)] and seen == ["NCHW"] * 3


@case
def order_of_asking():
    """So many are begun before they are asked for, and without workers none."""
    begun = []

    def batches(count=6):
        for i in range(count):
            begun.append(i)
            yield torch.tensor([i])
    seen = []
    for prefetch in 0, 1, 3:
        begun.clear()
        passing = iter(stoker.Loader(batches(), device="cuda:0", prefetch=prefetch))
        seen.append([int(fetched(next(passing))), len(begun), int(fetched(next(passing))), len(begun),
                     [int(fetched(batch)) for batch in passing]])
    return seen == [[0, 1, 1, 2, [2, 3, 4, 5]], [0, 2, 1, 3, [2, 3, 4, 5]],
                    [0, 4, 1, 5, [2, 3, 4, 5]]] and \
        stoker.Loader(loader_of(planes, 0), device="cuda:0").prefetch == 0


@case
def errors_have_their_turn():
    def batches():
        yield torch.tensor([0])
        yield torch.tensor([1])
        raise LookupError("the source's own")
    passing, made = iter(stoker.Loader(batches(), device="cuda:0", prefetch=3)), []
    try:
        for batch in passing:
            made.append(int(batch))
    except LookupError as error:
        return made == [0, 1] and str(error) == "the source's own" and list(passing) == []
    return "no error"


@case
def images_that_are_not_found():
    """It is said; all else that was begun comes to its end."""
    return without_images(lambda batches, **wanted: stoker.Loader(batches, device="cuda:0", **wanted))


# ---- what goes wrong ----

@case
def every_call_fails_once():
    """There is an exception, or all is right; nothing hangs, and nothing is held or left."""
    right, seen, at = expected(3), {}, 1
    gc.freeze()
    while fail(at, right, seen):
        at += 1
    return seen


@case
def every_call_fails_for_good():
    """And all later ones."""
    right = expected(3)

    def fail_in_child(at, seen):
        begin_ring()
        return fail(at, right, seen)
    return fake.fail_for_good(fail_in_child, step=7)


def fail(at, right, seen):
    """The call that failed, as that of this number; none, where there are not so many."""
    devices._devices.clear()
    gc.collect()
    world.late_us, world.calls, world.failed, world.fail_at = 0, 0, None, at
    slots, made, error = Slots(3), None, None
    try:
        made = fetch_all(stoker.Loader(slots, prefetch=1, **WANTED))
    except (RuntimeError, MemoryError) as why:
        error = str(why)
    devices._devices.clear()
    gc.collect()
    failed = (world.failed or b"").decode()
    told = seen.setdefault(failed, [])
    if error is None and not all_same(right, made):
        told.append(["other batches", at])
    made = None
    if slots.are_alive():
        told.append(["held", at, error])
    if world.wild or world.locks or world.retained:
        told.append(["left", at, error, *left()])
    world.fail_at = 0
    return failed


def forget_the_device():
    devices._devices.clear()
    gc.collect()


@case
def no_memory_to_lock():
    forget_the_device()
    world.locked_bytes, slots = world.locked_used, Slots(3)
    try:
        fetch_all(stoker.Loader(slots, **WANTED))
        return "no error"
    except MemoryError as error:
        told = str(error)
    gc.collect()
    unlocked = fetch_all(stoker.Loader(Slots(3), pin=False, **WANTED))
    return "RLIMIT_MEMLOCK" in told and all_same(expected(3), unlocked) and not slots.are_alive()


@case
def no_memory_of_the_device():
    """An error comes at its batch's turn; the next batch may follow, or another pass."""
    forget_the_device()
    slots = Slots(3)
    loader = stoker.Loader(slots, **WANTED)
    world.device_bytes = world.device_used + 1000
    try:
        fetch_all(loader)
        return "no error"
    except MemoryError as error:
        told = str(error)
    world.device_bytes = 1 << 32
    gc.collect()
    return "OUT_OF_MEMORY" in told and not slots.are_alive() and all_same(expected(3), fetch_all(loader))


@case
def a_child_of_fork():
    loader = stoker.Loader(Slots(3), **WANTED)
    passing = iter(loader)
    first = fetched(next(passing))
    pid = os.fork()
    if pid == 0:
        told = []
        for ask in (lambda: next(passing), lambda: list(loader), lambda: stoker.Loader([], **WANTED),
                    lambda: stoker.Loader([])):
            try:
                ask()
            except RuntimeError as error:
                told.append("spawn" in str(error))
        del passing, loader
        gc.collect()
        os._exit(0 if told == [True] * 4 else 1)
    status = os.waitpid(pid, 0)[1]
    return status == 0 and all_same(expected(3), [first, *map(fetched, passing)])


@case
def a_child_of_fork_amid_workers():
    """The error comes before the child waits for a batch, which workers give to its parent."""
    passing = iter(stoker.Loader(loader_of(planes), **WANTED))
    first = list(fetched(next(passing)))
    pid = os.fork()
    if pid == 0:
        try:
            next(passing)
        except RuntimeError as error:
            os._exit(0 if "spawn" in str(error) else 1)
        os._exit(1)
    status = os.waitpid(pid, 0)[1]
    return status == 0 and all_same(normalised(loader_of(planes, 0)), [first, *(list(fetched(batch)) for batch in passing)])


@case
def a_worker_that_is_killed():
    """Its sent batches are right; its slots are unlocked and unmapped."""
    right, before = normalised(loader_of(planes, 0)), devices.of(0).pinned()
    ours = map(fetched, watched(stoker.Loader(loader_of(killing), **WANTED)))
    made, error = until_error(ours)
    told = is_of_a_killed_worker(error)
    del ours, error
    gc.collect()
    return (told and (not made or all_same(right[:len(made)], made)) and world.wild == 0
            and devices.of(0).pinned() == before)


@case
def early_break():
    """Copies that had been begun are let go of, and their slots are free again."""
    world.late_us, loader = 5000, stoker.Loader(Slots(20), prefetch=3, **WANTED)
    for _ in range(5):
        for batch in loader:
            made = fetched(batch)
            break
        del batch
        if not same(made, expected(1)[0]) or loader.source.are_alive():
            return "held"
    return all_same(expected(20), fetch_all(loader)) and world.wild == 0


@case
def passes_of_several_threads():
    """Threads share one loader: one ends, or gives a batch out, while others send."""
    plain, made, errors = list(loader_of(floats, 0)), [], []

    class Source:
        def __iter__(self):
            return ([part.clone() for part in batch] for batch in plain)

    loader = stoker.Loader(Source(), device="cuda:0")

    def work():
        try:
            made.extend(all_same(plain, fetch_all(loader)) for _ in range(4))
        except Exception as error:
            errors.append(repr(error))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return made == [True] * 16 or errors


@case
def a_thousand_loaders():
    slots = Slots(1)

    def counts():
        gc.collect()
        fake.copiers_ended()
        return [len(os.listdir("/proc/self/fd")), threading.active_count(), world.locks, world.memories,
                world.events, world.streams, slots.are_alive()]

    def work():
        assert len(fetch_all(stoker.Loader(slots, **WANTED))) == 1
    world.late_us, before = 0, None
    for i in range(1020):
        work()
        if i == 20:
            before = counts()
    return [before, counts()]


def begin_ring():
    _core.ring_begin(int.from_bytes(os.urandom(8), "little"))


fake.install()
begin_ring()
for name in sys.argv[1:]:
    world.late_us, world.device_bytes, world.locked_bytes = 200, 1 << 32, 1 << 32
    say(name, CASES[name]())
os._exit(0)
