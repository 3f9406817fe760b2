"""Big files that a job has begun are finished beside it, and those that it maps are named."""

import errno
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

import beneath
from jobs import HOME, read_line, wait_for
from origin import settle
from slowfs import HOUR_NS
from test_big_files import MB, PAGES, ROUNDS, SIZE, SMALL, assert_next_run_counts, big, file, \
    is_whole, make_another  # noqa: F401 (fixtures)
from test_warm_big import hands_on

TIER = "/dev/shm:200M"
FORGOTTEN = 4 * MB  # each open of the origin has the kernel forget what is under way
SLOWLY = 60  # ms for each operation
PIECES = {"STOKER_BLOCK": "64K"}  # so many that all of them take a while
KEEP = ["--keep"]
PYTHON = "/usr/bin/python3"

# A job that follows orders, line by line, and answers when it has.
JOB = beneath.SOURCE + """
import mmap, os, sys
path = sys.argv[1]
fds, maps = [], []
for line in sys.stdin:
    what, *numbers = line.split()
    numbers = list(map(int, numbers))
    if what == "open":
        fds.append(os.open(path, os.O_RDONLY))
    elif what == "read":
        os.pread(fds[-1], numbers[1], numbers[0])
    elif what == "map":
        maps.append(mmap.mmap(fds[-1], 0, access=mmap.ACCESS_READ))
    elif what == "touch":
        maps[-1][numbers[0]]
    elif what == "entry":
        print("/tree/" in name_of(fds[-1]), flush=True)
        continue
    print("done", flush=True)
"""


class Job:
    """One under `stoker run`, and what became of it."""

    def __init__(self, process, json_path):
        self.process, self._json_path = process, json_path

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return read_line(self.process)

    def opens_the_entry(self):
        """Opens the file until that is its entry: the entry lies there a moment before the catalogue knows it."""
        wait_for(lambda: self.tell("open") == "done" and self.tell("entry") == "True")

    def end(self):
        """Ends the job; returns Stoker's summary, and the numbers."""
        self.process.stdin.close()
        self.process.stdin = None
        stderr = self.process.communicate(timeout=60)[1]
        assert self.process.returncode == 0, stderr
        return stderr, json.loads(self._json_path.read_text())


@pytest.fixture
def started(jobs, file, scratch):
    """Starts the job: started(flags..., env...)."""
    contexts = []

    def start(*flags, env=None, tier=TIER, name="file"):
        json_path = scratch / "job.json"
        path = file[0].parent / name
        line = jobs.command_line([PYTHON, "-S", "-E", "-c", JOB, path], path=file[0].parent,
                                 tier=tier, flags=[*KEEP, f"--json={json_path}", *flags])
        context = jobs.started(line, {**SMALL, **(env or {})})
        contexts.append(context)
        return Job(context.__enter__(), json_path)

    yield start
    for context in contexts:
        context.__exit__(None, None, None)


def has_entry(jobs, name="file"):
    """Without an open of the origin, at which some file systems forget what they have read."""
    tree = jobs.place.path(f"/dev/shm/{HOME}/tree")
    return any(leaf.endswith(f";{name}") for _, _, leaves in os.walk(tree) for leaf in leaves)


def same(jobs, file):
    """By a program that opens it now, and reads no more than once by the origin."""
    return jobs.preloaded(["cmp", file[0], file[1]], file[0].parent, TIER, env=SMALL).stdout == ""


def test_what_is_read_is_finished(jobs, origin, file, started, build):
    job = started()
    with origin.fs.counting() as counted:
        job.tell("open")
        job.tell(f"read {5 * MB} 1000")
        wait_for(lambda: has_entry(jobs))
    assert SIZE <= counted["read_bytes"] <= SIZE + PAGES
    with origin.fs.counting() as counted:
        job.tell(f"read 0 {SIZE}")  # by the descriptor that it has
        job.opens_the_entry()
        job.tell("map")
        assert same(jobs, file)
    assert counted["read"] == 0
    wait_for(lambda: hands_on(command_of(job), file[0]) == 0)  # no process keeps it open
    stderr, said = job.end()
    assert said["finished"] == {"files": 1, "bytes": SIZE - MB, "unfinished": 0, "left": 0} and said["mapped"] == []
    assert said["blocks"]["reads"] == 2 and said["blocks"]["bytes_cache"] == SIZE + 1000
    assert said["blocks"]["bytes_origin"] == MB
    assert (said["bytes_origin"], said["bytes_cache"]) == (0, SIZE)  # files that were opened
    assert "1 big file finished beside the command" in stderr and "mapped" not in stderr
    assert_next_run_counts(jobs, build, file)


