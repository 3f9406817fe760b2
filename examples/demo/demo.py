#!/usr/bin/python3
"""Trains on photographs behind a slow file system, without Stoker and with it, and compares.

Run by demo.sh, which installs and builds what this needs. Nothing is left behind but the
photographs, for the next time, in build/demo. The figures are those measured in this run.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(REPOSITORY, "tests/lib/storage"))

import photos  # noqa: E402
import slowfs  # noqa: E402
import table  # noqa: E402
from screen import Screen  # noqa: E402
from training import Training, TrainingError  # noqa: E402

SCRIPT = os.path.join("examples", "imagenet.py")
STOKER = os.path.join("build", "stoker")
CLASSES = 20
SEED = 1
YOUNGEST_S = 2.5  # Stoker does not cache files that changed less than 2 s ago


class DemoError(RuntimeError):
    """The demo cannot go on; the text says why."""


class Stopped(BaseException):
    """A signal asked us to end."""


def stop(number, _frame):
    """Once: while everything is cleaned up, further signals do not disturb."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency-ms", type=float, default=3.0,
                        help="of each operation of the slow file system (%(default)s)")
    parser.add_argument("--images", type=int, default=2000, help="(%(default)s)")
    parser.add_argument("--epochs", type=int, default=3, help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="loading processes (%(default)s)")
    parser.add_argument("--directory", default=os.path.join("build", "demo"),
                        help="where the photographs are made and kept (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    parser.add_argument("--only", choices=("without", "with"), help="one half of the demo")
    return parser.parse_args()


def check_machine(arguments):
    if not os.path.exists("/dev/fuse"):
        raise DemoError("there is no /dev/fuse, which the slow file system needs. In a container: "
                        "docker run --device /dev/fuse --cap-add SYS_ADMIN ...")
    if arguments.only != "without" and not os.access(STOKER, os.X_OK):
        raise DemoError("there is no %s: run `make all`" % STOKER)


def get_photographs(arguments, screen):
    """The directory of the photographs, made if it is not there from the last time."""
    per_class = -(-arguments.images // CLASSES)
    directory = os.path.join(arguments.directory, "photos-%dx%d-%d" % (CLASSES, per_class, SEED))
    if not os.path.isdir(directory):
        screen.say("demo: cutting %d photographs out of those in the packages %s"
                   % (per_class * CLASSES, ", ".join(photos.PACKAGES)))

        def show(done, total):
            screen.bar("demo: making photographs", done, total, "%d of %d" % (done, total))

        os.makedirs(arguments.directory, exist_ok=True)
        photos.make_photos(directory, CLASSES, per_class, SEED, show)
        screen.clear()
    return directory


def all_files(directory):
    for folder, _, names in os.walk(directory):
        for name in names:
            yield os.path.join(folder, name)


def describe(directory, screen):
    """Says what is trained on, waits until it is old enough, and returns its bytes."""
    stats = [os.stat(path) for path in all_files(directory)]
    total = sum(stat.st_size for stat in stats)
    screen.say("demo: %d JPEG files of %.0f KB on average, cut out of %d photographs that Debian "
               "ships\n      (names and licences: examples/demo/photos.py), in %s"
               % (len(stats), total / len(stats) / 1000, len(photos.find_photographs()), directory))
    newest = max(stat.st_ctime for stat in stats)
    time.sleep(max(0.0, newest + YOUNGEST_S - time.time()))
    return total


@contextlib.contextmanager
def cache_directory(wanted_bytes, arguments, screen):
    """A cache of the demo's own, so that it starts empty and leaves nothing behind.

    In /dev/shm as always, or on the disk where that is too small, as in a plain container.
    """
    shm = os.statvfs("/dev/shm")
    parent = "/dev/shm"
    if shm.f_bavail * shm.f_frsize < 2.5 * wanted_bytes:
        parent = os.path.abspath(arguments.directory)
        screen.say("demo: /dev/shm is too small for the photographs; the cache is in %s" % parent)
    directory = tempfile.mkdtemp(prefix="stoker-demo-", dir=parent)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def training_command(mountpoint, arguments):
    # A tiny model, and pictures of 32x32 for it: what takes time is to open, read and decode.
    return [sys.executable, SCRIPT, mountpoint, "--epochs", str(arguments.epochs),
            "--workers", str(arguments.workers), "--arch", "tiny", "--image-size", "32",
            "--seed", str(SEED)]


def train(title, command, fs, arguments, screen):
    """Runs one half: (its epochs, what it wrote to standard error)."""
    screen.say("\n%s\n$ %s" % (title, " ".join(command)))
    epochs, start = [], time.monotonic()

    def show(counts):
        """Moves with each file opened at the origin; with those from a cache, once per epoch."""
        number = min(len(epochs) + 1, arguments.epochs)
        done = len(epochs) * arguments.images + min(counts["open"], arguments.images)
        screen.bar("epoch %d/%d" % (number, arguments.epochs), done,
                   arguments.epochs * arguments.images, "%.0f s, %s storage operations in this epoch"
                   % (time.monotonic() - start, format(counts.file_ops, ",d")))

    with Training(command, fs) as training:
        for line, epoch in training.epochs(show):
            screen.say("%s  [%s storage operations]" % (line, format(epoch.origin_ops, ",d")))
            epochs.append(epoch)
        screen.clear()
        if len(epochs) != arguments.epochs:
            raise DemoError("the training script printed %d epochs of %d"
                            % (len(epochs), arguments.epochs))
        return epochs, training.complaints()


def train_without(fs, arguments, screen):
    command = training_command(fs.mountpoint, arguments)
    return train("Without Stoker:", command, fs, arguments, screen)[0]


def train_with(fs, cache, arguments, screen):
    report = os.path.join(cache, "report.json")
    command = [STOKER, "run", "--path", fs.mountpoint, "--tier", cache, "--json", report, "--"]
    command += training_command(fs.mountpoint, arguments)
    epochs, said = train("With Stoker:", command, fs, arguments, screen)
    if said:
        screen.say(said)
    with open(report) as file:
        if json.load(file).get("hits", 0) == 0:
            raise DemoError("Stoker served nothing from its cache")
    return epochs


def train_both(directory, total_bytes, arguments, screen):
    """The epochs of each half that ran, by name."""
    results = {}
    with contextlib.ExitStack() as stack:
        fs = stack.enter_context(slowfs.SlowFS(
            directory, latency_ms=arguments.latency_ms, readonly=True))
        screen.say("demo: shown at %s, each operation %g ms late, as on a busy network file system"
                   % (fs.mountpoint, arguments.latency_ms))
        screen.say("demo: the model is shrunk to a tiny ResNet on 32x32 pixels, so that loading "
                   "is what is seen")
        if arguments.only != "with":
            results["without"] = train_without(fs, arguments, screen)
        if arguments.only != "without":
            cache = stack.enter_context(cache_directory(total_bytes, arguments, screen))
            results["with"] = train_with(fs, cache, arguments, screen)
    return results


def show_results(results, arguments, screen):
    if len(results) == 2:
        screen.say("\n%s\n\n%s" % (table.make_table(results["without"], results["with"]),
                                   table.make_summary(results["without"], results["with"])))
    screen.say("Storage operations: opens, reads and stats of files that reached the slow file "
               "system, counted there.\nA model that computes longer waits less, and gains less.")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({name: [epoch._asdict() for epoch in epochs]
                       for name, epochs in results.items()}, file, indent=2)


def run(arguments, screen):
    os.chdir(REPOSITORY)
    check_machine(arguments)
    directory = get_photographs(arguments, screen)
    total_bytes = describe(directory, screen)
    show_results(train_both(directory, total_bytes, arguments, screen), arguments, screen)


def main():
    arguments, screen = parse_arguments(), Screen()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        run(arguments, screen)
    except Stopped as stopped:
        screen.say("demo: stopped, and cleaned up")
        return 128 + stopped.args[0]
    except (DemoError, TrainingError, slowfs.SlowFSError, OSError) as error:
        screen.clear()
        print("demo: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
