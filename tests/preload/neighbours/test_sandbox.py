"""Programs whose system calls are limited by seccomp get their files' bytes, cached or not."""

import errno
import signal

import pytest

from matrix import record
from pair import COUNT

ALL_RIGHT = 3 * COUNT  # files and ways


def is_right(said):
    return f"right {ALL_RIGHT}\nright again {ALL_RIGHT}\nstatus 0\nafter {ALL_RIGHT}\n" in said


@pytest.mark.parametrize("when", ["first", "later"])
@pytest.mark.parametrize("refusal", [errno.EPERM, errno.ENOSYS, errno.EACCES])
def test_calls_that_are_refused(pair, programs, refusal, when):
    line = [programs / "sandbox", pair.data, COUNT, refusal, when, "all"]
    assert is_right(pair.check(line)[1])
    if when == "later":  # served before and after the sandbox, and in it the origin's
        assert pair.shim(line).hits == 2 * ALL_RIGHT
    record("Neighbours", "seccomp", "", "all but open, read, stat and the like refused with EPERM, "
           "ENOSYS, EACCES, before and after the first file", "same")


def beside(pair, programs, when, names):
    """Returns the results of a sandbox that kills, over files that are not covered: without Stoker,
    and with it."""
    line = [programs / "sandbox", pair.data.parent / "beside", COUNT, "kill", when, names]
    plain = pair.plain(line)
    assert is_right(plain[1])
    ran = pair.shim(line)
    return plain, (ran.status, ran.stdout)


@pytest.mark.parametrize("when", ["first", "later"])
def test_calls_that_kill_where_nothing_is_covered(pair, programs, when):
    """An absolute name that is not covered costs no system call, so none of ours can kill."""
    plain, shim = beside(pair, programs, when, "absolute")
    assert shim == plain


def test_calls_that_kill_relative_names(pair, programs):
    """Where a relative name leads has to be asked once: that kills, if the sandbox came first."""
    plain, shim = beside(pair, programs, "later", "all")
    assert shim == plain
    assert f"signal {int(signal.SIGSYS)}\n" in beside(pair, programs, "first", "all")[1][1]


@pytest.mark.parametrize("when", ["first", "later"])
def test_calls_that_kill_where_files_are_covered(pair, programs, when):
    """A sandbox that kills must allow what the library needs; it ends as such a sandbox says."""
    ran = pair.shim([programs / "sandbox", pair.data, COUNT, "kill", when, "all"])
    assert f"signal {int(signal.SIGSYS)}\nafter {ALL_RIGHT}\n" in ran.stdout
    record("Neighbours", "seccomp that kills", "", "files that are not covered; covered ones",
           "same by absolute names that are not covered; killed by the first relative name, and "
           "where files are covered, unless it allows getcwd, readlink, statx, openat2, mmap, ...")