def test_what_is_only_opened_is_not(jobs, origin, file, started):
    job = started()
    with origin.fs.counting() as counted:
        job.tell("open")
        time.sleep(0.5)
        said = job.end()[1]
    assert counted["read"] == 0 and said["finished"]["files"] == 0


MANY = """
import os, sys, time
fds = [os.open(os.path.join(sys.argv[1], name), os.O_RDONLY) for name in sorted(os.listdir(sys.argv[1]))]
os.pread(fds[-1], 10, 0)
print("done", flush=True)
sys.stdin.read()
"""


def test_many_that_are_only_opened_are_in_nobodys_way(jobs, origin):
    """There is room for 64 begun files."""
    mount = origin.files("many", 80, 100_000)[1]
    line = jobs.command_line([PYTHON, "-S", "-E", "-c", MANY, mount], path=mount, tier=TIER,
                             flags=KEEP)
    with jobs.started(line, {"STOKER_MAX_FILE": "64K", "STOKER_BLOCK": "64K"}) as process:
        assert read_line(process) == "done"
        wait_for(lambda: has_entry(jobs, "file0079"))
        assert not has_entry(jobs, "file0078")


def test_it_can_be_left_off(jobs, origin, file, started):
    job = started(env={"STOKER_COMPLETE": "off"})
    with origin.fs.counting() as counted:
        job.tell("open")
        job.tell("read 0 1000")
        job.tell("map")
        time.sleep(0.5)
        said = job.end()[1]
    assert counted["read_bytes"] <= MB + PAGES and said["finished"]["files"] == 0
    assert said["mapped"] == [{"path": str(file[0]), "filled": False}]


def test_what_is_mapped_is_finished_and_named(jobs, origin, file, started):
    """The next open of it is native. A process that has it mapped reads the origin."""
    job = started()
    job.tell("open")
    job.tell("map")
    wait_for(lambda: has_entry(jobs))
    job.opens_the_entry()
    stderr, said = job.end()
    assert said["mapped"] == [{"path": str(file[0]), "filled": True}]
    assert f"mapped before it was filled: {file[0]} (filled since)" in " ".join(stderr.split())
    assert f"stoker warm {file[0]}, or stoker run --warm=first" in " ".join(stderr.split())


@pytest.mark.parametrize("mapped, other", [("file", "other"), ("other", "file")])
def test_the_mapped_one_comes_first(jobs, origin, file, started, big, mapped, other):
    """Whichever was begun before it."""
    subprocess.run([big, "make", file[1].parent / "other", str(SIZE)], check=True)
    settle()
    origin.fs.latency_ms = SLOWLY / 4
    with origin.fs.counting() as counted:
        job = started("--warm", "--jobs=1", name=mapped)
        wait_for(lambda: counted["read_bytes"] > MB)
        job.tell("open")
        job.tell("map")
        wait_for(lambda: has_entry(jobs, mapped))
    assert not has_entry(jobs, other)
    origin.fs.latency_ms = 0
    job.end()


HDF5 = """
import h5py, sys
import numpy as np
path = sys.argv[1]
def total():
    with h5py.File(path, "r") as data:
        return int(data["x"][::7].sum())
first = np.memmap(path, mode="r")
print(total(), int(first[::4096].sum()), flush=True)
for line in sys.stdin:
    print(total(), int(np.memmap(path, mode="r")[::4096].sum()), flush=True)
"""


