"""An origin that fails. The program gets what it would get without the library, or the right bytes
all the same. No answer of the failing origin stays in the cache."""

import errno
import hashlib
import json
import os
import pathlib
import sys

import pytest

from jobs import HOME
from matrix import record
from origin import settle
from slices import ALL
from slow_origin import slow_origin

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"small": 5000, "large": 600000}
FAULTS = {
    "reads fail": {"read": errno.EIO},
    "reads fail at the end": {"read": errno.EIO, "read_from": 500000},
    "reads fail in the middle": {"read": errno.EIO, "read_from": 200000, "spared": 1},
    "reads are stale": {"read": errno.ESTALE, "read_from": 300000},
    "the third read fails": {"read": errno.EIO, "spared": 2},
    "opens fail": {"open": errno.EIO},
    "opens are stale": {"open": errno.ESTALE},
    "opens are refused": {"open": errno.EACCES},
    "later opens fail": {"open": errno.EMFILE, "spared": 3},
    "attributes fail": {"getattr": errno.EIO},
    "attributes are stale": {"getattr": errno.ESTALE},
    "later attributes fail": {"getattr": errno.EIO, "spared": 4},
    "names fail": {"lookup": errno.EIO},
    "names are stale": {"lookup": errno.ESTALE},
    "later names fail": {"lookup": errno.ETIMEDOUT, "spared": 5},
    "reads are short": {"read_most": 1000},
    "reads are very short": {"read_most": 1},
    "sizes are too large": {"size": 1000},
    "sizes are too small": {"size": -1000},
    "files go stale": {"stale_ns": 1},
    "files go stale later": {"stale_ns": 30 * 10**6},
    "times are whole seconds": {"whole_seconds": 1},
    "statvfs says nothing": {"statvfs_zero": 1},
    "missing names are kept": {"negative_ns": 10**9},
    "everything hangs a little": {"hang_ns": 20 * 10**6},
}
STATES = ["cold", "warm", "known"]
CASES = [(name, state) for number, name in enumerate(FAULTS)
         for place, state in enumerate(STATES) if ALL or number % len(STATES) == place]


@pytest.fixture(scope="module")
def origin(build, tmp_path_factory):
    with slow_origin(tmp_path_factory.mktemp("origin") / "source", build) as origin:
        yield origin


@pytest.fixture
def files(origin):
    """A fresh directory: (by name, what is in its files; their paths at the origin)."""
    source, mount = origin.directory("files")
    for name, size in SIZES.items():
        (source / name).write_bytes(os.urandom(size))
    settle()
    return source, mount


def asked(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ask(mount):
    return [sys.executable, "-B", HERE / "ask.py", *(mount / name for name in SIZES)]


@pytest.mark.parametrize("name, state", CASES)
def test_the_origin_fails(origin, files, place, jobs, name, state):
    source, mount = files
    right = asked(place.run(ask(mount)))
    with origin.fs.faults(**FAULTS[name]):
        without = asked(place.run(ask(mount)))
    fresh = {"STOKER_FRESH": "never"} if state == "known" else {}
    if state != "cold":
        jobs.preloaded(ask(mount), mount)
    with origin.fs.faults(**FAULTS[name]):
        with_library = asked(jobs.preloaded(ask(mount), mount, env=fresh))
    for question, answer in with_library.items():
        assert (answer in (right[question], without[question]) or
                is_cut_off(answer, source / question.split()[1], FAULTS[name])), question
    check_what_stays(source, mount, place, jobs, right)
    record("Faults", f"origin: {name}, {state}", "", f"{len(right)} questions", "same")


def is_cut_off(answer, path, faults):
    """Right bytes up to a read that fails: which one it is, counts from our own reads, too."""
    return (isinstance(answer, list) and answer[2:] == [f"errno {faults.get('read')}"] and
            answer[1] == hashlib.md5(path.read_bytes()[:answer[0]]).hexdigest())


def check_what_stays(source, mount, place, jobs, right):
    """Entries that are their files', and a next run that is served right."""
    for entry in pathlib.Path(place.path(f"/dev/shm/{HOME}/tree")).rglob("*;*"):
        if entry.name != ";origin" and entry.name[-1] != ";":
            truth = (source / entry.name.split(";", 1)[1]).read_bytes()
            # At a smaller size, a program cannot read beyond it. The entry has its own name.
            assert entry.read_bytes() in (truth, truth[:-1000]), entry
    ran = jobs.run(ask(mount), path=mount)
    assert json.loads(ran.stdout) == right
    assert ran.hits > 0


def test_a_faulty_origin_is_not_remembered(origin, files, place, jobs):
    """A run in which every kind of thing went wrong goes on when nothing does."""
    _, mount = files
    right = asked(place.run(ask(mount)))
    env = jobs.preload_env(mount)
    for faults in FAULTS.values():
        with origin.fs.faults(**faults):
            place.run(ask(mount), env=env, check=False)
        assert asked(place.run(ask(mount), env=env)) == right
