"""Memory that a data set of JPEGs takes in later epochs: its files' pages, entries, samples.

Nothing is timed. Before the last epoch the files' pages are put out of memory; what is there behind
it is what that epoch needed.
"""

import contextlib
import os
import subprocess
import sys

import ground
from measure import Table
from parts.pixels import decode

sys.path.append(os.path.join(ground.REPOSITORY, "tests/lib/storage"))

PROGRAM = os.path.join(ground.REPOSITORY, "tests/lib/programs/decoding.py")
PYTHON = os.environ.get("PYTHON", sys.executable)
KILOBYTES, PIXELS = decode.SIZES[1]
EPOCHS = 3  # the third begins with forms, wherever they are kept
MB = 1e6


def pages_bytes(paths):
    import resident
    return sum(resident.pages(path)[0] for path in paths) * os.sysconf("SC_PAGESIZE")


def files_below(directory):
    return [os.path.join(top, name) for top, _, names in os.walk(directory) for name in names]


@contextlib.contextmanager
def job(command):
    """The program, of which each line begins another epoch."""
    environment = ground.bare_environment()
    environment["STOKER_MIN_AGE"] = ground.MIN_AGE_S
    process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.communicate()


def last_epoch(prefix, paths, tier=None):
    """Bytes in memory behind it: the JPEGs' pages, entries, samples."""
    import resident
    directory = os.path.dirname(paths[0])
    command = prefix + [PYTHON, PROGRAM, directory, str(EPOCHS), "wait"]
    with job(command) as process:
        process.stdout.readline()
        for number in range(1, EPOCHS):
            if number == EPOCHS - 1:
                resident.drop(paths)
            process.stdin.write("\n")
            process.stdin.flush()
            if not process.stdout.readline():
                raise RuntimeError("%s ended early" % " ".join(command))
        kept = files_below(tier) if tier else []
        samples = [path for path in kept if "samples" in path]
        return (pages_bytes(paths), pages_bytes([path for path in kept if "/tree/" in path]),
                pages_bytes(samples))


def prefixes(directory, tier, elsewhere):
    """The command before the program, by name; and where it keeps things."""
    run = [ground.STOKER, "run", "--decoded"]
    return {
        "Pillow": ([], None),
        "the hook, --decoded 0": (run + ["0", "--path", elsewhere, "--"], None),
        "--decoded DIR, files on the disk": (
            run + [tier + "/samples:1G", "--path", elsewhere, "--"], tier),
        "files and samples in a tier": (
            run + ["500M", "--path", directory, "--tier", tier + ":1G", "--"], tier),
    }


def measure():
    decode.photographs(KILOBYTES, PIXELS)
    source = os.path.join(ground.OUT, "photographs-%d" % KILOBYTES)
    paths = [os.path.join(source, name) for name in sorted(os.listdir(source))]
    table = Table("memory")
    with ground.scratch() as scratch:
        os.mkdir(os.path.join(scratch, "elsewhere"))
        paths = ground.copy_files(paths, os.path.join(scratch, "data"))
        ground.let_age()
        whole = sum(map(os.path.getsize, paths))
        table.note("%d JPEGs of %.2f MB together; pages are counted whole" %
                   (len(paths), whole / MB))
        for number in range(4):
            with ground.scratch("/dev/shm") as tier:
                name, (prefix, kept) = list(prefixes(
                    os.path.join(scratch, "data"), tier,
                    os.path.join(scratch, "elsewhere")).items())[number]
                pages, entries, samples = last_epoch(prefix, paths, kept)
            for what, size in (("JPEGs' pages", pages), ("entries", entries),
                               ("samples", samples)):
                if size or what == "JPEGs' pages":
                    table.row("%s: %s" % (name, what), "MB", [[size / MB]])
    return table
