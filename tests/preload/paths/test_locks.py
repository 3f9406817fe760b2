"""Locks of served descriptors: they exclude processes that lock the file, with and without Stoker."""

import fcntl
import os
import subprocess
import sys

import pytest

import locks
import matrix
from asked import Asked
from origin import settle

BUSY, MINE = "busy", "mine"

# Answers each line, "WHAT HOW", about one descriptor that is open from the start.
LOCKER = """
import fcntl, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_SYNC | os.O_NONBLOCK)
copy = os.dup(fd)
os.set_inheritable(copy, True)
os.lseek(fd, 7, os.SEEK_SET)
ways = {"exclusive": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
        "shared": lambda fd: fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
        "posix": lambda fd: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
        "unlock": lambda fd: fcntl.flock(fd, fcntl.LOCK_UN),
        "write": lambda _: fcntl.lockf(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB),
        "open file": lambda fd: fcntl.fcntl(fd, fcntl.F_OFD_SETLK,
                                            struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)),
        "lease": lambda fd: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)}
print(fd, flush=True)
for line in sys.stdin:
    which, way = line.split(maxsplit=1)
    way = way.strip()
    one = copy if which == "copy" else fd
    if way == "state":
        print(os.lseek(one, 0, os.SEEK_CUR), fcntl.fcntl(one, fcntl.F_GETFL),
              fcntl.fcntl(fd, fcntl.F_GETFD), fcntl.fcntl(copy, fcntl.F_GETFD), flush=True)
        continue
    if way == "read":
        print(os.pread(one, 100, 0).hex(), flush=True)
        continue
    try:
        ways[way](one)
        print("mine", flush=True)
    except BlockingIOError:
        print("busy", flush=True)
"""


class Locker(Asked):
    def __init__(self, process):
        super().__init__(process)
        self.pid, self.fd = process.pid, int(self.answer())

    def is_served(self):
        return os.readlink(f"/proc/{self.pid}/fd/{self.fd}").startswith("/dev/shm/")


@pytest.fixture
def lockers(jobs, scratch):
    """Starts Lockers of a cached file, with the library."""
    return Lockers(jobs, scratch / "data")


class Lockers:
    def __init__(self, jobs, root):
        self._jobs, self._root, self.path = jobs, root, root / "file"
        root.mkdir()
        self.write(b"plain" * 100)

    def write(self, content):
        self.path.write_bytes(content)
        settle()
        self._jobs.preloaded(["cat", self.path], self._root)

    def start(self, served=True):
        env = self._jobs.preload_env(self._root) if served else {}
        return self._jobs.started([sys.executable, "-c", LOCKER, self.path], env)


@pytest.mark.parametrize("first", [True, False], ids=["served first", "outside first"])
@pytest.mark.parametrize("ours, theirs", [("exclusive", "exclusive"), ("exclusive", "shared"),
                                          ("shared", "exclusive"), ("posix", "write"), ("open file", "write")])
def test_a_lock_and_one_by_a_process_without_stoker(lockers, ours, theirs, first):
    with lockers.start() as one, lockers.start(served=False) as two:
        us, them = Locker(one), Locker(two)
        assert us.is_served()
        asked = [(us, ours), (them, theirs)]
        holder, other = asked if first else reversed(asked)
        assert holder[0].ask(f"fd {holder[1]}") == MINE
        assert other[0].ask(f"fd {other[1]}") == BUSY
    kind = {"posix": "lockf, fcntl(F_SETLK)", "open file": "fcntl(F_OFD_SETLK)"}.get(ours, "flock")
    matrix.record("Paths", f"{kind} of a cached file", "", "beside a process without Stoker", "same")


def test_two_served_descriptors_exclude_each_other(lockers):
    with lockers.start() as one, lockers.start() as two:
        us, them = Locker(one), Locker(two)
        assert [us.ask("fd exclusive"), them.ask("fd exclusive")] == [MINE, BUSY]
        assert [us.ask("fd unlock"), them.ask("fd exclusive")] == [MINE, MINE]


def test_a_duplicate_has_the_same_lock_and_all_stays_as_it_was(lockers):
    with lockers.start() as one, lockers.start(served=False) as two:
        us, them = Locker(one), Locker(two)
        before = us.ask("copy state")
        content = us.ask("fd read")
        assert us.ask("fd exclusive") == MINE
        assert us.ask("copy state") == us.ask("fd state") == before
        assert us.ask("copy read") == content
        assert not us.is_served()
        assert [us.ask("copy exclusive"), them.ask("fd exclusive")] == [MINE, BUSY]
        assert [us.ask("copy unlock"), them.ask("fd exclusive")] == [MINE, MINE]


def test_who_has_the_lock_reads_what_was_written_before(lockers):
    with lockers.start() as one:
        us = Locker(one)
        assert us.is_served()
        lockers.path.write_bytes(b"other" * 100)
        assert us.ask("fd exclusive") == MINE
        assert bytes.fromhex(us.ask("fd read")) == b"other" * 20


def test_a_file_that_was_replaced_keeps_its_entry(lockers, scratch):
    with lockers.start() as one:
        us = Locker(one)
        (scratch / "aside").write_bytes(b"other" * 100)
        os.rename(scratch / "aside", lockers.path)
        assert us.ask("fd exclusive") == MINE
        assert bytes.fromhex(us.ask("fd read")) == b"plain" * 20


def test_a_lease_is_of_the_file(lockers):
    with lockers.start() as one:
        us = Locker(one)
        assert us.ask("fd lease") == MINE
        assert not us.is_served()


