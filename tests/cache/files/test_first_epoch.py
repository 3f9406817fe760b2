"""The first look at a file costs the origin little more than the program's own reading."""

import contextlib
import itertools
import random
import sys

import pytest

import slowfs
from isolated import Isolated
from jobs import Jobs, read_line, wait_for
from origin import Origin, settle

READ = ("import os, sys\n"
        "for name in sys.argv[1:]:\n"
        "    fd = os.open(name, os.O_RDONLY)\n"
        "    os.fstat(fd)\n"
        "    while os.read(fd, 1 << 20):\n"
        "        pass\n"
        "    os.close(fd)\n")
COUNT = 10
FEW_ROOMS = 128  # for validations that wait: cache/run/revalidation_queue.h
VALIDATORS = 16  # threads that take them: cli/ahead/validator.c

# Reads files in rounds, on order, while the command above it and the process that validates stand
# still. So each operation of the origin is the job's own.
ALONE = ("import os, signal, sys, time\n"
         "def tasks(process):\n"
         "    return [f'/proc/{process}/task/{task}' for task in os.listdir(f'/proc/{process}/task')]\n"
         "def state(task):\n"
         "    try:\n"
         "        with open(task + '/stat') as file:\n"
         "            return file.read().rpartition(')')[2].split()[0]\n"
         "    except OSError:\n"  # it has ended
         "        return 'T'\n"
         "stopped = []\n"
         "if 'STOKER_RUN' in os.environ:\n"
         "    command, until = os.getppid(), time.monotonic() + 60\n"
         "    def helpers():\n"
         "        with open(f'/proc/{command}/task/{command}/children') as file:\n"
         "            return [int(pid) for pid in file.read().split() if int(pid) != os.getpid()]\n"
         "    while (not helpers() or len(tasks(helpers()[0])) < "
         f"{VALIDATORS}) and until > time.monotonic():\n"
         "        time.sleep(0.01)\n"  # it begins beside the job
         "    stopped = [command, *helpers()]\n"
         "    for process in stopped:\n"
         "        os.kill(process, signal.SIGSTOP)\n"  # the signal waits for its turn on a busy machine
         "    while {state(task) for process in stopped for task in tasks(process)} != {'T'}:\n"
         "        time.sleep(0.001)\n"
         "print('ready', flush=True)\n"
         "for line in sys.stdin:\n"
         "    if line.strip() == 'go on':\n"
         "        for process in stopped:\n"
         "            os.kill(process, signal.SIGCONT)\n"
         "        continue\n"
         "    for name in sys.argv[1:]:\n"
         "        fd = os.open(name, os.O_RDONLY)\n"
         "        os.fstat(fd)\n"  # as Python's open() does
         "        data = os.read(fd, 1 << 20)\n"
         "        if line.strip() == 'twice':\n"
         "            os.fstat(fd), os.read(fd, 1 << 20)\n"
         "        os.close(fd)\n"
         "    print(hash(data) if len(data) != 5 else data.decode(), flush=True)\n")