def test_an_hdf5_that_is_mapped_is_local_at_its_next_open(jobs, origin, scratch):
    h5py = pytest.importorskip("h5py")
    numpy = pytest.importorskip("numpy")
    source, mount = origin.directory("hdf5")
    with h5py.File(source / "file", "w") as data:
        data["x"] = numpy.random.default_rng(1).integers(0, 255, (4000, 1500), dtype="u1")
    os.sync()
    settle()
    path = mount / "file"
    line = jobs.command_line([PYTHON, "-c", HDF5, path], path=mount, tier=TIER, flags=KEEP)
    with jobs.started(line, SMALL) as process:
        first = read_line(process)
        wait_for(lambda: has_entry(jobs))
        with origin.fs.counting() as counted:
            process.stdin.write("again\n")
            process.stdin.flush()
            assert read_line(process) == first
        assert counted["read"] == 0
        process.stdin.close()
        process.stdin = None
        stderr = process.communicate(timeout=60)[1]
    assert f"mapped before it was filled: {path}" in " ".join(stderr.split())


@pytest.mark.parametrize("asked", [False, True], ids=["begun", "asked-for"])
def test_the_jobs_own_reads_come_first(jobs, origin, file, started, asked):
    """While it reads block by block, nearly all bytes from the origin are its own. That does not
    hold where the user has asked for more."""
    origin.fs.latency_ms = 30
    with origin.fs.counting() as counted:
        job = started(*(["--warm"] if asked else []))
        wait_for(lambda: not asked or counted["read_bytes"] > 0)
        job.tell("open")
        for block in range(19, 11, -1):
            job.tell(f"read {block * MB} 1000")
        read = counted["read_bytes"]
    assert read > 12 * MB if asked else 8 * MB <= read <= 15 * MB, read
    origin.fs.latency_ms = 0
    wait_for(lambda: has_entry(jobs))
    job.end()


# ---- ends ----

def test_it_ends_with_the_run(jobs, origin, file, started, build):
    """Nothing is read any more; what is there stays."""
    origin.fs.latency_ms = SLOWLY
    job = started(env=PIECES)
    with origin.fs.counting() as counted:
        job.tell("open")
        job.tell("read 0 1000")
        wait_for(lambda: counted["read_bytes"] > 4 * MB)
        origin.fs.latency_ms = 10 * SLOWLY  # the rest would take minutes
        began = time.monotonic()
        said = job.end()[1]
        assert time.monotonic() - began < 30
    assert counted["read_bytes"] < SIZE and said["finished"]["files"] == 0
    origin.fs._control.settled_counts()
    with origin.fs.counting() as later:
        time.sleep(0.3)
    assert later["read"] == 0
    origin.fs.latency_ms = 0
    assert same(jobs, file) and is_whole(jobs, file[0])
    assert_next_run_counts(jobs, build, file)


@pytest.mark.parametrize("most, cached", [("1M", 0), ("64M", SIZE)], ids=["original", "entry"])
def test_what_is_mapped_is_counted(jobs, file, most, cached):
    mapper = [PYTHON, "-S", "-c", "import mmap,os,sys; fd = os.open(sys.argv[1], 0); "
              "mmap.mmap(fd, 0, access=mmap.ACCESS_READ); mmap.mmap(fd, 4096, access=mmap.ACCESS_READ)", file[0]]
    ran = jobs.run(mapper, path=file[0].parent, tier=TIER, env={**SMALL, "STOKER_WHOLE": most})
    blocks = ran.json["blocks"]
    more = 4096 if cached else 0
    assert (blocks["mapped_cache"], blocks["mapped_storage"]) == (cached + more, SIZE - cached + 4096 - more)
    assert f"mapped, {100 * bool(cached):.1f}% from the cache" in ran.stderr


def test_a_run_in_memory_leaves_nothing(jobs, origin, file, place):
    origin.fs.latency_ms = SLOWLY
    reader = [PYTHON, "-S", "-c", "import os,sys,time; fd = os.open(sys.argv[1], 0);"
              "os.pread(fd, 10, 0); time.sleep(0.5)", file[0]]
    for _ in range(3):
        jobs.run(reader, path=file[0].parent, tier=TIER, env=SMALL)
        assert os.listdir(place.path("/dev/shm")) == []


@pytest.mark.parametrize("hold", [False, True], ids=["", "first"])
def test_a_killed_command(jobs, origin, file, started, hold):
    """The command is killed in the middle of it. The job goes on, and so does the next run."""
    origin.fs.latency_ms = SLOWLY
    job = started(*(["--warm=first"] if hold else []), env=PIECES)
    with origin.fs.counting() as counted:
        job.process.stdin.write("open\n")
        job.process.stdin.flush()
        if not hold:
            assert read_line(job.process) == "done"
            job.tell("read 0 1000")
        wait_for(lambda: counted["read_bytes"] > 4 * MB)
    command = command_of(job)
    os.kill(command, signal.SIGKILL)
    if hold:
        assert read_line(job.process) == "done"
    assert job.tell(f"read {9 * MB} 1000") == "done"
    origin.fs.latency_ms = 0
    assert job.tell(f"read {3 * MB} {9 * MB}") == "done"
    assert same(jobs, file) and is_whole(jobs, file[0])


