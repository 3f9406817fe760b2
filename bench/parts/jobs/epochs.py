"""Images per second of an ordinary loading script over a slow file system, epoch by epoch.

Two processes of the script, one under `stoker run` and one without, run their epochs in turn, so
that both see the same machine. The origin is slowfs; the local disk and a copy in /dev/shm made by
hand are read by the process without the library.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import ground
from measure import QUICK, Table, ratio, spread, times

for each in ("tests/lib/storage", "examples/demo"):
    sys.path.insert(0, os.path.join(ground.REPOSITORY, each))

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "epoch_script.py")
CLASSES = 20
STARTS = {0: 3, 1: 4, 5: 3, 20: 2}  # by the origin's latency
PAIRS = {0: 2, 1: 6, 5: 2, 20: 1}  # of later epochs; at 1 ms is what is required
FIRST = {("decode", 1): 4, ("decode", 5): 12, ("bytes", 0): 0.9, ("bytes", 5): 15,
         ("bytes", 20): 30}  # epoch 1 over the one without: the files are read ahead
NEAR = 0.85  # of epoch 1 with the origin at 0 ms, at 5 ms


class Variant(NamedTuple):
    """The script's work, and the part of it that Stoker may do."""
    name: str
    script: str
    images: int
    options: tuple = ()
    latencies: tuple = (0, 1, 5)

    @property
    def is_job(self):
        return self.script == "decode"


VARIANTS = (
    Variant("decode and RandomResizedCrop", "decode", 1000),  # of fewer, the first 20 ms are too much
    # Pillow decodes on both sides: only where the bytes come from is compared.
    Variant("the same with --no-decode", "decode", 300, ("--no-decode",)),
    Variant("bytes only", "bytes", 1000, latencies=(0, 1, 5, 20)),
)
MOST_IMAGES = max(variant.images for variant in VARIANTS)


class Script:
    """One process of the script; a context manager."""

    def __init__(self, prefix, script, *arguments):
        environment = ground.bare_environment()
        environment["STOKER_MIN_AGE"] = ground.MIN_AGE_S
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            prefix + [sys.executable, script, *arguments], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)

    def __enter__(self):
        self._answer()
        return self

    def __exit__(self, *exception):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._errors.close()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            raise RuntimeError("the loading script failed: " + self._errors.read()[-2000:])
        return line.split()

    def ask(self, line):
        """Returns the answer, word by word."""
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._answer()

    def epoch(self, directory):
        """Images per second."""
        images, seconds = self.ask(directory)
        return int(images) / float(seconds)


