"""Files of a shared tier that the local ones have no room for: a transient entry comes for a
moment."""

import collections
import os
import pathlib
import signal
import sys

import pytest

import beneath
from jobs import HOME, kill_group, read_line, wait_for
from test_budget import Sampler, mount_tmpfs
from usage import walk_used
from test_shared_tiers import FAILURES, MORE, SIZE, cluster, helper_of  # noqa: F401
from test_tiers import MIB, reader, sum_of
from origin import settle
from volumes import mount_ext4, mount_overlay

pytestmark = pytest.mark.usefixtures("as_root")

COUNT = 80
ROOM = MIB // 16  # of the tier's budget, for what does not stay
LATE = COUNT // 10  # files for which the command makes no room within a tenth of a second, on a busy machine


class Most(Sampler):
    """Measures how much more of a file system of its own is in use than before, unlinked open files
    included. It takes the least of several looks in a row. An ext4 subtracts one number from
    another, and for a moment counts blocks twice that are just being taken."""

    between_s = 0.001

    def __init__(self, path):
        super().__init__(path)
        self._before = self._used()
        self._last = collections.deque(maxlen=5)

    def _used(self):
        told = os.statvfs(self._home)
        return (told.f_blocks - told.f_bfree) * told.f_frsize

    def _watch(self):
        while not self._stop.wait(self.between_s):
            self._last.append(self._used() - self._before)
            self.most_bytes = max(self.most_bytes, min(self._last))
            self.looks += 1


class Little:
    """The first node has put many files into the shared tier; the second has a local tier of 1 MiB."""

    def __init__(self, cluster, directory):
        self.cluster, self.directory = cluster, directory
        self.jobs = cluster.nodes[1].jobs
        cluster.hold(COUNT)
        cluster.run(0)

    def run(self, epochs=1, **more):
        return self.cluster.run(1, epochs, local=f"{self.directory}:1M", env={"STOKER_AHEAD": "off"}, **more)

    def flags(self):
        return self.cluster.flags(local=f"{self.directory}:1M")

    def line(self, script, *arguments):
        return self.jobs.command_line([sys.executable, "-c", script, *arguments],
                                      self.cluster.mount, flags=self.flags())

    def most(self):
        return Most(self.cluster.nodes[1].place.path(self.directory))

    def home(self):
        """Where the tier lies, as seen from here."""
        return self.cluster.nodes[1].place.path(f"{self.directory}/{HOME}")

    def limit(self):
        """The budget, and what directories on a disk have grown by: of each it pays for one block."""
        grown = [os.stat(name).st_blocks * 512 - os.statvfs(name).f_frsize
                 for name, _, _ in os.walk(self.home())]
        return MIB + sum(more for more in grown if more > 0)

    def names(self):
        """The files that have an entry."""
        return {name[13:] for _, _, names in os.walk(f"{self.home()}/tree") for name in names
                if name[12:13] == ";" and len(name) > 13}

    def entries(self):
        """How many these are."""
        return len(self.names())

    def kept(self):
        """Has the local tier filled, and the shared one emptied; the files that stay, and the others."""
        self.run()
        names = self.names()
        for path in self.cluster.entries().values():
            path.unlink()
        return [[file for file in self.cluster.files if (file.name in names) == stays]
                for stays in (True, False)]


@pytest.fixture(params=["memory", "disk"])
def little(request, cluster, scratch):  # noqa: F811
    place, directory = cluster.nodes[1].place, scratch / "little"
    directory.mkdir()
    if request.param == "disk":
        mount_ext4(place, directory, scratch, "64M")
    else:
        mount_tmpfs(place, directory)
    if request.param == "overlay":
        mount_overlay(place, directory, directory)
    return Little(cluster, directory)


on_disk = pytest.mark.parametrize("little", ["disk"], indirect=True)
on_overlay = pytest.mark.parametrize("little", ["overlay"], indirect=True)