def command_of(job):
    """The process of `stoker run`, which the test's own is, or has started."""
    def find():
        for pid in [job.process.pid, *children(job.process.pid)]:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                words = line.read().split(b"\0")
            if words[0].endswith(b"/stoker"):
                return pid
        return None
    return wait_for(find)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as found:
        return list(map(int, found.read().split()))


def test_killed_again_and_again(jobs, origin, file, big, build):
    """The command, at any moment: its job reads on, and reads right."""
    draw = random.Random(5)
    for number in range(ROUNDS):
        if number % 5 == 0:
            jobs.stoker("clear")
        origin.fs.latency_ms = 2
        line = jobs.command_line([big, "random", file[0], SIZE, 2, 30, number],
                                 path=file[0].parent, tier=TIER, flags=KEEP)
        with jobs.started(line, {**SMALL, **PIECES}) as command:
            time.sleep(draw.uniform(0.05, 0.5))
            command.kill()
            assert command.communicate(timeout=60)[0] in ("good\n", "")  # killed before its start
    origin.fs.latency_ms = 0
    assert same(jobs, file) and is_whole(jobs, file[0])
    assert_next_run_counts(jobs, build, file)


# ---- trouble ----

def test_no_room_for_all_of_it(jobs, origin, file, started, build):
    """Then it is not begun: its readers have what room there is."""
    job = started(tier="/dev/shm:9M")
    with origin.fs.counting() as counted:
        job.tell("open")
        job.tell("read 0 1000")
        job.tell("map")
        time.sleep(0.5)
    assert counted["read_bytes"] <= MB + PAGES
    stderr, said = job.end()
    assert said["finished"]["files"] == 0 and said["finished"]["left"] >= 1
    assert "could not be finished: beyond the tier's budget" in stderr
    assert said["mapped"] == [{"path": str(file[0]), "filled": False}], stderr


def test_a_tier_that_gets_full(jobs, origin, file, started, place):
    origin.fs.latency_ms = 4 * SLOWLY
    job = started(env=PIECES)
    fill_up = "fallocate -l $(($(stat -f -c %a*%S /dev/shm) - 3000000)) /dev/shm/other"
    with origin.fs.counting() as counted:
        job.tell("open")
        job.tell("read 0 1000")
        wait_for(lambda: counted["read_bytes"] > 4 * MB)
        place.run(["sh", "-c", fill_up])
        origin.fs.latency_ms = 0
        assert job.tell(f"read 0 {SIZE}") == "done"
    said = job.end()[1]
    assert said["finished"]["files"] == 0
    place.run(["rm", "/dev/shm/other"])
    assert same(jobs, file)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_changes_meanwhile(jobs, origin, file, started, replaced):
    origin.fs.latency_ms = SLOWLY
    job = started(env=PIECES)
    with origin.fs.counting() as counted:
        job.tell("open")
        job.tell("read 0 1000")
        wait_for(lambda: counted["read_bytes"] > 4 * MB)
    make_another(file[1], replaced)
    settle()
    origin.fs.latency_ms = 0

    def comes_after_an_open():
        """Opens the file. After an open before the command has seen the change, the run knows the
        old version."""
        job.tell("open")
        job.tell("read 0 1000")
        time.sleep(1)
        return has_entry(jobs)
    wait_for(comes_after_an_open)
    assert same(jobs, file)
    job.end()


def begin_open(origin, job):
    """Has the job open its file, and waits until some of it is read."""
    with origin.fs.counting() as counted:
        job.process.stdin.write("open\n")
        job.process.stdin.flush()
        wait_for(lambda: counted["read_bytes"] > 4 * MB)


