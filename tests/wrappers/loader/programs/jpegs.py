"""stoker.Loader(paths, decode="nvjpeg") on the GPU of the tests (fake.py). The nvJPEG of tests/gpu
has the processor's own pixels. Usage: jpegs.py DIRECTORY CASE..."""

import gc
import os
import pathlib
import sys
import time

import fake
import late
import numpy as np
import torch
import torchvision.transforms as T
from fake import devices, fetched, world
from sets import MEAN, STD, picture, say
from torchvision.transforms.functional import InterpolationMode as Filter

import stoker
from stoker import gpu
from stoker._feeding.encoded import Encoded

CASES = {}
WANTED = {"device": "cuda:0", "decode": "nvjpeg", "threads": 2}
WHERE = pathlib.Path(sys.argv[1])
LABELS = list(range(100, 122))


def case(function):
    CASES[function.__name__] = function
    return function


# ---- images ----

def make():
    """JPEGs of all sizes, and at some places what nvJPEG does not take."""
    made = []
    for i in range(22):
        image, path = picture(i, 60 + 7 * i, 100 - 3 * i), WHERE / f"{i}.jpg"
        how = {3: {"progressive": True}, 8: {"subsampling": 0}, 9: {"subsampling": 1}}.get(i, {})
        if i == 12:
            image.save(path, "PNG")
        else:
            image.convert({5: "L", 16: "CMYK"}.get(i, "RGB")).save(path, "JPEG", **how)
        made.append(path)
    return made


OTHERS = {3, 5, 12, 16}  # of these, what the processor decodes


def batches_of(transform, paths=None, **more):
    paths = make() if paths is None else paths
    loader = loader_of(transform, paths, more)
    return loader, [fetched(batch) for batch in loader]


def loader_of(transform, paths, more):
    return stoker.Loader(paths, LABELS[:len(paths)], transform=transform, **{
        "batch_size": 5, "shuffle": True, "generator": 3, **WANTED, **more})


def plain_batches_of(transform, paths=None, **more):
    paths = make() if paths is None else paths
    return list(loader_of(transform, paths, {**more, "decode": None, "device": "cpu"}))


def farthest(ours, plain):
    """By how much the images of two passes differ at most; None where anything else does."""
    if len(ours) != len(plain):
        return None
    most = 0
    for (images, labels), (images_plain, labels_plain) in zip(ours, plain):
        if (images.shape != images_plain.shape or images.dtype is not images_plain.dtype
                or labels.tolist() != labels_plain.tolist()):
            return None
        most = max(most, float((images.double() - images_plain.double()).abs().max()))
    return most


def step(*bytes_apart):
    """So many levels of a byte, as numbers."""
    return max(bytes_apart) / 255 / min(STD) + 1e-5


# ---- what arrives ----

@case
def without_resizing_pixels_are_equal():
    """Crops and flips alone: numbers, planes of bytes, and bytes that the kernel makes numbers of."""
    crop = [T.RandomCrop(30), T.RandomHorizontalFlip()]
    seen = []
    for end, more in ([T.ToTensor(), T.Normalize(MEAN, STD)], {}), ([T.PILToTensor()], {"mean": MEAN}), (
            [], {"mean": MEAN, "std": STD}), ([], {"dtype": torch.float16, "layout": "NHWC"}):
        loader, ours = batches_of(T.Compose(crop + end), **more)
        plain = plain_batches_of(T.Compose(crop + end), **more)
        seen.append([farthest(ours, plain), loader.decoder.there, loader.decoder.here])
    return seen == [[0, 22 - len(OTHERS), len(OTHERS)]] * 4 and world.wild == 0 or seen


@case
def resized_pixels_are_a_level_off():
    """Regions and flips are equal; torch rounds once where Pillow does so twice."""
    seen = {}
    for name, resize, most in (("region", T.RandomResizedCrop(32), 1), ("both", T.Resize(40), 1),
                               ("cubic", T.RandomResizedCrop(32, interpolation=Filter.BICUBIC), 2)):
        steps = [resize, T.CenterCrop(30), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)]
        loader, ours = batches_of(T.Compose(steps))
        far = farthest(ours, plain_batches_of(T.Compose(steps)))
        seen[name] = far is not None and 0 < far <= step(most) and loader.decoder.here == len(OTHERS) or far
    return all(value is True for value in seen.values()) and world.wild == 0 or seen


