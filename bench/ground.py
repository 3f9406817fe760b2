"""Where things are measured: files, tiers, mounts, programs with and without the library."""

import contextlib
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(REPOSITORY, "build")
OUT = os.path.join(BUILD, "bench")
STOKER = os.path.join(BUILD, "stoker")
LIBRARY = os.path.join(BUILD, "libstoker.so")
LOOP = os.path.join(OUT, "loop")
LOOP_PY = os.path.join(REPOSITORY, "bench", "loop.py")
MIN_AGE_S = "0.1"


class Skip(Exception):
    """This cannot be measured here; the text says why."""


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


# ---- files ----

@contextlib.contextmanager
def scratch(parent=None):
    """A directory that goes away; on the disk of the build, or below `parent`."""
    directory = tempfile.mkdtemp(prefix="stoker-bench-", dir=parent or OUT)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def make_tree(top, directories, files, size):
    """Makes so many directories of files of so many bytes, with the names of an ImageFolder's."""
    for number in range(directories):
        directory = os.path.join(top, "n%04d" % number)
        os.makedirs(directory)
        for file in range(files):
            with open(os.path.join(directory, "%05d.jpg" % file), "wb") as out:
                out.write(os.urandom(size))


def make_files(directory, count, size):
    """Files of random bytes; their paths."""
    os.makedirs(directory)
    paths = [os.path.join(directory, "%04d.bin" % i) for i in range(count)]
    for path in paths:
        with open(path, "wb") as file:
            file.write(os.urandom(size))
    return paths


def copy_files(paths, directory):
    os.makedirs(directory)
    return [shutil.copy(path, directory) for path in paths]


def write_list(directory, name, paths):
    """A list for loop.c."""
    path = os.path.join(directory, name + ".list")
    with open(path, "w") as file:
        file.writelines(each + "\n" for each in paths)
    return path


def warm(paths):
    """Reads them, so that they are in the page cache: a fill takes them out of it."""
    for path in paths:
        with open(path, "rb") as file:
            file.read()


def let_age():
    """Files that changed just now are not cached."""
    time.sleep(float(MIN_AGE_S) + 0.2)


@contextlib.contextmanager
def mounted(what, directory, options):
    """`mount OPTIONS DIRECTORY`; `what` says it for people."""
    if os.geteuid() != 0:
        raise Skip("mounting %s needs root" % what)
    os.makedirs(directory)
    done = subprocess.run(["mount", *options, directory], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip("no %s here: %s" % (what, done.stderr.strip()))
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", directory], check=False)


def huge_tmpfs(directory):
    """A tmpfs with huge pages, as an administrator would mount one for the cache."""
    return mounted("a tmpfs with huge=within_size", directory, ["-t", "tmpfs", "-o", "huge=within_size", "tmpfs"])


@contextlib.contextmanager
def disk_of_files(directory, files):
    """An ext4 with room for so many small files, in an image: to remove them one by one takes minutes."""
    image = directory + ".image"
    with open(image, "wb") as file:
        file.truncate(files * (8 << 10) + (256 << 20))
    subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", "-i", "4096", image], check=True)
    with mounted("loop device", directory, ["-o", "loop", image]):
        yield directory


# ---- programs ----

def one_core():
    """The last core, on which the least happens."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def bare_environment():
    """Without anything of Stoker's, but the inner loops that BENCH_SIMD asks for."""
    bare = {name: value for name, value in os.environ.items()
            if not name.startswith("STOKER_") and name != "LD_PRELOAD"}
    if os.environ.get("BENCH_SIMD"):
        bare["STOKER_SIMD"] = os.environ["BENCH_SIMD"]
    return bare


def covering(paths, tier=None):
    """The environment that covers these paths, without `stoker run`."""
    environment = bare_environment()
    environment.update(LD_PRELOAD=LIBRARY, STOKER_PATHS=":".join(paths), STOKER_MIN_AGE=MIN_AGE_S)
    if tier:
        environment["STOKER_TIERS"] = tier
    return environment


def run(command, environment=None, **options):
    """Runs a command and returns what it prints. One core, unless it is said otherwise."""
    options.setdefault("preexec_fn", one_core)
    done = subprocess.run(command, env=environment or bare_environment(), text=True,
                          capture_output=True, **options)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(command)[:300], done.stderr.strip()[-2000:]))
    return done.stdout


def run_stoker(path, tier, command, keep=True, **options):
    """Returns what `command` prints under `stoker run`, and the run's summary."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as summary:
        environment = bare_environment()
        environment["STOKER_MIN_AGE"] = MIN_AGE_S
        whole = [STOKER, "run", "--path", path, "--tier", tier, "--json", summary.name]
        printed = run(whole + ["--keep"] * keep + ["--"] + command, environment, **options)
        return printed, json.load(summary)


def clear(path=None):
    """Removes the cache, or what it has of `path`."""
    run([STOKER, "clear"] + [path] * (path is not None))


def slices(printed):
    """The lanes that loop.c, loop.py and spawn.c print: for each, its list of nanoseconds."""
    return [[float(ns) for ns in line.split()] for line in printed.splitlines()]


def collect(starts, one_start):
    """Runs one_start() that often: for each lane, the list of its starts, each of slices."""
    return [list(lane) for lane in zip(*(one_start() for _ in range(starts)))]


def find_entries(tier):
    """The entries in a tier, in the order of their files' names."""
    found = glob.glob(os.path.join(tier, "stoker-*", "tree", "**", "*;*.bin"), recursive=True)
    return sorted(found, key=lambda path: path.rsplit(";", 1)[1])


def check_hits(summary, opens):
    """That what was measured was what it is said to be."""
    if summary["hits"] < opens:
        raise RuntimeError("%d hits in a run that should have had %d" % (summary["hits"], opens))
