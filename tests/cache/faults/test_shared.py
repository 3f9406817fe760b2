"""An origin that fails as shared file systems do (tests/slowfs/faults.h). Cached files are served.
The rest is what the origin returns. A job waits no longer than without Stoker, but for the two
seconds that it leaves to another process."""

import contextlib
import errno
import os
import random
import sys
import time

import pytest

from jobs import read_line, wait_for
from origin import settle
from slowfs import HOUR_NS
from test_origin import origin  # noqa: F401

MB = 1 << 20
BIG = {"STOKER_MAX_FILE": "1M", "STOKER_WHOLE": "1M", "STOKER_BLOCK": "256K"}

# Does what each line of its input says, and prints the first bytes of what it has got, or the errno.
PROGRAM = """
import ctypes, errno, os, sys
files, libc = {}, ctypes.CDLL(None, use_errno=True)

def renamed(old, new):
    if libc.renameat2(-100, old.encode(), -100, new.encode(), 1) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")
    return b"renamed"

def opened(path):
    files[path] = os.open(path, os.O_RDONLY)
    return b"opened"

def written(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
    os.write(fd, text.encode())
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    return b"written"

DO = {
    "open": opened,
    "pread": lambda path, at: os.pread(files[path], 8, int(at)),
    "read": lambda path: open(path, "rb").read()[:8],
    "exists": lambda path: str(os.path.exists(path)).encode(),
    "list": lambda path: ",".join(sorted(os.listdir(path))).encode(),
    "rename": renamed,
    "write": written,
}
for line in sys.stdin:
    what, *arguments = line.split()
    try:
        print(DO[what](*arguments).decode("latin1"), flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
"""


class Program:
    def __init__(self, process):
        self._process = process

    def begin(self, *words):
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()

    def answer(self):
        return read_line(self._process)

    def ask(self, *words):
        self.begin(*words)
        return self.answer()


@contextlib.contextmanager
def program(jobs, mount=None, under=(), **env):
    """It running, covered or (without a mount) plainly."""
    line = [*under, sys.executable, "-S", "-c", PROGRAM]
    environment = jobs.preload_env(mount) if mount else {}
    with jobs.started(line, env={**environment, **env}) as process:
        yield Program(process)


@pytest.fixture
def files(origin):  # noqa: F811
    """A directory with two small files and a big one: (its path behind the origin, at it)."""
    source, mount = origin.directory("shared")
    for name in ("a", "b"):
        (source / name).write_bytes(name.encode() * 5000)
    (source / "big").write_bytes(b"c" * 4 * MB)
    settle()
    return source, mount


# ---- ESTALE, late ----

def test_a_hit_does_not_go_stale(origin, files, jobs):  # noqa: F811
    """Its descriptor is the entry's. (Plainly the read fails: so the switch is one.)"""
    _, mount = files
    jobs.preloaded(["cat", mount / "a"], mount)
    for covered, said in ((None, "ESTALE"), (mount, "aaaaaaaa")):
        with program(jobs, covered) as job, origin.fs.faults(stale_ns=200 * 10**6):
            assert job.ask("open", mount / "a") == "opened"
            time.sleep(0.25)
            assert job.ask("pread", mount / "a", 4096) == said


def test_blocks_do_not_go_stale(origin, files, jobs):  # noqa: F811
    """Those that are there; the others are the origin's, whose error is the program's."""
    source, mount = files
    content = random.Random(4).choices("abcdefgh", k=4 * MB)
    (source / "text").write_text("".join(content))
    settle()
    there, absent = 4096, 3 * MB
    with program(jobs, mount, **BIG) as job:
        assert job.ask("open", mount / "text") == "opened"
        assert job.ask("pread", mount / "text", there) == "".join(content[there:there + 8])
        with origin.fs.faults(stale_ns=1):
            assert job.ask("pread", mount / "text", there) == "".join(content[there:there + 8])
            assert job.ask("pread", mount / "text", absent) == "ESTALE"
        assert job.ask("pread", mount / "text", absent) == "".join(content[absent:absent + 8])


