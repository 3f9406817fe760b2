"""CPython's own tests of whatever touches files: under the library every single case ends as
without.

Their temporary files are covered, and so is the standard library, with the files that the tests
bring along. A file that a process wrote itself is not cached in its run, so hits come from the
library. In a second round the writes are hidden from Stoker (unseen.c), each open asks the origin,
and hits come from the tests' own files."""

import os
import pathlib

import pytest

from matrix import record
from regrtest import PYTHON, Regrtest, ask, differences
from slices import ALL

LIBRARY = pathlib.Path(ask('sysconfig.get_path("stdlib")'))
QUICK = ["test_fileio", "test_stat", "test_glob", "test_mmap", "test_tempfile", "test_shutil",
         "test_pathlib", "test_posix", "test_os", "test_dbm", "test_fcntl", "test_sqlite3"]
LONG = ["test_io", "test_zipfile", "test_tarfile", "test_subprocess", "test_multiprocessing_fork",
        "test_multiprocessing_spawn", "test_multiprocessing_forkserver"]
MODULES = QUICK + LONG if ALL else QUICK
# Each open of a young file waits until that is old enough.
SLICE = ["test_fileio", "test_mmap", "test_tempfile", "test_shutil", "test_dbm"]
# Two of multiprocessing's three say nothing more: they take minutes, and open few files.
UNSEEN = [name for name in MODULES if not name.endswith(("_spawn", "_forkserver"))] if ALL \
    else SLICE
# Those which read a file of theirs at least twice: elsewhere there is nothing to hit.
REREAD = {"test_tarfile", "test_zipfile", "test_shutil", "test_io", "test_os"}
NOBODY = 65534


@pytest.fixture(autouse=True)
def need_the_module(module):
    """Debian's package of the tests, libpython3.11-testsuite, is without those of sqlite3."""
    if not any((LIBRARY / "test" / name).exists() for name in (f"{module}.py", module)):
        pytest.skip(f"{PYTHON} comes without {module}; STOKER_CPYTHON may name another")


def same(regrtest, module, shim, plain):
    """Returns the differences, after as many plain runs as show which cases are unsteady by
    themselves."""
    runs = [plain]
    while found := differences(runs, shim):
        if len(runs) == 3:
            return found
        runs.append(regrtest.plain(module))
    return found


@pytest.fixture(scope="module")
def plain_runs():
    """Returns the outcomes without the library, by module and user."""
    return {}


def plain_run(runs, regrtest, module):
    key = module, regrtest.user
    if key not in runs:
        runs[key] = regrtest.plain(module)
    return runs[key]


def check(module, what, regrtest, shim, plain_runs):
    plain = plain_run(plain_runs, regrtest, module)
    assert len(plain.verdicts) > 10
    found = same(regrtest, module, shim, plain)
    assert not found, f"{found}\n{shim.said}"
    assert shim.status == plain.status, shim.said
    record("CPython's own tests", module, ask("platform.python_version()"),
           f"{len(plain.verdicts)} cases, {what}", "same")


def covered_with_the_library(regrtest, module, what, plain_runs):
    regrtest.warm(LIBRARY)
    shim = regrtest.shim(module, also=[LIBRARY])
    assert shim.summary["hits"] > 0
    check(module, what, regrtest, shim, plain_runs)


@pytest.mark.parametrize("module", MODULES)
def test_files_and_the_standard_library_covered(jobs, scratch, plain_runs, module):
    covered_with_the_library(Regrtest(jobs, scratch), module, "files and standard library covered", plain_runs)


@pytest.mark.parametrize("module", UNSEEN)
def test_files_written_behind_our_back(jobs, build, scratch, plain_runs, module):
    regrtest = Regrtest(jobs, scratch)
    shim = regrtest.shim(module, flags=["--fresh=open"],
                         env={"LD_PRELOAD": build / "tests/preload/cpython/unseen.so"})
    assert module not in REREAD or shim.summary["hits"] > 0
    check(module, "own files cached, their writes unseen", regrtest, shim, plain_runs)


@pytest.mark.parametrize("module", QUICK if ALL else ["test_fileio", "test_shutil"])
def test_files_that_may_be_cached_at_once(jobs, scratch, plain_runs, module):
    """Nothing but what the library has seen of the writes keeps old bytes from being served."""
    regrtest = Regrtest(jobs, scratch)
    shim = regrtest.shim(module, env={"STOKER_MIN_AGE": "0"})
    check(module, "files of any age cached", regrtest, shim, plain_runs)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
@pytest.mark.parametrize("module", QUICK if ALL else ["test_fileio"])
def test_as_another_user(jobs, scratch, plain_runs, module):
    covered_with_the_library(Regrtest(jobs, scratch, NOBODY), module, "as another user", plain_runs)