def test_nothing_is_read_from_the_origin(little):
    """In no epoch; and the local tier stays within its budget, and serves what it keeps."""
    with little.most() as most:
        ran, counted = little.run(3)
    assert counted["read_bytes"] == 0
    kept = ran.epoch(2)["hits"]
    assert 10 < kept < COUNT and ran.bypassed == {}
    assert ran.shared["passed"] >= 3 * (COUNT - kept)
    assert ran.shared["passed_bytes"] == ran.shared["passed"] * SIZE
    assert ran.shared["fetched"] == kept + ran.shared["passed"]
    assert f"of these {ran.shared['passed']} (" in ran.said and "were not kept here" in ran.said
    assert most.looks > 5 and 0.8 * MIB < most.most_bytes <= little.limit()


@on_disk
def test_the_room_is_left_behind(little):
    """Entries that stay are as they were. The room is there again for the next run."""
    ran, _ = little.run()
    before = little.entries()
    assert before == COUNT - ran.shared["passed"]
    again, counted = little.run(2)
    assert counted["read_bytes"] == 0 and little.entries() == before
    assert again.shared["passed"] == again.shared["fetched"] > 0
    assert walk_used(little.home())[0] <= MIB - ROOM


@on_disk
def test_one_file_is_told_of_as_one(little):
    little.run()
    passing = next(file for file in little.cluster.files if file.name not in little.names())
    ran = little.jobs.run(["cat", passing], path=little.cluster.mount, flags=little.flags())
    assert ran.shared["passed"] == 1 and "of these 1 (" in ran.said and ") was not kept here" in ran.said


def large_file(little):
    """One that no room for what passes could take, and the shared tier has."""
    cluster = little.cluster  # noqa: F811
    (cluster.source / "large").write_bytes(os.urandom(2 * ROOM))
    settle()
    cluster.nodes[0].jobs.run(["cat", cluster.mount / "large"], path=cluster.mount,
                              flags=cluster.flags())
    return cluster.mount / "large"


def test_a_file_too_large_to_pass(little):
    """Is the origin's, and what passes is not dropped in vain for it."""
    large, last = large_file(little), little.cluster.files[-1]
    again = 'last=$1; shift; cat "$@" >/dev/null; for turn in 1 2 3 4; do cat "$0" "$last"; done >/dev/null'
    ran = little.jobs.run(["sh", "-c", again, large, last, *little.cluster.files],
                          path=little.cluster.mount, flags=little.flags())
    late = ran.bypassed["budget"] - 4  # these are the origin's as well
    assert 0 <= late <= LATE and COUNT - late <= ran.shared["fetched"] <= COUNT


def test_a_file_too_large_to_pass_is_asked_for_once(little):
    """In a run: the shared tier is not asked again for what no room can take."""
    asked, large = [], large_file(little)
    little.run()
    for turns in (1, 120):
        read = f'cat "$@" >/dev/null; for turn in $(seq {turns}); do cat "$0" >/dev/null; done'
        with little.cluster.tier.counting() as counted:
            ran = little.jobs.run(["sh", "-c", read, large, *little.cluster.files[:-1]],
                                  path=little.cluster.mount, flags=little.flags())
        assert turns <= ran.bypassed["budget"] <= turns + LATE
        asked.append(counted.file_ops)
    assert asked[1] < asked[0] + 100  # a run of more than a second compares what is there with what is here


def fill_the_shared_tier(little):
    """Until it has everything; the origin is asked no more than by the job alone."""
    while len(little.cluster.entries()) < COUNT:
        with little.most() as most:
            ran, counted = little.run()
        assert most.most_bytes <= little.limit() and ran.shared["published"] > 0
        assert counted["open"] <= COUNT and counted["read"] <= COUNT


def test_what_the_shared_tier_has_not_got(little):
    """Passes on its way there, as room comes to be: until all is there."""
    lost = [name for number, name in enumerate(sorted(little.cluster.entries())) if number % 2]
    little.run()  # the local tier is full
    for name in lost:
        little.cluster.entries()[name].unlink()
    fill_the_shared_tier(little)
    ran, counted = little.run(2)
    assert counted["read_bytes"] == 0 and ran.shared["passed"] > 0 and ran.bypassed == {}