def test_a_file_that_is_removed_meanwhile_is_told_of(origin, file, started):
    """The open that waits for it ends when it is left."""
    origin.fs.latency_ms = SLOWLY
    job = started("--warm=first", env=PIECES)
    begin_open(origin, job)
    file[0].unlink()
    origin.fs.latency_ms = 0
    assert read_line(job.process) == "done"
    stderr, said = job.end()
    assert said["finished"] == {"files": 0, "bytes": 0, "unfinished": 1, "left": 1}
    assert "1 big file could not be finished: removed or replaced while being read" in stderr


# ---- --warm=first ----

def test_the_first_open_waits(jobs, origin, file, started):
    origin.fs.latency_ms = 50  # so the job opens it before it is there
    job = started("--warm=first")
    with origin.fs.counting() as counted:
        job.opens_the_entry()
        job.tell("map")
        for block in range(20):
            job.tell(f"touch {block * MB}")
    assert counted["read_bytes"] <= SIZE + FORGOTTEN
    stderr, said = job.end()
    assert said["mapped"] == [] and said["hits"] == 1, stderr
    waited = said["read_ahead"]  # for the file, and not for the answer that it has not changed
    assert (waited["awaited"], waited["there"], waited["asked_s"]) == (1, 0, 0)


def test_many_first_opens(jobs, origin, file):
    """Several processes open it, and one reads by stdio: the file comes once."""
    origin.fs.latency_ms = 1
    script = 'for i in 1 2 3 4; do cmp "$0" "$1" & done; md5sum "$0" >/dev/null & wait'
    with origin.fs.counting() as counted:
        ran = jobs.run(["sh", "-c", script, file[0], file[1]], path=file[0].parent, tier=TIER,
                       flags=["--warm=first"], env=SMALL)
    assert ran.stdout == "" and ran.hits == 5
    assert ran.ahead["filled_bytes"] + ran.finished["bytes"] == SIZE
    assert counted["read_bytes"] <= SIZE + 4 * FORGOTTEN


def test_an_open_does_not_wait_for_what_does_not_come(jobs, origin, file, started):
    """For want of room; with an origin that fails; for a program that is asked to end."""
    job = started("--warm=first", tier="/dev/shm:9M")
    began = time.monotonic()
    job.tell("open")
    assert time.monotonic() - began < 4.9 and job.tell("entry") == "False"
    assert job.tell(f"read 0 {SIZE}") == "done"
    assert job.end()[1]["mapped"] == []


def test_an_origin_that_fails(jobs, origin, file, started):
    job = started("--warm=first")
    with origin.fs.faults(read=errno.EIO, read_from=8 * MB):
        job.tell("open")
        assert job.tell("entry") == "False"
        assert job.tell("read 100 1000") == "done"
    job.end()


def test_a_signal_ends_the_wait(jobs, origin, file):
    """A handler that does not end the program has its open go on by the origin."""
    origin.fs.latency_ms = 200
    program = beneath.SOURCE + (
        "import os, signal, sys; signal.signal(signal.SIGUSR1, lambda *_: None);"
        "print('ready', os.getpid(), flush=True); fd = os.open(sys.argv[1], 0);"
        "print('/tree/' in name_of(fd), flush=True)")
    line = jobs.command_line([PYTHON, "-S", "-E", "-c", program, file[0]], path=file[0].parent,
                             tier=TIER, flags=["--warm=first", "--jobs=1"])
    with origin.fs.counting() as counted, jobs.started(line, SMALL) as process:
        pid = int(read_line(process).split()[1])
        wait_for(lambda: counted["read_bytes"] > MB)
        wait_for(lambda: "futex" in pathlib.Path(f"/proc/{pid}/wchan").read_text())
        os.kill(pid, signal.SIGUSR1)
        began = time.monotonic()
        assert read_line(process) == "False"
        assert time.monotonic() - began < 5
        origin.fs.latency_ms = 0
        process.communicate(timeout=60)


def test_an_origin_that_stands_still(jobs, origin, file, started):
    """No reader advances: after some seconds the program reads the origin, as it would without
    Stoker."""
    origin.fs.latency_ms = SLOWLY
    job = started("--warm=first", env=PIECES)
    begin_open(origin, job)
    with origin.fs.faults(hang_ns=HOUR_NS):
        assert read_line(job.process) == "done"
    origin.fs.latency_ms = 0
    assert job.tell("entry") == "False"  # asks the origin
    job.end()
