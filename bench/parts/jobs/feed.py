"""Batches by threads of one process: what an image costs beyond its decoding, and against workers.

One process hands out epochs by 1, 2 and 4 threads, as floats and as bytes, in turn with the pieces of which these
consist. Each piece is done alone with the same images and regions: regions decoded, these resized, laid out as
floats, written to a batch, and files read. Rows call "read and decoded alone" all of the decoder's own work and the
reading of the file into a buffer that stays in the cache. The decoder's work is decoding, resizing, normalising and
rows of a batch, written in the ordinary way. The clock inside of the decoder measures it, without its caller. All
that a Feed takes beyond that is its own: planning, labels, queues, files that lie in memory until they are decoded.

Processors that work at the same time share caches and memory, so each is slower than one by itself, whatever they
work for. So a Feed of several threads is held against as many threads at once that do nothing but decode. They
are no more than there are processors, as a Feed has no more threads decode at a time. Without a goal, the Feed is
held against a single thread, too. The time outside of the decoder, without reading, compares Feeds of any number
of threads.

Then, under `stoker run`, one by threads and one by worker processes, in later epochs.
"""

import contextlib
import os

import ground
from measure import Table, times
from parts.jobs import epochs

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "feed_script.py")
IMAGES = 300
THREADS = (1, 2, 4)
BEYOND_US = 15  # what an image may cost beyond reading and decoding it
STARTS, EPOCHS, WARM = 3, 5, 1
FORMS, WARM_FORMS = 8, 3  # epochs under `stoker run`: forms are made in the second
MB = 1e6


class Script(epochs.Script):
    """One process of it."""

    def __init__(self, prefix, directory):
        super().__init__(prefix, SCRIPT, directory)

    def epoch(self, how):
        """(images per second, microseconds of processor time for an image, of these the calling thread's,
        megabytes of memory, microseconds outside of the decoder)."""
        images, seconds, cpu, own, decoder, memory = map(float, self.ask(how))
        us = 1e6 / images
        return images / seconds, cpu * us, own * us, memory / MB, (cpu - decoder) * us


PIECES = ("read", "region", "resized", "planes", "floats", "rows")
FEEDS = (*("threads %d" % count for count in THREADS), "bytes 1", "bytes 2")


def beside(way):
    """Decodes alone what a Feed decodes."""
    how, count = way.split()
    processors = min(int(count), len(os.sched_getaffinity(0)))
    piece = "floats" if how == "threads" else "rows"
    return piece if processors == 1 else "%s %d" % (piece, processors)


WAYS = tuple(dict.fromkeys((*PIECES, *map(beside, FEEDS), *FEEDS)))


def run_alone(directory):
    """Returns the epochs of each way."""
    with Script([], directory) as script:
        for _ in range(WARM):
            for way in WAYS:
                script.epoch(way)
        turns = [[script.epoch(way) for way in WAYS] for _ in range(times(EPOCHS))]
    return [[turn[i] for turn in turns] for i in range(len(WAYS))]


def run_under_stoker(directory, tier):
    run = [ground.STOKER, "run", "--path", directory, "--tier", tier + ":1G", "--"]
    with contextlib.ExitStack() as stack:
        scripts = {way: stack.enter_context(Script(run, directory)) for way in ("threads 2", "workers 2")}
        for way, script in scripts.items():
            for _ in range(WARM_FORMS):
                script.epoch(way)
        turns = [[script.epoch(way) for way, script in scripts.items()] for _ in range(times(FORMS))]
    return [[turn[i] for turn in turns] for i in range(2)]


def pick(starts, which):
    """One figure of each epoch."""
    return [[epoch[which] for epoch in start] for start in starts]


def together(one, other):
    """The sums, epoch by epoch."""
    return [[a + b for a, b in zip(*pair)] for pair in zip(one, other)]


def add_pieces(table, us):
    """Each beside what comes before it."""
    table.row("a piece alone: a file is read", "us", us["read"], decimals=1)
    table.row("a piece alone: its region is decoded", "us", us["region"], decimals=1)
    for what, piece, before in (("and resized to 224 x 224", "resized", "region"),
                                ("and laid out as normalised floats", "planes", "resized"),
                                ("and these go to a batch that is in no cache", "floats", "planes"),
                                ("resized, bytes go to a batch", "rows", "resized")):
        table.row("a piece alone: " + what, "us", us[piece], us[before], kind="more",
                  peer_name="without", decimals=1)


def add_feed(table, what, us, outside):
    """`us`: of the Feed, of as many threads that decode alone, of one, and of reading."""
    feed, peers, one, read = us
    for peer, name, goal in ((peers, "read and decoded alone, on as many processors", BEYOND_US),
                             (one, "read and decoded alone, on one processor", None)):
        if goal or peers is not one:
            table.row(what + ", processor time of an image", "us", feed, together(peer, read), kind="more",
                      peer_name=name, goal=goal, decimals=1)
    table.row(what + ", outside of the decoder", "us", outside, read, kind="more", peer_name="read alone",
              decimals=1)


def add_alone(table, *ways):
    of = dict(zip(WAYS, ways))
    us = {way: pick(epochs_of_it, 1) for way, epochs_of_it in of.items()}
    add_pieces(table, us)
    for what, way, piece, counts in (("224 x 224 float, batch 64", "threads", "floats", THREADS),
                                     ("the same as bytes, for a GPU", "bytes", "rows", (1, 2))):
        for count in counts:
            name = "%s %d" % (way, count)
            add_feed(table, "%s, threads: %d" % (what, count),
                     (us[name], us[beside(name)], us[piece], us["read"]), pick(of[name], 4))
        table.row(what + ", threads: 1, the calling thread's part", "us", pick(of[way + " 1"], 2),
                  decimals=1)
    table.row("224 x 224 float, batch 64, threads: 1, beside what stays in the cache", "us", us["threads 1"],
              together(us["planes"], us["read"]), kind="more",
              peer_name="alone, each row where the last one was", decimals=1)
    for count in THREADS[1:]:
        table.row("224 x 224 float, batch 64, threads: %d" % count, "images/s",
                  pick(of["threads %d" % count], 0), pick(of["threads 1"], 0), peer_name="1 thread", decimals=0)


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