class Alone:
    """A process of ALONE."""

    def __init__(self, process):
        self.process = process
        assert read_line(process) == "ready"

    def told(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def reads(self, line="once"):
        self.told(line)
        return read_line(self.process)


@contextlib.contextmanager
def reading_alone(jobs, mount, run=True):
    line = [sys.executable, "-c", ALONE, *sorted(mount.iterdir())]
    command = jobs.command_line(line, mount) if run else line
    with jobs.started(command, env={"STOKER_AHEAD": "off"}) as process:
        alone = Alone(process)
        try:
            yield alone
        finally:
            alone.told("go on")


class Mounted:
    """Files behind a slow file system that was just mounted, and jobs of their own. The kernel
    keeps names and attributes, so that no operation comes twice by chance."""

    def __init__(self, build, scratch, fs, place):
        self.jobs, self.origin = Jobs(place, build, scratch), Origin(fs)
        self.source, self.mount = self.origin.source, self.origin.mount

    def reading_alone(self, run=True):
        return reading_alone(self.jobs, self.mount, run)

    def counting(self):
        return self.origin.fs.counting()


@pytest.fixture
def mounted(build, scratch, place):
    """mounted(count, size)"""
    numbers = itertools.count()

    @contextlib.contextmanager
    def mounted(count, size):
        source = scratch / f"mounted-{next(numbers)}"
        source.mkdir()
        for number in range(count):
            (source / f"file{number:04}").write_bytes(random.Random(number).randbytes(size))
        settle()
        with slowfs.SlowFS(source, binary=str(build / "slowfs"), attr_timeout=3600,
                           entry_timeout=3600) as fs, Isolated() as own:
            yield Mounted(build, scratch, fs, own)
    return mounted


def operations_alone(mounted, size, line, run):
    with mounted(COUNT, size) as here, here.reading_alone(run) as alone:
        with here.counting() as counted:
            alone.reads(line)
            here.origin.fs._control.settled_counts()  # the kernel may be reading ahead
    return counted


@pytest.mark.parametrize("line", ["once", "twice"])
@pytest.mark.parametrize("size", [700, 100_000, 200_000])
def test_a_cold_read_asks_no_more_than_a_plain_one(mounted, size, line):
    """The command, not the job, asks after all reads whether the version still is the same."""
    plain = operations_alone(mounted, size, line, run=False)
    cold = operations_alone(mounted, size, line, run=True)
    assert plain["open"] == cold["open"] == COUNT
    for operation in ("read", "read_bytes", "lookup_file", "getattr_file"):
        assert cold[operation] <= plain[operation], operation


def test_without_the_command_the_job_validates(mounted):
    with mounted(COUNT, 700) as here:
        program = [sys.executable, "-c", READ, *sorted(here.mount.iterdir())]
        with here.counting() as cold:
            here.jobs.preloaded(program, here.mount)
    assert cold["read"] == cold["open"] == cold["getattr_file"] == COUNT


def test_the_command_validates_what_was_read(mounted):
    """And what was changed beside after that is seen in the next run, as ever."""
    with mounted(COUNT, 700) as here, here.reading_alone() as alone:
        first = alone.reads()
        with here.counting() as validated:
            before = here.origin.fs.file_ops()
            alone.told("go on")
            wait_for(lambda: here.origin.fs.file_ops() - before >= COUNT)
            here.origin.fs._control.settled_counts()  # answers may be on their way
        with here.counting() as again:
            assert alone.reads() == first
    assert validated["open"] == validated["read"] == 0 and validated["getattr_file"] == COUNT
    assert again.file_ops <= 1  # the last one's may still have been


def test_what_nobody_validated_is_asked_for(mounted):
    """A file that was filled, and changed beside before anybody has asked whether it still was the
    same: the next open sees it."""
    with mounted(1, 700) as here, here.reading_alone() as alone:
        alone.reads()
        (here.source / "new").write_bytes(b"other")
        (here.source / "new").rename(here.source / "file0000")
        assert alone.reads() == "other"


def test_more_than_can_wait_is_asked_at_once(mounted):
    more = 20
    with mounted(FEW_ROOMS + more, 700) as here, here.reading_alone() as alone:
        with here.counting() as cold:
            first = alone.reads()
        with here.counting() as warm:
            assert alone.reads() == first
    assert cold["getattr_file"] == more
    assert warm["open"] == warm["read"] == 0 and warm["getattr_file"] == FEW_ROOMS


STAT = ("import os, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        print(os.stat(name).st_size, os.lstat(name).st_ino, end=' ')\n"
        "    except OSError as error:\n"
        "        print(error.errno, end=' ')\n")


def test_a_first_stat_asks_no_more_than_a_plain_one(origin, build, scratch):
    """It is answered from the one look that is remembered; and so is that of what is missing, of
    directories, and of links."""
    source, _ = origin.files("stats", COUNT, 700)
    (source / "directory").mkdir()
    (source / "link").symlink_to("file0000")
    (source / "dangling").symlink_to("missing")
    names = ["directory", "link", "dangling", "missing", "file0001/x",
             *(path.name for path in sorted(source.iterdir()) if path.name.startswith("file"))]

    def look(run):
        """In a place whose mount forgets nothing, however long the program takes."""
        with slowfs.SlowFS(source, binary=str(build / "slowfs"), attr_timeout=3600,
                           entry_timeout=3600) as fs, Isolated() as own, fs.counting() as counted:
            program = [sys.executable, "-c", STAT, *(f"{fs.mountpoint}/{name}" for name in names)]
            ran = run(Jobs(own, build, scratch), program, fs.mountpoint)
        return counted, ran.stdout

    plain, without = look(lambda jobs, program, mount: jobs.place.run(program))
    cold, under_us = look(lambda jobs, program, mount: jobs.run(program, path=mount))
    assert under_us == without and without.count("700") >= COUNT
    assert cold["getattr_file"] <= COUNT + 2  # lstat is known after stat, and by a link, too
    for operation in ("lookup_file", "lookup_other", "lookup_negative", "readlink"):
        assert cold[operation] <= plain[operation] + 8, operation  # two processes look at the root


def test_a_large_file_is_fetched_in_larger_pieces(jobs, origin):
    """For a reader of pieces the kernel asks for 128 KB at a time, and waits for each."""
    source, mount = origin.files("large", 2, 4_000_000)
    program = [sys.executable, "-c", READ.replace("1 << 20", "1 << 18"), *mount.iterdir()]
    with origin.fs.counting() as plain:
        jobs.place.run(program)
    with origin.fs.counting() as cold:
        ran = jobs.run(program, path=mount)
    assert ran.fills == 2
    assert cold["read_bytes"] == plain["read_bytes"]
    assert cold["read"] <= plain["read"] * 0.75