def test_a_shared_lock_of_hdf5_leaves_it_served(lockers):
    """HDF5 takes a shared lock of each file that it reads. An exclusive lock is the program's own wish."""
    lockers.write(b"\x89HDF\r\n\x1a\n" + bytes(5000))
    with lockers.start() as one:
        us = Locker(one)
        assert [us.ask("fd shared"), us.is_served()] == [MINE, True]
        assert [us.ask("fd exclusive"), us.is_served()] == [MINE, False]


# Takes a lock of one byte by each descriptor in turn, each of an open of its own. Prints after each
# call which locks the process has.
POSIX_LOCKER = locks.SOURCE + """
import fcntl, os, struct, sys
path, first = sys.argv[1:]
libc = __import__("ctypes").CDLL(None)
ino = os.stat(path).st_ino

def say(what):
    print(what, of_process(ino), flush=True)

def record(start, kind=fcntl.F_RDLCK):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, 1, 0)

def take(way, fd, start):
    if way == "lockf":
        os.lseek(fd, start, os.SEEK_SET)
        libc.lockf(fd, 3, 1)
    elif way == "syscall":
        libc.syscall({"x86_64": 72, "aarch64": 25}[os.uname().machine], fd, fcntl.F_SETLK, record(start))
    elif way == "ask":
        fcntl.fcntl(fd, fcntl.F_GETLK, record(start))
    else:
        fcntl.fcntl(fd, fcntl.F_SETLK, record(start))

held = [os.open(path, os.O_RDONLY) for _ in range(2)]
for number, way in enumerate([first, "set", "ask", "lockf", "set", "syscall", "set"]):
    fd = held[-number] if number < 2 else os.open(path, os.O_RDONLY)
    held.append(fd)
    os.pread(fd, 9, 0)
    say("open")
    take(way, fd, 10 * number)
    say(way)
stream = open(path, "rb")
stream.read(9)
say("stream")
"""


@pytest.mark.parametrize("cached", [True, False], ids=["cached", "not cached"])
@pytest.mark.parametrize("first", ["set", "ask", "lockf", "syscall"])
def test_posix_locks_outlive_later_descriptors(lockers, jobs, scratch, first, cached):
    """The close of any descriptor of a file ends the locks that the process has on it."""
    if not cached:
        lockers.path.write_bytes(b"other" * 100)
        settle()
    argv = [sys.executable, "-c", POSIX_LOCKER, lockers.path, first]
    plain = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert plain.splitlines()[-1].count("READ") >= 4
    seen = jobs.preloaded(argv, scratch / "data")
    assert seen.stdout == plain
    matrix.record("Paths", "lockf, fcntl(F_SETLK) of a cached file", "",
                  "which locks last while the file is opened again", "same")


# Takes and ends locks until it is killed.
OTHER_LOCKER = """
import fcntl, struct, sys
with open(sys.argv[1], "r+b") as file:
    print(flush=True)
    while True:
        for start in range(3):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, 10 * start)
        fcntl.lockf(file, fcntl.LOCK_UN)
"""


def test_locks_are_listed_once_while_another_process_locks(scratch):
    """The list of a process's locks must not depend on what other processes do. The locks are so
    many that the kernel hands out its list of all processes' locks in several pieces."""
    ours, theirs = scratch / "ours", scratch / "theirs"
    for path in ours, theirs:
        path.write_bytes(bytes(100))
    other = subprocess.Popen([sys.executable, "-c", OTHER_LOCKER, theirs], stdout=subprocess.PIPE)
    with other, open(ours, "rb") as file:
        try:
            other.stdout.readline()
            for start in range(0, 4000, 10):
                fcntl.lockf(file, fcntl.LOCK_SH, 1, start)
            ino = os.fstat(file.fileno()).st_ino
            seen = {tuple(locks.of_process(ino)) for _ in range(100)}
        finally:
            other.kill()
    assert [len(one) for one in seen] == [400]


def test_a_file_with_a_posix_lock_is_not_served_again(lockers):
    with lockers.start() as one, lockers.start() as two:
        us, them = Locker(one), Locker(two)
        assert us.is_served()
        assert us.ask("fd posix") == MINE
        assert not us.is_served()
        assert them.is_served()
        with lockers.start() as three:
            assert not Locker(three).is_served()


# Locks each file while a thread reads it; says of which ones another process sees the lock in the end.
LOCKS_AND_READS = """
import fcntl, os, subprocess, sys, threading
SEES = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
def read(fd, began):
    for at in range(0, os.fstat(fd).st_size, 1 << 20):
        os.pread(fd, 1 << 20, at)
        began.set()
for path in sys.argv[1:]:
    fd, began = os.open(path, os.O_RDONLY), threading.Event()
    reader = threading.Thread(target=read, args=(fd, began))
    reader.start()
    began.wait()
    fcntl.lockf(fd, fcntl.LOCK_SH)
    reader.join()
    seen = subprocess.run([sys.executable, "-c", SEES, path], stderr=subprocess.DEVNULL).returncode != 0
    print("held" if seen else "lost")
"""


def test_a_lock_that_is_taken_while_blocks_are_filled(jobs, scratch):
    root = scratch / "data"
    root.mkdir()
    paths = [root / f"big{number}" for number in range(8)]
    for path in paths:
        path.write_bytes(os.urandom(24 << 20))
    settle()
    ran = jobs.preloaded([sys.executable, "-c", LOCKS_AND_READS, *paths], root, env={"STOKER_MAX_FILE": "1M"})
    assert ran.stdout.split() == ["held"] * len(paths)