def test_a_fill_that_goes_stale(origin, files, jobs):  # noqa: F811
    """Nothing of it stays: the next open of the file gets all of it."""
    source, mount = files
    with program(jobs, mount) as job:
        with origin.fs.faults(stale_ns=1):
            assert job.ask("read", mount / "a") == "ESTALE"
        assert job.ask("read", mount / "a") == "aaaaaaaa"
    said = jobs.preloaded(["cat", mount / "a"], mount).stdout
    assert said == (source / "a").read_text()


# ---- whole seconds ----

def test_versions_of_one_second(origin, files, jobs):  # noqa: F811
    """Two of equal length within a second look alike: neither is cached before that is over."""
    source, mount = files
    patient = {"STOKER_MIN_AGE": "2"}
    with origin.fs.faults(whole_seconds=1):
        time.sleep(1 - time.time() % 1)
        for text in ("version1", "version2", "version3"):
            (source / "new").write_text(text)
            with program(jobs, mount, **patient) as job:
                assert [job.ask("read", mount / "new") for _ in range(2)] == [text] * 2
        time.sleep(2.1)
        ran = jobs.run(["sh", "-c", 'cat "$0"; cat "$0"', mount / "new"], path=mount, env=patient)
        assert (ran.stdout, ran.fills, ran.hits) == (2 * "version3", 1, 1)
        (source / "new").write_text("version4")
        with program(jobs, mount, **patient) as job:
            assert job.ask("read", mount / "new") == "version4"


# ---- names ----

def test_a_name_that_another_node_makes(origin, files, jobs):  # noqa: F811
    """It is there as soon as the mount says so, and a second more where its directory is known."""
    source, mount = files
    with program(jobs, mount) as job, origin.fs.faults(negative_ns=300 * 10**6):
        assert job.ask("list", mount) == "a,b,big"
        took_s = [appears_after_s(job, source, mount, "first")]
        while min(took_s) > 0.3 + 1 + 2 and len(took_s) < 5:  # the machine may be busy
            took_s.append(appears_after_s(job, source, mount, f"new{len(took_s)}"))
        assert min(took_s) < 0.3 + 1 + 2, took_s


def appears_after_s(job, source, mount, name):
    assert job.ask("exists", mount / name) == "False"
    (source / name).write_text("newcomer")
    began = time.monotonic()
    wait_for(lambda: job.ask("exists", mount / name) == "True")
    took_s = time.monotonic() - began
    assert job.ask("read", mount / name) == "newcomer"
    return took_s


def test_a_rename_whose_flags_are_ignored(origin, files, jobs):  # noqa: F811
    """The job gets a success, and reads then what it has put there."""
    source, mount = files
    with program(jobs, mount) as job, origin.fs.faults(rename_flags=1):
        assert any(puts_over_another(origin, job, source / f"{number}", mount / f"{number}")
                   for number in range(20)), "never in time"


def puts_over_another(origin, job, source, mount):  # noqa: F811
    """Renames a over b, which another node puts there meanwhile: whether that was in time."""
    source.mkdir()
    for name in ("a", "b"):
        (source / name).write_bytes(name.encode() * 5000)
    settle()
    assert job.ask("read", mount / "b") == "bbbbbbbb"
    (source / "b").rename(source / "away")
    assert job.ask("list", mount)
    origin.fs.latency_ms, before = 40, origin.fs.counts()["rename"]
    job.begin("rename", mount / "a", mount / "b")
    while origin.fs.counts()["rename"] == before:
        time.sleep(0.001)
    (source / "away").rename(source / "b")
    in_time = (source / "a").exists()
    assert job.answer() == "renamed"
    origin.fs.latency_ms = 0
    if in_time:
        assert job.ask("read", mount / "b") == "aaaaaaaa"
        assert job.ask("read", mount / "a") == "ENOENT"
    return in_time


# ---- writes ----

def test_a_write_that_fails_at_fsync(origin, files, jobs):  # noqa: F811
    """The job sees the error, and reads what the origin says then, not what was cached."""
    source, mount = files
    with program(jobs, mount) as job:
        assert [job.ask("read", mount / "a") for _ in range(2)] == ["aaaaaaaa"] * 2
        with origin.fs.faults(fsync=errno.ENOSPC):
            assert job.ask("write", mount / "a", "otherwise") == "ENOSPC"
            assert job.ask("read", mount / "a") == "otherwis"
        (source / "a").write_text("rolled back")
        assert job.ask("read", mount / "a") == "rolled b"


