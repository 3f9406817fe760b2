"""Batches by threads of one process: what an image costs beyond its decoding, and against workers.

One process hands out epochs by 1, 2 and 4 threads in turn with the decoder alone and the reading alone, each
in one thread; then, under `stoker run`, one by threads and one by worker processes, in later epochs.
"""

import contextlib
import os

import ground
from measure import Table, times
from parts import epochs

SCRIPT = os.path.join(ground.REPOSITORY, "bench", "feed_script.py")
IMAGES = 300
THREADS = (1, 2, 4)
BEYOND_US = 15  # what an image may cost beyond reading and decoding it
STARTS, EPOCHS, WARM = 3, 8, 2
MB = 1e6


class Script(epochs.Script):
    """One process of it."""

    def __init__(self, prefix, directory):
        super().__init__(prefix, SCRIPT, directory)

    def epoch(self, how):
        """(images per second, microseconds of processor time for an image, of these the calling thread's,
        megabytes of memory)."""
        images, seconds, cpu, own, memory = map(float, self.ask(how))
        return images / seconds, cpu * 1e6 / images, own * 1e6 / images, memory / MB


def run_alone(directory):
    """Of each way what its epochs were."""
    ways = ["decode", "read", *("threads %d" % count for count in THREADS)]
    with Script([], directory) as script:
        for _ in range(WARM):
            for way in ways:
                script.epoch(way)
        turns = [[script.epoch(way) for way in ways] for _ in range(times(EPOCHS))]
    return [[turn[i] for turn in turns] for i in range(len(ways))]


def run_under_stoker(directory, tier):
    run = [ground.STOKER, "run", "--path", directory, "--tier", tier + ":1G", "--"]
    with contextlib.ExitStack() as stack:
        scripts = {way: stack.enter_context(Script(run, directory)) for way in ("threads 2", "workers 2")}
        for way, script in scripts.items():
            for _ in range(WARM + 1):  # forms are made in the second
                script.epoch(way)
        turns = [[script.epoch(way) for way, script in scripts.items()] for _ in range(times(EPOCHS))]
    return [[turn[i] for turn in turns] for i in range(2)]


def pick(starts, which):
    """One figure of each epoch."""
    return [[epoch[which] for epoch in start] for start in starts]


def together(one, other):
    """The sums, epoch by epoch."""
    return [[a + b for a, b in zip(*pair)] for pair in zip(one, other)]


def add_alone(table, decode, read, *by_threads):
    decoding, reading = pick(decode, 1), pick(read, 1)
    what = "224 x 224 float, batch 64, threads: %d"
    for count, threads in zip(THREADS, by_threads):
        table.row(what % count + ", processor time of an image", "us", pick(threads, 1),
                  together(decoding, reading), kind="more", peer_name="read and decoded alone",
                  goal=BEYOND_US, decimals=1)
    table.row(what % 1 + ", the calling thread's part", "us", pick(by_threads[0], 2), decimals=1)
    table.row("reading a file", "us", reading, decimals=1)
    for count, threads in zip(THREADS[1:], by_threads[1:]):
        table.row(what % count, "images/s", pick(threads, 0), pick(by_threads[0], 0),
                  peer_name="1 thread", decimals=0)


def add_under_stoker(table, threads, workers):
    what = "the same under stoker run, later epochs, 2 threads"
    table.row(what, "images/s", pick(threads, 0), pick(workers, 0), decimals=0,
              peer_name="DataLoader, 2 workers")
    table.row(what + ", memory", "MB", pick(threads, 3), pick(workers, 3), decimals=0,
              peer_name="DataLoader, 2 workers")


def measure():
    table = Table("feed")
    with epochs.some_images(IMAGES) as (images, tier):
        ground.let_age()
        add_alone(table, *ground.collect(times(STARTS), lambda: run_alone(images)))
        add_under_stoker(table, *ground.collect(times(STARTS), lambda: run_under_stoker(images, tier)))
    return table
