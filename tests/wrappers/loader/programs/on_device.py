"""stoker.Loader and stoker.gpu.augment on a real GPU, beside torch on the processor. Usage: on_device.py [CASE...]

Prints ["no device", reason] where torch has no GPU.
"""

import gc
import os
import sys
import tempfile
import threading

import torch
from sets import (MEAN, STD, all_same, array, drawn, floats, in_dict, loader_of, named, of_torch, pixels, planes,
                  same, say, stacked, without_images)

import stoker
from stoker import gpu
from stoker._gpu import device as devices

CASES = {}
WANTED = {"device": "cuda:0", "mean": MEAN, "std": STD}
BUSY_CYCLES = 40_000_000  # some 20 ms of one thread of the device


def case(function):
    CASES[function.__name__] = function
    return function


def normalised(batches):
    return [[of_torch(images), *rest] for images, *rest in batches]


def fetched(what):
    """Returns a batch's copy on the processor."""
    if isinstance(what, torch.Tensor):
        return what.cpu()
    if isinstance(what, dict):
        return {key: fetched(value) for key, value in what.items()}
    if isinstance(what, tuple) and hasattr(what, "_fields"):
        return type(what)(*map(fetched, what))
    if isinstance(what, (list, tuple)):
        return type(what)(map(fetched, what))
    return what


def fetch_all(loader):
    return [fetched(batch) for batch in loader]


# ---- what arrives ----

@case
def types_and_layouts():
    right = []
    for dtype in torch.float16, torch.bfloat16, torch.float32:
        for layout, form in ("NCHW", torch.contiguous_format), ("NHWC", torch.channels_last):
            for function, collate in (planes, None), (array, stacked):
                made = stoker.Loader(loader_of(function, collate_fn=collate), dtype=dtype, layout=layout, **WANTED)
                right += [images.device.type == "cuda" and same(images.cpu(), of_torch(planar[0], dtype))
                          and images.is_contiguous(memory_format=form)
                          for (images, *_), planar in zip(made, loader_of(planes, 0))]
    return len(right) == 72 and all(right)


@case
def draws_and_order():
    """A pass draws as the plain loader's pass does."""
    made = []
    for wrap in normalised, lambda plain: fetch_all(stoker.Loader(plain, **WANTED)):
        torch.manual_seed(7)
        plain = loader_of(drawn, shuffle=True)
        made.append([wrap(plain), wrap(plain), [torch.rand(3)]])
    return all(all_same(mine, other) for mine, other in zip(*made))


@case
def floats_alone():
    return all_same(loader_of(floats, 0), fetch_all(stoker.Loader(loader_of(floats), device="cuda:0")))


@case
def structures():
    plain = [{**batch, "image": of_torch(batch["image"])} for batch in loader_of(in_dict, 0)]
    plain_named = [batch._replace(image=of_torch(batch.image)) for batch in loader_of(named, 0)]
    return (all_same(plain, fetch_all(stoker.Loader(loader_of(in_dict), **WANTED)))
            and all_same(plain_named, fetch_all(stoker.Loader(loader_of(named), **WANTED))))


