"""LMDB databases that one process writes while others read them. A reader that has LMDB's lock file
open learns from it which version is the last. The database must be of the same moment."""

import os
import pathlib
import subprocess
import sys

import pytest

import beneath
from asked import Asked
from harness import SMALL, TIER
from origin import settle

lmdb = pytest.importorskip("lmdb", reason="no py-lmdb")

FOLLOW = pathlib.Path(__file__).resolve().parent / "programs/follow_lmdb.py"
SIZES = {"whole file": 200, "blocks": 4000}  # KB of values
LAYOUTS = {"directory": ("base", "base/data.mdb"), "file": ("base.lmdb", "base.lmdb")}

WRITE = """
import os, sys, lmdb
path, last, kilobytes, subdir = sys.argv[1:]
with lmdb.open(path, map_size=1 << 28, subdir=subdir == "1") as base:
    with base.begin(write=True) as writing:
        for number in range(int(kilobytes)):
            writing.put(b"%d" % number, bytes(1000))
        writing.put(b"last", last.encode())
"""


class Base:
    """A database: LMDB opens `path`, and the file `data` holds the pages."""

    def __init__(self, scratch, layout, kilobytes):
        name, data = LAYOUTS[layout]
        self.root = scratch / "set"
        self.root.mkdir()
        self.path, self.data = self.root / name, self.root / data
        self._subdir = str(int(layout == "directory"))
        self.write(0, kilobytes)

    def write(self, last, kilobytes=0):
        """Writes by a process without Stoker."""
        subprocess.run([sys.executable, "-c", WRITE, self.path, str(last), str(kilobytes),
                        self._subdir], check=True)
        os.sync()
        settle()


def cache(jobs, base, env):
    """Caches the whole database: the second reading is a hit, or comes from blocks."""
    for _ in range(2):
        jobs.preloaded(["cat", base.data], base.root, TIER, env)


def follower(jobs, base, lock, how, env):
    covered = {**jobs.preload_env(base.root, TIER), **env}
    return jobs.started([sys.executable, FOLLOW, base.path, int(lock), how], covered)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("how", ["main", "fork", "spawn"])
def test_a_reader_with_locks_follows_the_writer(jobs, scratch, layout, size, how):
    base = Base(scratch, layout, SIZES[size])
    cache(jobs, base, SMALL)
    with follower(jobs, base, True, how, SMALL) as process:
        reader = Asked(process)
        assert reader.answer() == "ready"
        assert reader.ask("?") == "0"
        for last in range(1, 5):
            base.write(last)
            assert reader.ask("?") == str(last)


def opens_of_an_entry(jobs, base, lock, within=()):
    """Returns how a process that opens the database holds the file with the pages."""
    program = beneath.SOURCE + (
        "import lmdb, os, sys; base = lmdb.open(sys.argv[1], readonly=True, "
        "lock=sys.argv[2] == '1', subdir=os.path.isdir(sys.argv[1])); "
        "print(base.begin().get(b'last').decode(), "
        "any('shm' in name_of(int(fd)) for fd in os.listdir('/proc/self/fd')))")
    return jobs.preloaded([*within, sys.executable, "-c", program, base.path, int(lock)],
                          base.root, TIER).stdout.split()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_its_lock_file_it_is_cached(jobs, scratch, layout):
    base = Base(scratch, layout, SIZES["whole file"])
    cache(jobs, base, {})
    assert opens_of_an_entry(jobs, base, False) == ["0", "True"]
    assert opens_of_an_entry(jobs, base, True) == ["0", "False"]


@pytest.mark.parametrize("size", SIZES)
def test_a_job_is_told_that_the_lock_file_keeps_it_from_the_cache(jobs, scratch, size):
    """Once for the run: LMDB opens the pages first, and later readers find them written."""
    base = Base(scratch, "directory", SIZES[size])
    program = "import lmdb, sys\nfor lock in map(int, sys.argv[2:]):\n" \
              "    with lmdb.open(sys.argv[1], readonly=True, lock=bool(lock)) as base: base.begin().get(b'last')"
    told = jobs.run([sys.executable, "-c", program, base.path, 1], path=base.root)
    assert told.json["not_cached"].get("written") == 1 and "LMDB without lock=False" in told.said
    assert told.json["not_cached_bytes"]["written"] == base.data.stat().st_size
    assert jobs.run([sys.executable, "-c", program, base.path, 1, 1], path=base.root).json["not_cached"]["written"] == 2
    assert "written" not in jobs.run([sys.executable, "-c", program, base.path, 0], path=base.root).json["not_cached"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_where_no_lock_file_can_be_made_it_is_cached(jobs, scratch, layout):
    """On a read-only file system LMDB goes on without a lock file."""
    base = Base(scratch, layout, SIZES["whole file"])
    jobs.place.run(["mount", "--bind", base.root, base.root])
    jobs.place.run(["mount", "-o", "remount,bind,ro", base.root])
    cache(jobs, base, {})
    assert opens_of_an_entry(jobs, base, True) == ["0", "True"]