@on_disk
def test_the_shared_tier_is_slow(little):
    """A transient entry on its way there is copied once, and waits for its turn. The other files
    are the origin's."""
    kept, others = little.kept()
    little.cluster.tier.latency_ms = 30
    ran = little.jobs.run(["cat", *kept, *others], path=little.cluster.mount, flags=little.flags())
    little.cluster.tier.latency_ms = 0
    assert ran.fills + ran.bypassed["budget"] == len(others) and ran.fills > 0
    assert ran.shared["published"] == len(little.cluster.entries()) == len(kept) + ran.fills


@on_disk
def test_the_shared_tier_is_full(little):
    """No transient entry is on its way there then. The other files are the origin's, without a
    copy."""
    _, others = little.kept()
    ran, _ = little.run(3, budget=f":{10 * SIZE}")
    assert ran.shared["published"] < 10 and ran.shared["full"] > 0
    assert ran.fills <= 10 and ran.bypassed["budget"] >= 3 * len(others) - 10


@pytest.mark.parametrize("failure", ["stale", "statvfs zero", *(MORE if "reads" in FAILURES else [])])
@on_disk
def test_file_systems_that_fail(little, failure):
    """The bytes are right, and what they cost is the origin's business."""
    with little.cluster.tier.faults(**FAILURES[failure]):
        little.run(2)


