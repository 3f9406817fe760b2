"""HDF5 files that one process writes while others read them, as SWMR is meant: a reader that asks
again sees what has been written since."""

import os
import sys

import pytest

from asked import Asked
from harness import SMALL, TIER
from origin import settle

pytest.importorskip("h5py", reason="no h5py")

WRITER = """
import sys, h5py, numpy
file = h5py.File(sys.argv[1], "w", libver="latest")
rows = file.create_dataset("rows", (0, 4096), maxshape=(None, 4096), chunks=(64, 4096), dtype="u1")
file.swmr_mode = True
for line in sys.stdin:
    before = rows.shape[0]
    rows.resize(before + int(line), 0)
    values = (numpy.arange(before, rows.shape[0]) % 256).astype("u1")
    rows[before:] = numpy.repeat(values[:, None], 4096, 1)
    rows.flush()
    print(rows.shape[0], flush=True)
"""

FOLLOWER = """
import sys, h5py
file = rows = None
for line in sys.stdin:
    if line == "open\\n":
        file = h5py.File(sys.argv[1], "r", libver="latest", swmr=True)
        rows = file["rows"]
    rows.refresh()
    print(rows.shape[0], int(rows[:, 7].astype("u8").sum()), flush=True)
"""


def sum_of(rows):
    return sum(row % 256 for row in range(rows))


@pytest.mark.parametrize("rows", [100, 400], ids=["whole file", "blocks"])
@pytest.mark.parametrize("where", ["another machine", "the same job"])
def test_a_reader_follows_the_writer(jobs, origin, rows, where):
    source, mount = origin.directory("swmr")
    env = {**jobs.preload_env(mount, TIER), **SMALL}
    theirs = ([sys.executable, "-c", WRITER, source / "rows.h5"], {})
    ours = ([sys.executable, "-c", WRITER, mount / "rows.h5"], env)
    argv, writers = theirs if where == "another machine" else ours
    no_locks = {"HDF5_USE_FILE_LOCKING": "FALSE"}
    with jobs.started(argv, {**writers, **no_locks}) as process, jobs.started(
            [sys.executable, "-c", FOLLOWER, mount / "rows.h5"], {**env, **no_locks}) as second:
        writer, reader = Asked(process), Asked(second)
        there = int(writer.ask(rows))
        os.sync()
        settle()
        assert reader.ask("open") == f"{there} {sum_of(there)}"
        for _ in range(4):
            there = int(writer.ask(50))
            settle()
            assert reader.ask("again") == f"{there} {sum_of(there)}"


APPEND = """
import sys, h5py
with h5py.File(sys.argv[1], "r+") as file:
    rows = file["rows"]
    rows[::3] = int(sys.argv[2])
    rows.resize(rows.shape[0] + 100, 0)
    rows[-100:] = int(sys.argv[2]) + 1
"""

READER = """
import sys, h5py
for line in sys.stdin:
    if line == "open\\n":
        file = h5py.File(sys.argv[1], "r")
    if line == "anew\\n":
        file.close()
        file = h5py.File(sys.argv[1], "r")
    rows = file["rows"]
    print(rows.shape[0], int(rows[:, 7].astype("u8").sum()), flush=True)
"""


def make_rows(path, rows):
    import h5py
    import numpy

    with h5py.File(path, "w") as file:
        file.create_dataset("rows", (rows, 4096), maxshape=(None, 4096), chunks=(16, 4096),
                            data=numpy.full((rows, 4096), 5, "u1"))


def seen(path):
    """By a process without Stoker."""
    import h5py

    with h5py.File(path, "r") as file:
        rows = file["rows"]
        return f"{rows.shape[0]} {int(rows[:, 7].astype('u8').sum())}"


@pytest.mark.parametrize("rows", [100, 400], ids=["whole file", "blocks"])
@pytest.mark.parametrize("where", ["another machine", "the same job"])
def test_a_file_that_is_opened_to_be_appended_to(jobs, origin, rows, where):
    """A reader has it open meanwhile. A new open of it sees the appended rows."""
    source, mount = origin.directory("append")
    make_rows(source / "rows.h5", rows)
    settle()
    env = {**jobs.preload_env(mount, TIER), **SMALL, "HDF5_USE_FILE_LOCKING": "FALSE"}
    argv = [sys.executable, "-c", READER, mount / "rows.h5"]
    with jobs.started(argv, env) as first:
        reader = Asked(first)
        assert reader.ask("open") == f"{rows} {5 * rows}"
        for value in 10, 20:
            job = where == "the same job"
            jobs.place.run([sys.executable, "-c", APPEND, (mount if job else source) / "rows.h5",
                            value], env if job else {"HDF5_USE_FILE_LOCKING": "FALSE"})
            settle()
            if job:
                assert reader.ask("anew") == seen(source / "rows.h5")
            with jobs.started(argv, env) as another:
                assert Asked(another).ask("open") == seen(source / "rows.h5")
