#!/usr/bin/env python3
"""Batches of one data set by threads or by worker processes, and what they are made of, on order.

    feed_script.py DIRECTORY

For each line of its standard input it goes through the data once. It prints the images and the seconds. Then it
prints the seconds of processor time of this process, those of the calling thread, and those inside of the decoder.
Last come the bytes of memory that it and its children have for themselves. The line says how:

    threads N    by a Feed of so many threads, as normalised floats
    bytes N      the same, as bytes: what is sent to a GPU
    workers N    by a DataLoader of so many processes that stay

Other lines make, from files in memory, what a Feed would make of them in the same epoch. One thread does it, or
as many at once as the line says. The script then prints only the seconds inside of the decoder, as the time
that Python takes to call it is no part of decoding:

    region       the regions that are wanted, as bytes, each where the last one was
    resized      these, resized
    planes       these as normalised floats
    floats       the same, each to a row of a batch, which is larger than caches
    rows         the same, as bytes
    read         the files alone, into one buffer

Each way makes the same plans of the same images in the same order in its n-th epoch.
"""

import os
import sys
import threading
import time

import torch
from torchvision import datasets, transforms

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/python"))

from stoker import _core, transforms as fused  # noqa: E402
from stoker._feed import Feed  # noqa: E402
from stoker._feeding import pixels, worker_rng  # noqa: E402
from stoker._pillow.plan import CHW, F32, HWC, U8  # noqa: E402

BATCH = 64
SIDE = 224
PASSES = 8  # of the data set in an epoch: threads begin with it anew, and find their feet
LARGEST = 4 << 20  # bytes of a region
HANDED_OUT = "threads", "bytes", "workers"


class Data:
    def __init__(self, directory):
        self.directory = directory
        self.transform = fused.RandomResizedCropFlip(SIDE)
        samples = datasets.ImageFolder(directory).samples * PASSES
        self.paths, self.labels = [path for path, _ in samples], [label for _, label in samples]
        self.made, self.epochs = {}, {}

    def batches(self, how, count):
        if (how, count) not in self.made:
            self.made[how, count] = getattr(self, how)(count)
        return self.made[how, count]

    def seed(self, way):
        self.epochs[way] = self.epochs.get(way, 0) + 1
        torch.manual_seed(self.epochs[way])

    def threads(self, count, transform=None):
        return Feed(self.paths, self.labels, transform=transform or self.transform, batch_size=BATCH,
                    shuffle=True, threads=count)

    def bytes(self, count):
        return self.threads(count, fused.Compose(self.transform.transforms[:2]))

    def workers(self, count):
        dataset = datasets.ImageFolder(self.directory, transforms.Compose(self.transform.transforms))
        dataset.samples *= PASSES
        return torch.utils.data.DataLoader(dataset, BATCH, shuffle=True, num_workers=count,
                                           persistent_workers=True)


def inside():
    """Seconds of processor time that were spent in the decoder so far, by all threads."""
    return _core.counts()["jpeg_ns"] / 1e9


def handed_out(batches):
    start, cpu, own, decoder = time.perf_counter(), time.process_time(), time.thread_time(), inside()
    images = sum(len(labels) for _, labels in batches)
    return (images, time.perf_counter() - start, time.process_time() - cpu, time.thread_time() - own,
            inside() - decoder)


def drawn(feed):
    """(the paths of an epoch in its order, what is noted of each)."""
    rng = worker_rng.WorkerRng(feed.generator)
    order = [feed.paths[i] for batch in feed.batch_sampler for i in batch]
    pool = _core.feed_thread_pool(1)
    files = pool.files()
    files.read(order)
    while not files.are_done():
        pool.wait(pool.ends())
    maker = pixels.Maker(feed.transforms)
    with rng.drawn(False):
        rows = [maker.make(path, files.head(i)) for i, path in enumerate(order)]
    pool.close()
    return order, rows


def alone(data, how, threads):
    order, rows = drawn(data.batches("threads", 1))
    if how == "read":
        return read(order)
    as_bytes, as_floats = (3, HWC, U8, None), rows[0].tail.end
    assert as_floats[1:3] == (CHW, F32)
    plans = [row.request(as_floats if how in ("planes", "floats") else as_bytes) for row in rows]
    if how == "region":
        plans = [without_resize(plan) for plan in plans]
    return decode(order, plans, BATCH if how in ("floats", "rows") else threads, threads)


def without_resize(plan):
    (crop, _, _, *rest), *more = plan
    left, top, right, bottom = crop
    return ((crop, (right - left, bottom - top), 0, *rest), *more)


def bytes_of(plan):
    (_, (width, height), *_), _, (channels, _, type, _) = plan
    return width * height * channels * (4 if type == F32 else 1)


def at_once(work, threads):
    """Each does the images from its number on, so many apart."""
    those = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for thread in those:
        thread.start()
    for thread in those:
        thread.join()


def touched(count):
    """Memory that is there: a Feed's is from its second batch on."""
    return memoryview(bytearray(b"\1") * count)


def decode(order, plans, count, threads):
    """To so many places in turn."""
    files = []
    for path in order:
        with open(path, "rb") as file:
            files.append(file.read())
    row = LARGEST if count == 1 else bytes_of(plans[0])
    memory = touched(count * row)
    out = [memory[i % count * row:][:bytes_of(plan)] for i, plan in enumerate(plans)]
    def some(first):
        for i in range(first, len(files), threads):
            _core.decode_stored(files[i], None, plans[i], out[i])
    start, decoder = time.perf_counter(), inside()
    at_once(some, threads)
    decoder = inside() - decoder
    return len(files), time.perf_counter() - start, decoder, 0, decoder


def read(order):
    buffer = touched(1 << 20)
    start, cpu = time.perf_counter(), time.thread_time()
    for path in order:
        fd = os.open(path, os.O_RDONLY)
        os.fstat(fd)
        while os.readv(fd, [buffer]):
            pass
        os.close(fd)
    cpu = time.thread_time() - cpu
    return len(order), time.perf_counter() - start, cpu, cpu, 0


def own_memory_bytes():
    """The memory of this process and its children, with their parts of what they share."""
    pids, total = [os.getpid()], 0
    while pids:
        pid = pids.pop()
        with open("/proc/%d/smaps_rollup" % pid) as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                pids += map(int, file.read().split())
    return total


def main():
    torch.set_num_threads(1)
    data = Data(sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        how, *count = line.split()
        count = int(count[0]) if count else 1
        data.seed(line)
        told = handed_out(data.batches(how, count)) if how in HANDED_OUT else alone(data, how, count)
        print(*told, own_memory_bytes(), flush=True)


if __name__ == "__main__":
    main()