@case
def filters_that_torch_lacks_are_the_processors():
    box = T.Compose([T.RandomResizedCrop(32, interpolation=Filter.BOX), T.ToTensor()])
    loader, ours = batches_of(box)
    return farthest(ours, plain_batches_of(box)) == 0 and loader.decoder.there == 0


@case
def transforms_that_are_not_known_are_the_processors():
    def unknown(image):
        return torch.from_numpy(np.array(image.resize((8, 8))))
    loader, ours = batches_of(unknown)
    return (farthest(ours, plain_batches_of(unknown)) == 0 and loader.decoder.there == 0
            and loader.decoder.here == 22)


@case
def the_engine_is_named():
    names = []
    for world.has_no_engine in False, True:
        forget_the_device()
        names.append(stoker.Loader(make(), **WANTED).decoder.name)
    world.has_no_engine = False
    forget_the_device()
    return names == ["nvJPEG 13.0, by the JPEG engine", "nvJPEG 13.0, by kernels"] or names


CROP = T.Compose([T.RandomCrop(30), T.ToTensor()])


@case
def late_batches():
    """Files are held until they are read, which is late, and the next ones are read meanwhile."""
    world.late_us, (_, ours) = 20000, batches_of(CROP, prefetch=3)
    return farthest(ours, plain_batches_of(CROP)) == 0 and world.wild == 0


@case
def files_are_held_until_their_batch_is_out():
    """Also of one that fails, of which something may have been begun."""
    loader, seen, fence = loader_of(CROP, make(), {}), [], fake.Fence()
    side = loader._sink
    side._place.fence = lambda: fence

    def held():
        side.let_go()
        return [type(one) for _, sources in side._held for one in sources if not torch.is_tensor(one)]
    side.begin(next(iter(loader.source)))
    seen.append(held())
    side._jpegs.decoded = None
    try:
        side.begin(next(iter(loader.source)))
    except TypeError:
        seen.append(held())
    fence.event.set()
    return seen == [[Encoded], [Encoded] * 2] and held() == []


@case
def files_that_cannot_be_read():
    """A damaged file raises what it does without, in its turn, and the next batch follows."""
    paths = make()
    paths[7].write_bytes(b"no image")
    paths[13].write_bytes(paths[13].read_bytes()[:400])
    ours, plain = (one_by_one(loader_of(CROP, paths, {**more, "batch_size": 1})) for more in (
        {}, {"decode": None, "device": "cpu"}))
    errors = [i for i, one in enumerate(plain) if isinstance(one, str)]
    return len(errors) == 2 and ours == plain


def one_by_one(loader):
    """The bytes of each, or what was raised in its place."""
    batches, made = iter(loader), []
    while True:
        try:
            made.append(fetched(next(batches))[0].numpy().tobytes())
        except StopIteration:
            return made
        except Exception as error:
            made.append(type(error).__name__)


# ---- what goes wrong ----

@case
def what_makes_no_sense():
    told = []
    for kind, arguments, word in (
            (ValueError, {"decode": "gpu"}, "nvjpeg"), (ValueError, {"device": "cpu"}, 'device="cuda"')):
        try:
            stoker.Loader(make(), **{**WANTED, **arguments})
        except kind as error:
            told.append(word in str(error))
    try:
        stoker.Loader([torch.zeros(1)], device="cuda:0", decode="nvjpeg")
    except TypeError as error:
        told.append("list of paths" in str(error) and "decode" in str(error))
    return told == [True] * 3 and stoker.Loader(make(), device="cpu").decoder is None


@case
def no_library():
    forget_the_device()
    names, devices.nvjpeg._NAMES = devices.nvjpeg._NAMES, ("libnvjpeg.so.0",)
    try:
        stoker.Loader(make(), **WANTED)
    except gpu.NoDevice as error:
        return "libnvjpeg.so.0" in str(error) and "pip install nvidia-nvjpeg" in str(error) or str(error)
    finally:
        devices.nvjpeg._NAMES = names
    return "no error"