# ---- hanging ----

def test_what_is_cached_does_not_hang(origin, files, jobs):  # noqa: F811
    """It is in the run that has asked for it: an open of it asks no server."""
    _, mount = files
    with program(jobs, mount) as job:
        for name in ("a", "b"):
            assert job.ask("read", mount / name) == name * 8
        assert job.ask("read", mount / "a") == "aaaaaaaa"
        with origin.fs.faults(hang_ns=HOUR_NS):
            for name in ("a", "b"):
                assert job.ask("read", mount / name) == name * 8
                assert job.ask("exists", mount / name) == "True"


def test_blocks_that_are_there_do_not_hang(origin, files, jobs):  # noqa: F811
    _, mount = files
    with program(jobs, mount, **BIG) as job:
        assert job.ask("open", mount / "big") == "opened"
        assert job.ask("pread", mount / "big", 5000) == "cccccccc"
        with origin.fs.faults(hang_ns=HOUR_NS):
            assert job.ask("pread", mount / "big", 5100) == "cccccccc"


def test_a_fill_that_hangs(origin, files, jobs):  # noqa: F811
    """Another process that wants the file waits for the filler two seconds at most, and then as
    long as the origin. Both get it, and neither dies."""
    _, mount = files
    with program(jobs, mount) as first, program(jobs, mount) as second:
        assert first.ask("read", mount / "b") == second.ask("read", mount / "b") == "bbbbbbbb"
        began = time.monotonic()
        with origin.fs.faults(hang_ns=3 * 10**9):
            first.begin("read", mount / "a")
            time.sleep(0.1)
            second.begin("read", mount / "a")
            time.sleep(3)
            hung_s = time.monotonic() - began
        assert first.answer() == second.answer() == "aaaaaaaa"
        assert time.monotonic() - began < hung_s + 2 + 20  # the rest is the machine's


def test_the_command_ends_while_the_origin_hangs(origin, files, jobs, scratch):  # noqa: F811
    """It has questions of its own to ask there, and leaves them. (The kernel keeps a process for as
    long as FUSE owes one of its threads an answer; all is done and said by then.)"""
    _, mount = files
    line = jobs.command_line([sys.executable, "-S", "-c", PROGRAM], path=mount,
                             flags=[f"--json={scratch}/said"])
    with jobs.started(line) as process:
        job = Program(process)
        assert job.ask("read", mount / "a") == "aaaaaaaa"
        with origin.fs.faults(hang_ns=HOUR_NS):
            time.sleep(1)  # threads of the command begin to ask
            process.stdin.close()
            wait_for(lambda: (scratch / "said").read_text().endswith("}\n"))
            wait_for(lambda: os.listdir(jobs.place.path("/dev/shm")) == [])
        process.stdin = None
        assert process.wait(60) == 0


# ---- as a tier ----

FAILURES = {"stale": {"stale_ns": 1}, "whole seconds": {"whole_seconds": 1},
            "statvfs zero": {"statvfs_zero": 1}, "fsync": {"fsync": errno.ENOSPC},
            "rename flags": {"rename_flags": 1}, "negative names": {"negative_ns": HOUR_NS},
            "hanging": {"hang_ns": 3 * 10**7}}


@pytest.mark.parametrize("failure", FAILURES)
def test_no_local_tier_lies_there(origin, files, jobs, failure):  # noqa: F811
    """Without the command no process may wait for such a file system; the job runs."""
    source, mount = files
    (source / "tier").mkdir()
    with origin.fs.faults(**FAILURES[failure]):
        reading = jobs.preloaded(["head", "-c0", mount / "a"], mount, tier=mount / "tier",
                                 timeout=60)
        assert reading.stderr == ""
    assert list((source / "tier").iterdir()) == []
    said = jobs.preloaded(["cat", mount / "a"], mount, tier=mount / "tier").stdout
    assert said == (source / "a").read_text()