@on_disk
def test_damaged_entries(little):
    little.run()
    for path in little.cluster.entries().values():
        held = bytearray(path.read_bytes())
        held[len(held) // 2] ^= 1
        path.write_bytes(held)
    ran, _ = little.run()
    assert ran.shared["passed"] == 0 and ran.shared["damaged"] > 0


# ---- descriptors ----

HOLD = beneath.SOURCE + """
import ctypes, io, mmap, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
class Mapped(io.BytesIO):  # by nothing but a map: Python's own keeps a descriptor
    def __init__(self, fd):
        self.bytes = os.fstat(fd).st_size
        self.address = libc.mmap(None, self.bytes, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    def read(self):
        return ctypes.string_at(self.address, self.bytes)
held = []
for name in sys.argv[2:]:
    file = open(name, "rb")
    seen = os.fstat(file.fileno()), os.stat(name)
    assert seen[0] == seen[1], (name, seen)
    if sys.argv[1] == "mapped":
        held.append(Mapped(file.fileno()))
        file.close()
    elif sys.argv[1] == "duplicates":
        held.append(os.fdopen(os.dup(file.fileno()), "rb"))
        file.close()
    else:
        held.append(file)
for name, one in zip(sys.argv[2:], held):
    one.seek(0)
    assert one.read() == open(name, "rb").read()
    if sys.argv[1] != "mapped":
        assert os.fstat(one.fileno()) == os.stat(name)
print(sum("/little/" in name_of(int(fd)) for fd in os.listdir("/proc/self/fd"))
      if sys.argv[1] != "mapped" else
      sum("/little/" in line for line in open("/proc/self/maps")))
"""


@pytest.mark.parametrize("how", ["open", "mapped", "duplicates"])
def test_what_is_held(little, how):
    """An entry that a process has open stays, and counts. The other files are the origin's. All
    show its identity."""
    with little.most() as most:
        ran = little.jobs.run([sys.executable, "-c", HOLD, how, *little.cluster.files],
                              path=little.cluster.mount, flags=little.flags())
    assert most.most_bytes <= little.limit()
    assert 10 < int(ran.stdout) < COUNT - 10
    assert ran.bypassed["budget"] > 0


@on_overlay
def test_what_is_mapped_on_an_overlay(little):
    """There a map holds the file of the layer below, and no lease shows it: no entry goes."""
    with little.most() as most:
        ran = little.jobs.run([sys.executable, "-c", HOLD, "mapped", *little.cluster.files],
                              path=little.cluster.mount, flags=little.flags())
    assert most.most_bytes <= little.limit()
    assert 10 < int(ran.stdout) < COUNT - 10
    assert ran.bypassed["budget"] > 0


LEASE = """
import fcntl, signal, sys
signals, held = [], []
signal.signal(signal.SIGIO, lambda number, frame: signals.append(number))
for name in sys.argv[1:]:
    file = open(name, "rb")
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        held.append(file)
    except OSError:
        pass  # the origin's file system has none
for name in sys.argv[1:]:
    if name not in [file.name for file in held]:
        open(name, "rb").read()
kept = [fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_WRLCK for file in held]
print(len(held), sum(kept), len(signals))
"""


@on_disk
def test_what_somebody_has_a_lease_on(little):
    """An entry under a lease stays, and is not asked for: the kernel would send a signal, of which
    a program may die."""
    ran = little.jobs.run([sys.executable, "-c", LEASE, *little.cluster.files],
                          path=little.cluster.mount, flags=little.flags())
    held, kept, signals = map(int, ran.stdout.split())
    assert held == kept > little.entries() and signals == 0


# ---- several processes, killed ones ----

AT_ONCE = 'for seed in 1 2 3 4 5 6; do "$0" "$1" "$2" $seed "${@:4}" & done; wait'


def test_many_processes(little):
    """Beyond what there is room for at once the origin is read; the bytes are right in any case."""
    with little.most() as most:
        ran = little.jobs.run(["bash", "-c", AT_ONCE, *reader(little.cluster.files, 2)],
                              path=little.cluster.mount, flags=little.flags())
    assert ran.stdout.split() == [sum_of(little.cluster.source, COUNT)] * 2 * 6
    assert most.most_bytes <= little.limit() and ran.shared["passed"] > 0


WAITS = """
import sys
print("begun", flush=True)
for line in sys.stdin:
    for name in sys.argv[1:]:
        open(name, "rb").read()
    print("read", flush=True)
"""


def ask(job):
    """Has it go on; what it says then."""
    job.stdin.write("go\n")
    job.stdin.flush()
    return read_line(job)


@on_disk
def test_the_helper_is_killed(little):
    """The origin is read from then on; what was there for a moment goes with the run."""
    little.run()
    before = little.entries()
    with little.jobs.started(little.line(WAITS, *little.cluster.files)) as job:
        assert read_line(job) == "begun"
        for turn in range(2):
            assert ask(job) == "read"
            if turn == 0:
                assert little.entries() > before
                os.kill(helper_of(job), signal.SIGKILL)
        job.communicate(timeout=60)
    assert job.returncode == 0 and little.entries() == before


HOLDS = beneath.SOURCE + """
import os, sys
print("begun", flush=True)
held = {}
for line in sys.stdin:
    for name in sys.argv[1:]:
        if name not in held:
            held[name] = os.open(name, os.O_RDONLY)
    for name, fd in held.items():
        assert os.fstat(fd) == os.stat(name) and os.pread(fd, 1 << 20, 0) == open(name, "rb").read()
    print(sum(name_of(fd) == "" for fd in held.values()), flush=True)
"""


def test_another_run_has_them_open(little):
    """When the run ends in which they came: they stay as they were, and in the budget."""
    with little.most() as most, \
            little.jobs.started(little.line(WAITS, *little.cluster.files)) as first, \
            little.jobs.started(little.line(HOLDS, *little.cluster.files)) as second:
        assert read_line(first) == read_line(second) == "begun"
        assert ask(first) == "read" and ask(second) == "0"
        first.communicate(timeout=60)
        assert int(ask(second)) > 0
        with little.jobs.started(little.line(HOLDS, *little.cluster.files)) as third:
            assert read_line(third) == "begun" and ask(third) == "0"
    assert most.most_bytes <= little.limit()


@on_disk
def test_everybody_is_killed(little):
    """The next run finds what was left, and has the room again."""
    little.run()
    before = little.entries()
    with little.jobs.started(little.line(WAITS, *little.cluster.files),
                             start_new_session=True) as job:
        assert read_line(job) == "begun"
        job.stdin.write("go\n")
        job.stdin.flush()
        wait_for(lambda: little.entries() > before)
        helper = helper_of(job)
        kill_group(job)
    wait_for(lambda: not pathlib.Path(f"/proc/{helper}").exists())
    ran, counted = little.run()
    assert little.entries() <= before + 1 and counted["read_bytes"] == 0
    assert ran.shared["passed"] > 0 and walk_used(little.home())[0] <= MIB