def get_photographs():
    """As in the demonstration: made once, kept in build/bench."""
    import photos
    directory = os.path.join(ground.OUT, "photos")
    if not os.path.isdir(directory):
        ground.say("making %d photographs" % MOST_IMAGES)
        photos.make_photos(directory, CLASSES, MOST_IMAGES // CLASSES)
    return os.path.join(directory, "train")


def take(photographs, count, directory):
    """The first so many of each class, as links to the same files; what ImageFolder wants."""
    for name in sorted(os.listdir(photographs)):
        os.makedirs(os.path.join(directory, name))
        source = os.path.join(photographs, name)
        for file in sorted(os.listdir(source))[:count // CLASSES]:
            shutil.copy2(os.path.join(source, file), os.path.join(directory, name, file))
    return directory


@contextlib.contextmanager
def some_images(count):
    """(a directory of so many, a tier in memory)."""
    try:
        photographs = get_photographs()
    except ImportError as error:
        raise ground.Skip(str(error)) from error
    with ground.scratch() as directory, ground.scratch("/dev/shm") as tier:
        yield take(photographs, count, os.path.join(directory, "images")), tier


def run_start(variant, slow, local, memory, pairs):
    """One start of both processes: lists of images per second, by lane."""
    stoker = [ground.STOKER, "run", *variant.options, "--path", slow.mountpoint, "--tier",
              "/dev/shm", "--"]
    lanes = {}

    def add(lane, script, directory):
        with slow.counting() as counted:
            lanes.setdefault(lane, []).append(script.epoch(directory))
        lanes.setdefault(lane + " operations", []).append(counted.file_ops / variant.images)

    arguments = SCRIPT, variant.script, "224"
    with Script(stoker, *arguments) as ours, Script([], *arguments) as bare:
        for each in bare, ours:
            each.epoch(local)  # page cache, imports
        add("none", bare, slow.mountpoint)
        add("first", ours, slow.mountpoint)
        turns = [("later", ours, slow.mountpoint), ("local", bare, local),
                 ("memory", bare, memory)]
        for turn in range(pairs):
            for lane in turns if turn % 2 == 0 else reversed(turns):
                add(*lane)
    return lanes


def copy_to_memory(local, directory):
    start = time.monotonic()
    shutil.copytree(local, directory)
    return time.monotonic() - start


def measure_lanes(variant, slow, local, memory, latency):
    lanes = {}
    for _ in range(times(STARTS[latency])):
        start = run_start(variant, slow, local, memory, PAIRS[latency])
        for lane, rates in start.items():
            lanes.setdefault(lane, []).append(rates)
        with contextlib.suppress(RuntimeError):
            ground.clear()
    return lanes


def against(ours, peers):
    """Epoch by epoch where both have as many, else by the medians of each start."""
    if all(len(a) == len(b) for a, b in zip(ours, peers)):
        return spread([mine / other for a, b in zip(ours, peers) for mine, other in zip(a, b)])
    return ratio(ours, peers)


def add_rows(table, variant, latency, lanes):
    prefix = "%s, origin %g ms: " % (variant.name, latency)
    required = variant.is_job and latency == 1

    def row(what, ours, peer, name, goal=None):
        table.row(prefix + what, "images/s", ours, peer, peer_name=name, decimals=0, goal=goal,
                  at_least=True, compared=against(ours, peer))

    row("epoch 1", lanes["first"], lanes["none"], "without the library",
        None if variant.options else FIRST.get((variant.script, latency)))
    row("later epochs", lanes["later"], lanes["none"], "without the library")
    row("later epochs", lanes["later"], lanes["local"], "local disk", 0.97 if required else None)
    row("later epochs", lanes["later"], lanes["memory"], "copied to /dev/shm by hand")
    if latency == 1:
        for lane, what in (("first", "epoch 1"), ("later", "later epochs")):
            table.row("%s, operations on the origin per image, %s" % (variant.name, what), "ops",
                      lanes[lane + " operations"], lanes["none operations"], kind="more",
                      peer_name="without the library")


def add_near(table, variant, first):
    """Compares epoch 1 with that of an origin that answers at once: the files are read ahead."""
    table.row("%s, origin 5 ms: epoch 1" % variant.name, "images/s", first[5], first[0],
              peer_name="the origin at 0 ms", decimals=0, goal=NEAR, at_least=True,
              compared=against(first[5], first[0]))


def measure_variant(table, slowfs, variant, photographs, directory):
    local = take(photographs, variant.images, os.path.join(directory, variant.name))
    with ground.scratch("/dev/shm") as shm, slowfs.SlowFS(local) as slow:
        memory = os.path.join(shm, variant.script)
        copy_to_memory(local, memory)
        first = {}
        for latency in (1,) if QUICK else variant.latencies:
            slow.latency_ms = latency
            lanes = measure_lanes(variant, slow, local, memory, latency)
            add_rows(table, variant, latency, lanes)
            first[latency] = lanes["first"]
        if variant.is_job and not variant.options and not QUICK:
            add_near(table, variant, first)


def measure():
    import slowfs
    table = Table("epochs")
    try:
        photographs = get_photographs()
        with ground.scratch() as directory:
            for variant in VARIANTS:
                measure_variant(table, slowfs, variant, photographs, directory)
    except (slowfs.SlowFSError, ImportError) as error:
        raise ground.Skip(str(error)) from error
    return table
