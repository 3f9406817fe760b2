"""Files for all readers, and processes that read one of them epoch by epoch, on order."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

from jobs import AGE, HOME, read_line
from readers.reading import path_of
from readers.reader import readers

HERE = pathlib.Path(__file__).resolve().parent
TIER = "/dev/shm:200M"
BLOCK = 128 << 10
SMALL = {"STOKER_MAX_FILE": "1M", "STOKER_BLOCK": str(BLOCK)}  # what is above is big
PAGES = 64 << 10  # the kernel may let some go before they are copied; less than a block
PATIENCE_S = 60
READ = 'for file; do dd if="$file" of=/dev/null bs=100K status=none || exit 1; done'


def line(*words):
    return ["env", f"PYTHONPATH={HERE}", "OMP_NUM_THREADS=1", sys.executable, "-B", "-m",
            "readers", *map(str, words)]


def ask(*words):
    done = subprocess.run(line(*words), text=True, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def forget(paths):
    """Has the kernel keep nothing of files at the origin."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class Made:
    """A directory with the files of all readers, behind the origin and at it."""

    def __init__(self, source, mount, missing, plain):
        self.source, self.mount, self.missing, self.plain = source, mount, missing, plain


def make(origin):
    source, mount = origin.directory("set")
    missing, plain = ask("all", source, mount, AGE)
    return Made(source, mount, missing, plain)


class Reading:
    """A process that reads."""

    def __init__(self, process):
        self._process = process

    def epoch(self, seed=0, part=1, again=False):
        """Reads an epoch; returns a digest."""
        asked = {"seed": seed, "part": part, "again": again}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self):
        try:
            return json.loads(read_line(self._process, PATIENCE_S))
        except AssertionError as error:
            self._process.kill()
            raise AssertionError(f"{error}: {self._process.communicate()[1]}") from error


class Files:
    """Those of all readers, in the place of one test."""

    def __init__(self, origin, jobs, made):
        self.origin, self.jobs, self._made = origin, jobs, made

    def why_missing(self, name):
        return self._made.missing[name]

    def plain(self, name, part=1):
        return self._made.plain[name][str(part)]

    def path(self, name):
        return pathlib.Path(path_of(self._made.mount, readers[name]))

    def big(self, name):
        """The big files of a reader: (their paths at the origin, bytes of all)."""
        source = pathlib.Path(path_of(self._made.source, readers[name]))
        found = [one for one in ([source] if source.is_file() else sorted(source.rglob("*")))
                 if one.is_file() and one.stat().st_size > 1 << 20]
        return ([self._made.mount / one.relative_to(self._made.source) for one in found],
                sum(one.stat().st_size for one in found))

    def size(self, name):
        """Bytes of all its files."""
        source = pathlib.Path(path_of(self._made.source, readers[name]))
        every = [source, *source.parent.glob(source.name + ".*"), *source.rglob("*")]
        return sum(one.stat().st_size for one in every if one.is_file())

    @contextlib.contextmanager
    def reading(self, name, how="main", env=None):
        """A Reading with the library, which has opened the file."""
        covered = self.jobs.preload_env(self._made.mount, TIER)
        argv = line("read", self._made.mount, name, how)
        with self.jobs.started(argv, {**covered, **SMALL, **(env or {})}) as process:
            reading = Reading(process)
            assert reading.answer() == "ready"
            yield reading

    def complete(self, name):
        """Another process reads all of the big files."""
        paths, _ = self.big(name)
        self.jobs.preloaded(["sh", "-c", READ, "sh", *paths], self._made.mount, TIER, SMALL)

    def cached_blocks(self):
        """Returns the tier's use by files, in blocks of 512 bytes."""
        home = self.jobs.place.path(f"/dev/shm/{HOME}")
        return sum(one.stat().st_blocks for one in pathlib.Path(home).rglob("*;*")
                   if one.is_file())