def forget_the_device():
    devices._devices.clear()
    gc.collect()


def pass_over(paths, plain):
    """Returns its error, and whether the batches that came were right."""
    made, error = [], None
    try:
        made = batches_of(CROP, paths, batch_size=2, shuffle=False, prefetch=1)[1]
    except (RuntimeError, MemoryError) as why:
        error = str(why)
    if error is None and not all(torch.equal(one[0], other[0]) for one, other in zip(made, plain)):
        error = "other batches"
    return error


@case
def every_call_fails_once():
    """There is an exception, or the processor decodes it and all is right; nothing is left."""
    paths, seen, world.late_us, at = make()[:3], {}, 0, 1
    plain = plain_batches_of(CROP, paths=paths, batch_size=2, shuffle=False)
    theirs = []  # numbers of nvJPEG's calls
    while (failed := fail(at, 999, paths, plain, seen)):
        theirs += [at] * failed.startswith("nvjpeg")
        at += 1
    for at in theirs:
        fail(at, 4, paths, plain, seen)
    return seen


@case
def every_call_fails_for_good():
    """And all later ones."""
    paths = make()[:3]
    plain = list(loader_of(CROP, paths, {"decode": None, "device": "cpu", "batch_size": 2, "shuffle": False}))

    def fail_in_child(at, seen):
        world.late_us = 0
        return fail(at, 999, paths, plain, seen)
    return fake.fail_for_good(fail_in_child, step=9)


def fail(at, result, paths, plain, seen):
    """The call that failed, as that of this number; none, where there are not so many."""
    forget_the_device()
    world.calls, world.failed, world.fail_at, world.fail_with = 0, None, at, result
    error = pass_over(paths, plain)
    forget_the_device()
    world.fail_at, world.fail_with, failed = 0, 999, (world.failed or b"").decode()
    told = seen.setdefault(failed, [])
    if error == "other batches" or world.decoders or world.retained or world.wild:
        told.append([result, at, error, world.decoders, world.retained, world.wild])
    if failed == "nvjpegDecodeBatched" and (error is None) != (result == 4):
        told.append([result, at, error])
    return failed


@case
def a_child_of_fork():
    """It has neither the pass's threads nor the device; the parent goes on."""
    plain = plain_batches_of(CROP)
    loader = stoker.Loader(make(), LABELS, transform=CROP, batch_size=5, shuffle=True, generator=3, **WANTED)
    passing = iter(loader)
    made = [fetched(next(passing))]
    pid = os.fork()
    if pid == 0:
        told = 0
        for ask in (lambda: next(passing), lambda: next(iter(loader)), lambda: stoker.Loader(make(), **WANTED)):
            try:
                ask()
            except RuntimeError:
                told += 1
        del passing, loader
        gc.collect()
        os._exit(0 if told == 3 else 1)
    status = os.waitpid(pid, 0)[1]
    made += [fetched(batch) for batch in passing]
    return status == 0 and farthest(made, plain) == 0 and world.wild == 0


@case
def early_break():
    world.late_us, paths = 5000, make()
    for _ in range(10):
        for _ in stoker.Loader(paths, transform=CROP, batch_size=5, prefetch=3, **WANTED):
            break
    return left_of() == (0, 0) and world.wild == 0 or left_of()


def left_of():
    forget_the_device()
    return world.decoders, world.memories


@case
def many_loaders():
    """[descriptors, threads, pieces of device memory, what nvJPEG has made] before and afterwards."""
    paths, world.late_us = make()[:4], 0

    def counts():
        gc.collect()
        fake.copiers_ended()
        return [len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), world.memories,
                world.decoders, world.events, world.streams]
    for i in range(220):
        for _ in stoker.Loader(paths, transform=CROP, batch_size=4, **WANTED):
            pass
        if i == 20:
            before = counts()
    for _ in range(600):  # threads of the last one may be about to end
        after = counts()
        if all(now <= then for now, then in zip(after, before)):
            break
        time.sleep(0.1)
    return [before, after]


late.install()
for name in sys.argv[2:]:
    world.late_us = 200
    say(name, CASES[name]())
os._exit(0)
