"""Reading a file in one process, by threads, by many processes: see __main__.py.

A module of its own, since workers of multiprocessing import what they run by its name.
"""

import concurrent.futures
import functools
import hashlib
import multiprocessing
import os
import random
import re

from . import readers
from .reader import chosen, digest, items

WORKERS = 8
PARTS = 1, 4


def path_of(top, reader):
    return os.path.join(top, re.sub(r"\W+", "-", reader.name) + reader.suffix)


def make_all(top):
    """Files, and for each reader why there is none, or None."""
    said = {}
    for name, reader in readers.items():
        said[name] = reader.missing()
        if said[name] is None:
            reader.make(path_of(top, reader))
    return said


def read_all(top):
    """Returns the digests of all readers that can be run here: {name: {part: digest}}."""
    said = {}
    for name, reader in readers.items():
        if reader.missing() is None:
            reading = Main(reader, path_of(top, reader))
            said[name] = {part: reading.epoch(0, part) for part in PARTS}
    return said


def whole(pairs):
    """One digest of those of the items."""
    return hashlib.md5("".join(sorted(pairs)).encode()).hexdigest()


class Main:
    """In this process."""

    def __init__(self, reader, path):
        self.reader, self.path = reader, path
        self.open()

    def open(self):
        self.source = None  # first: what is mapped once may not be mapped twice
        self.source = self.reader.open(self.path)

    def is_stream(self):
        return not hasattr(self.source, "__getitem__")

    def epoch(self, seed, part):
        return whole(found for _, found in items(self.source, random.Random(seed), part))


class Threads(Main):
    def epoch(self, seed, part):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            if self.is_stream():
                return agreed(pool.map(lambda _: Main.epoch(self, seed, part), range(WORKERS)))
            numbers = chosen(len(self.source), random.Random(seed), part)
            return whole(pool.map(lambda number: digest(number, self.source[number]), numbers))


def agreed(found):
    """Returns the one digest of readers that have each read everything."""
    found = set(found)
    assert len(found) == 1, found
    return found.pop()


# ---- processes ----

mine = None  # what this process has open


def open_mine(name, path, all_are_here):
    """Some file systems forget what they have in memory of a file when it is opened: so no worker
    reads before all have opened it."""
    global mine
    if mine is None:
        mine = readers[name].open(path)
    all_are_here.wait()


def read_item(number):
    return digest(number, mine[number])


def read_stream(_):
    return whole(found for _, found in items(mine, None, 1))


class Own(Main):
    """Each process opens the file itself."""

    def open(self):
        global mine
        self.source = self.reader.open(self.path)
        self.count = None if self.is_stream() else len(self.source)
        mine = self.keep()
        context = multiprocessing.get_context("fork")
        self.pool = context.Pool(WORKERS, open_mine,
                                 (self.reader.name, self.path, context.Barrier(WORKERS)))

    def keep(self):
        self.source = None
        return None

    def epoch(self, seed, part):
        if self.count is None:
            return agreed(self.pool.map(read_stream, range(WORKERS), 1))
        numbers = chosen(self.count, random.Random(seed), part)
        return whole(self.pool.imap_unordered(read_item, numbers, 4))


class Inherited(Own):
    def keep(self):
        return self.source


# ---- torch ----

class Order:
    """A sampler whose numbers are drawn anew for each epoch."""

    def __init__(self, count):
        self.count, self.numbers = count, range(count)

    def draw(self, seed, part):
        self.numbers = chosen(self.count, random.Random(seed), part)

    def __iter__(self):
        return iter(self.numbers)

    def __len__(self):
        return len(self.numbers)


class Set:
    """A data set for torch, whose file the workers open."""

    def __getitem__(self, number):
        return read_item(number)


def open_in_worker(name, path, all_are_here, _):
    open_mine(name, path, all_are_here)


class Loader(Main):
    def open(self):
        import torch.utils.data

        count = len(self.reader.open(self.path))
        self.order = Order(count)
        self.loader = torch.utils.data.DataLoader(
            Set(), batch_size=4, sampler=self.order, collate_fn=list, num_workers=WORKERS,
            persistent_workers=True, worker_init_fn=functools.partial(
                open_in_worker, self.reader.name, self.path, multiprocessing.Barrier(WORKERS)))

    def epoch(self, seed, part):
        self.order.draw(seed, part)
        return whole(found for batch in self.loader for found in batch)


WAYS = {"main": Main, "threads": Threads, "own": Own, "inherited": Inherited, "loader": Loader}