@case
def views_and_one_channel():
    images = torch.randint(0, 256, (5, 3, 20, 24), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    wide = torch.zeros(5, 3, 20, 48, dtype=torch.uint8)
    wide[..., ::2] = images
    sources = [images, images.contiguous(memory_format=torch.channels_last), wide[..., ::2], images[:, :1]]
    made = fetch_all(stoker.Loader(sources, device="cuda:0"))
    plain = images.to(torch.float32).div(255)
    return all(same(each, plain) for each in made[:3]) and same(made[3], plain[:, :1])


@case
def dlpack():
    images, _ = next(iter(stoker.Loader(loader_of(planes), **WANTED)))
    again = torch.utils.dlpack.from_dlpack(images)
    return again.data_ptr() == images.data_ptr() and same(again.cpu(), images.cpu())


@case
def images_that_are_not_found():
    return without_images(lambda batches, **wanted: stoker.Loader(batches, device="cuda:0", **wanted))


@case
def floats_that_are_there_already():
    images = torch.rand(2, 3, 4, 5)
    (made,) = stoker.Loader([images.cuda()], **WANTED)
    right = (images - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    return torch.allclose(made.cpu(), right, atol=1e-6)


# ---- who waits for whom ----

def large(i):
    """Some 12 MB a batch of 8: a copy of them takes longer than its call."""
    generator = torch.Generator().manual_seed(i)
    return torch.randint(0, 256, (3, 700, 700), dtype=torch.uint8, generator=generator), i


@case
def slots_are_not_written_before_their_copies_have_ended():
    """The consumer's stream is busy, its batches are dropped at once, and workers write at once."""
    right = [of_torch(images).sum(dtype=torch.float64) for images, _ in loader_of(large, 0, 160)]
    seen = []
    for prefetch in 0, 2, 3:
        sums = []
        for images, _ in stoker.Loader(loader_of(large, count=160), prefetch=prefetch, **WANTED):
            torch.cuda._sleep(BUSY_CYCLES // 10)
            sums.append(images.to(torch.float64).sum())
        seen.append(all(abs(mine.item() - other.item()) < 1e-3 for mine, other in zip(sums, right)) and len(sums) == 20)
    return all(seen)


@case
def memory_of_a_batch_is_the_consumer_s_until_its_stream_has_read_it():
    """The consumer works on another stream, late, and has dropped the batch when its work begins."""
    right, copies = normalised(loader_of(planes, 0, 160)), []
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for images, labels in stoker.Loader(loader_of(planes, count=160), prefetch=3, **WANTED):
            torch.cuda._sleep(BUSY_CYCLES)
            copies.append([images.clone(), labels.clone()])
            del images, labels
    side.synchronize()
    return all_same(right, map(fetched, copies))


@case
def slots_are_locked_once():
    right, locks = normalised(loader_of(planes, 0)), []
    for _ in range(3):
        batches = iter(stoker.Loader(loader_of(planes), **WANTED))
        first = fetched(next(batches))
        locks.append(devices.of(0).pinned())
        if not all_same(right, [first, *map(fetched, batches)]):
            return "other batches"
        del batches
        gc.collect()
        locks.append(devices.of(0).pinned())
    return all(locks[::2]) and not any(locks[1::2]) or locks


@case
def kept_workers():
    right, ours = normalised(loader_of(planes, 0)), stoker.Loader(loader_of(planes, persistent_workers=True), **WANTED)
    passes = [(all_same(right, fetch_all(ours)), devices.of(0).pinned() > 0) for _ in range(3)]
    return all(map(all, passes)) or passes


@case
def early_break():
    loader = stoker.Loader(loader_of(planes, count=160), prefetch=3, **WANTED)
    right = normalised(loader_of(planes, 0, 160))
    for _ in range(5):
        for batch in loader:
            break
        if not same(fetched(batch), right[0]):
            return "another batch"
    return all_same(right, fetch_all(loader))


@case
def passes_of_several_threads():
    plain, made = list(loader_of(floats, 0)), []

    class Source:
        def __iter__(self):
            return ([part.clone() for part in batch] for batch in plain)

    loader = stoker.Loader(Source(), device="cuda:0")
    threads = [threading.Thread(target=lambda: made.extend(all_same(plain, fetch_all(loader)) for _ in range(4)))
               for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return made == [True] * 16


@case
def torch_s_own_work_goes_on_beside_it():
    """torch's pinned copies and a captured graph use the same context."""
    right = normalised(loader_of(planes, 0))
    static, graph = torch.zeros(8, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static += 1
    made = []
    for batch in stoker.Loader(loader_of(planes), **WANTED):
        graph.replay()
        pinned = torch.arange(1000.0).pin_memory().to("cuda", non_blocking=True)
        made.append([fetched(batch), pinned.sum().item()])
    return (all_same(right, [batch for batch, _ in made]) and {total for _, total in made} == {499500.0}
            and static[0].item() == len(made))


# ---- other sources ----

@case
def paths():
    from PIL import Image
    with tempfile.TemporaryDirectory() as directory:
        names = [os.path.join(directory, f"{i}.jpg") for i in range(10)]
        for i, name in enumerate(names):
            Image.fromarray(pixels(i)).resize((96, 80)).save(name)
        made = []
        for device in "cpu", "cuda:0":
            loader = stoker.Loader(names * 12, range(120), batch_size=4, threads=2, mean=MEAN, std=STD, device=device)
            made.append([batch for _ in range(3) for batch in fetch_all(loader)])
    return all_same(*made)


@case
def augment():
    images = torch.randint(0, 256, (100, 32, 32, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    indices, right = torch.tensor([3, 99, 0, 42, 42, 7, 63]), []
    for padding, flip in (0, False), (4, False), (0, True), (4, True):
        for dtype in torch.float32, torch.float16, torch.bfloat16:
            for channels_last in False, True:
                made = [gpu.augment(each, indices, mean=MEAN, std=STD, padding=padding, flip=flip, dtype=dtype,
                                    channels_last=channels_last, generator=torch.Generator().manual_seed(5))
                        for each in (images, images.cuda())]
                right.append(made[1].is_cuda and made[0].stride() == made[1].stride()
                             and same(made[0], made[1].cpu()))
    return len(right) == 24 and all(right)


# ---- what goes wrong ----

@case
def a_child_of_fork():
    loader = stoker.Loader(loader_of(planes), **WANTED)
    passing = iter(loader)
    first = fetched(next(passing))
    pid = os.fork()
    if pid == 0:
        told = []
        for ask in (lambda: next(passing), lambda: list(loader), lambda: stoker.Loader([], **WANTED)):
            try:
                ask()
            except RuntimeError as error:
                told.append("spawn" in str(error))
        os._exit(0 if told == [True] * 3 else 1)
    status = os.waitpid(pid, 0)[1]
    return status == 0 and all_same(normalised(loader_of(planes, 0)), [first, *map(fetched, passing)])


@case
def no_memory_of_the_device():
    """An error comes at its batch's turn, and the next batch follows."""
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(0)
    torch.cuda.set_per_process_memory_fraction(1e-4)
    batch = torch.zeros(64, 3, 512, 512, dtype=torch.uint8)
    loader = stoker.Loader([batch], **WANTED)
    try:
        list(loader)
        return "no error"
    except RuntimeError as error:  # torch's own
        told = "memory" in str(error)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    return told and free > 0 and len(list(loader)) == 1


@case
def no_such_device():
    try:
        stoker.Loader([], device="cuda:77")
        return "no error"
    except gpu.NoDevice as error:
        return len(str(error)) > 10


@case
def nothing_is_left_of_many_loaders():
    def counts():
        gc.collect()
        torch.cuda.synchronize()
        return [len(os.listdir("/proc/self/fd")), threading.active_count(), devices.of(0).pinned(),
                torch.cuda.memory_allocated()]
    batch = [torch.zeros(4, 3, 20, 20, dtype=torch.uint8)]
    for i in range(120):
        list(stoker.Loader(batch, **WANTED))
        if i == 20:
            before = counts()
    after = counts()
    return all(now <= then for now, then in zip(after, before)) or [before, after]


if __name__ == "__main__":
    if not torch.cuda.is_available():
        say("no device", "no GPU for torch: torch.cuda.is_available() is False")
        os._exit(0)
    for name in sys.argv[1:] or CASES:
        try:
            say(name, CASES[name]())
        except Exception as error:
            say(name, f"{type(error).__name__}: {error}")
    sys.stdout.flush()
    os._exit(0)
