"""Samples that are ranges of one big file, which is larger than the tier: what the tier does not hold is read into the
kernel's page cache when the samples come again."""

import functools
import importlib.util
import pathlib
import random
import sys

import pytest

import slowfs
from jobs import Jobs
from origin import Origin, settle
from skipping import isolated_or_skip

PROGRAM = pathlib.Path(__file__).parent / "programs/ranges.py"
COUNT, SIZE = 400, 100_000
TIER = 16 << 20
PROBES = 64  # ORDER_PROBES of cli/ahead/orders/order.h
ABSENT = 1 - TIER / (COUNT * SIZE)  # of the file
IN_WAITING = 180  # samples that an epoch asks for until the loader says that it is done with some, and some more
HAS_H5PY = importlib.util.find_spec("h5py") is not None
SETS = ["pread:anew", "pread:persistent", "read:", "readv:", *["h5py:"][:HAS_H5PY]]


def make_hdf5(path, rows):
    import h5py
    import numpy
    with h5py.File(path, "w") as file:
        file.create_dataset("rows", data=numpy.frombuffer(rows, numpy.uint8).reshape(COUNT, SIZE))


@pytest.fixture(scope="module")
def data(session_origin):
    source, mount = session_origin.directory("ranges")
    rows = random.Random(1).randbytes(COUNT * SIZE)
    (source / "plain").write_bytes(rows)
    if HAS_H5PY:
        make_hdf5(source / "h5py", rows)
    settle()
    return mount


@pytest.fixture
def run(jobs, plainly, origin, data):
    return functools.partial(_run, jobs, plainly, origin.fs, data)


def _run(jobs, plainly, fs, data, epochs, *sets, latency_ms=2, tier=TIER, **more):
    """Returns the run, whose batches and draws are those of a job without Stoker, and the bytes that storage gave."""
    line = [sys.executable, PROGRAM, data, str(epochs), *sets]
    plain = plainly(line)
    fs.latency_ms = latency_ms
    with fs.counting() as counted:
        ran = jobs.run(line, path=data, tier=f"/dev/shm:{tier}", timeout=300, **more)
    assert ran.stdout == plain and len(plain.splitlines()) == epochs * len(sets)
    return ran, counted.counts()["read_bytes"]


def ranges_of(ran):
    return ran.json["read_ahead"]["ranges"]


def test_later_epochs_are_read_ahead(run, parts):
    """Storage gives no more than without reading ahead. Where each sample opens the file ("anew"), nothing is read ahead: on
    FUSE, each open drops that. Where workers stay, the kernel still has what they have read, until the file is opened again."""
    ran, before = run(2, *SETS, env={"STOKER_AHEAD": "off"})
    assert ran.json["read_ahead"]["files"] == ranges_of(ran) == 0
    ran, given = run(2, *SETS, env=parts.env)
    assert given <= 1.02 * before
    figures = dict(zip(SETS, parts.figures(), strict=True))
    assert figures.pop("pread:anew")["ranges"] <= 2  # the first ones of two workers
    assert [each for each, of in figures.items() if of["range_bytes"] < 0.9 * of["ranges"] * SIZE] == []
    del figures["pread:persistent"]
    least = ABSENT * (COUNT - IN_WAITING)
    assert [each for each, of in figures.items() if of["ranges"] < least] == [], figures
    assert f"read ahead of big files: {ranges_of(ran)} ranges" in ran.said


def test_a_file_that_the_tier_holds(run):
    """Its blocks come as they do without reading ahead."""
    ran, given = run(2, "pread:", tier=128 << 20)
    assert ranges_of(ran) == 0 and given <= 1.02 * COUNT * SIZE


def test_the_next_runs(run, jobs, state):
    """A run reads ahead as soon as the tier is full. If what earlier runs have seen is wrong, it reads no more than the
    probes."""
    run(1, "pread:", env=state, latency_ms=0)
    assert jobs.stoker("clear").returncode == 0
    ran, _ = run(1, "pread:", env=state, tier=8 << 20)
    assert ranges_of(ran) >= 0.5 * (COUNT - IN_WAITING)
    assert jobs.stoker("clear").returncode == 0
    ran, _ = run(1, "pread:backwards", env=state, tier=8 << 20)
    assert ranges_of(ran) <= PROBES


def test_a_file_that_is_replaced(data, origin, jobs, plainly):
    """The ranges of the old file are read no more."""
    source = origin.source / data.name
    rows = (source / "plain").read_bytes()
    for name in ("one", "two"):
        (source / name).mkdir()
        (source / name / "plain").write_bytes(rows)
        (source / name / "plain.other").write_bytes(rows[::-1])
    settle()
    line = [sys.executable, PROGRAM, data / "one", "4", "pread:replaced"]
    plain = plainly(line)
    line[2] = data / "two"
    origin.fs.latency_ms = 2
    ran = jobs.run(line, path=data, tier=f"/dev/shm:{TIER}", timeout=300)
    assert ran.stdout == plain and len(set(plain.split()[::2])) == 4
    assert 0 < ranges_of(ran) <= COUNT


def test_a_mount_without_a_page_cache(scratch, build, plainly):
    source = scratch / "direct"
    source.mkdir()
    (source / "plain").write_bytes(random.Random(1).randbytes(COUNT * SIZE))
    settle()
    plain = plainly([sys.executable, PROGRAM, source, "2", "pread:"])
    with slowfs.SlowFS(source, binary=str(build / "slowfs"), direct_io=True) as fs, isolated_or_skip() as place:
        mount = Origin(fs).mount
        fs.latency_ms = 2
        line = [sys.executable, PROGRAM, mount, "2", "pread:"]
        ran = Jobs(place, build, scratch).run(line, path=mount, tier=f"/dev/shm:{TIER}", timeout=300)
    assert ran.stdout == plain and ranges_of(ran) == 0
