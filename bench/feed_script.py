#!/usr/bin/env python3
"""Batches of one data set by threads or by worker processes, and what they are made of, when it is told to.

    feed_script.py DIRECTORY

For each line of its standard input it goes through the data once, and prints the images, the seconds, the
seconds of processor time of this process and of its threads' children, those of the calling thread alone, and
the bytes of memory that all of them have for themselves. The line says how:

    threads N    by a Feed of so many threads
    workers N    by a DataLoader of so many processes that stay
    decode       the decoder alone, in this thread: from files in memory to rows of a batch
    read         the files alone, into one buffer
"""

import os
import random
import sys
import time

import torch
from torchvision import datasets, transforms

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build/python"))

from stoker import _core, transforms as fused  # noqa: E402
from stoker._feed import Feed  # noqa: E402
from stoker._feeding import layout, pixels  # noqa: E402

BATCH = 64
SIDE = 224
PASSES = 8  # of the data set in an epoch: threads begin with it anew, and find their feet


class Data:
    def __init__(self, directory):
        self.directory = directory
        self.transform = fused.RandomResizedCropFlip(SIDE)
        samples = datasets.ImageFolder(directory).samples * PASSES
        self.paths, self.labels = [path for path, _ in samples], [label for _, label in samples]
        self.made = {}

    def batches(self, how, count):
        if (how, count) not in self.made:
            self.made[how, count] = getattr(self, how)(count)
        return self.made[how, count]

    def threads(self, count):
        return Feed(self.paths, self.labels, transform=self.transform, batch_size=BATCH, shuffle=True,
                    threads=count)

    def workers(self, count):
        dataset = datasets.ImageFolder(self.directory, transforms.Compose(self.transform.transforms))
        dataset.samples *= PASSES
        return torch.utils.data.DataLoader(dataset, BATCH, shuffle=True, num_workers=count,
                                           persistent_workers=True)


def handed_out(batches):
    start, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
    images = sum(len(labels) for _, labels in batches)
    return images, time.perf_counter() - start, time.process_time() - cpu, time.thread_time() - own


def alone(data, how):
    """By the plans of another epoch, which nobody is waited for while they are made."""
    order = random.sample(data.paths, len(data.paths))
    crew = _core.feed_crew(1)
    files = crew.files()
    files.read(order)
    while not files.are_done():
        crew.wait(crew.ends())
    maker = pixels.Maker(data.transform.transforms)
    rows = [maker.make(path, files.head(i)) for i, path in enumerate(order)]
    crew.close()
    found = layout.layout_of(rows[:BATCH])
    memory = memoryview(bytearray(BATCH * found.row_bytes))
    out = [memory[i * found.row_bytes:(i + 1) * found.row_bytes] for i in range(BATCH)]
    plans = [row.order(found.end) for row in rows]
    return globals()[how](order, plans, out)


def decode(order, plans, out):
    files = []
    for path in order:
        with open(path, "rb") as file:
            files.append(file.read())
    start, cpu = time.perf_counter(), time.thread_time()
    for i, (data, plan) in enumerate(zip(files, plans)):
        _core.decode_kept(data, None, plan, out[i % BATCH])
    cpu = time.thread_time() - cpu
    return len(files), time.perf_counter() - start, cpu, cpu


def read(order, _, __):
    buffer = memoryview(bytearray(1 << 20))
    start, cpu = time.perf_counter(), time.thread_time()
    for path in order:
        fd = os.open(path, os.O_RDONLY)
        os.fstat(fd)
        while os.readv(fd, [buffer]):
            pass
        os.close(fd)
    cpu = time.thread_time() - cpu
    return len(order), time.perf_counter() - start, cpu, cpu


def own_memory_bytes():
    """Of this process and its children: their parts of what they share."""
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
        if count:
            told = handed_out(data.batches(how, int(count[0])))
        else:
            told = alone(data, how)
        print(*told, own_memory_bytes(), flush=True)


if __name__ == "__main__":
    main()
