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
COUNT, SIZE = 600, 100_000
TIER = 24 << 20
PROBES = 64  # ORDER_PROBES of cli/ahead/orders/order.h
ABSENT = 1 - TIER / (COUNT * SIZE)  # of the file
IN_WAITING = 180  # samples that an epoch asks for until the loader says that it is done with some, and some more

needs_h5py = pytest.mark.skipif(importlib.util.find_spec("h5py") is None, reason="no h5py")


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
    if importlib.util.find_spec("h5py") is not None:
        make_hdf5(source / "h5py", rows)
    settle()
    return mount


@pytest.fixture
def run(jobs, plainly, origin, data):
    return functools.partial(_run, jobs, plainly, origin.fs, data)


def _run(jobs, plainly, fs, data, kind, epochs, how="", latency_ms=2, tier=TIER, **more):
    """Returns the run, whose batches and draws are those of a job without Stoker, and the bytes that storage gave."""
    line = [sys.executable, PROGRAM, data / ("h5py" if kind == "h5py" else "plain"), kind, str(epochs), how]
    plain = plainly(line)
    fs.latency_ms = latency_ms
    with fs.counting() as counted:
        ran = jobs.run(line, path=data, tier=f"/dev/shm:{tier}", timeout=300, **more)
    assert ran.stdout == plain and len(plain.splitlines()) == epochs
    return ran, counted.counts()["read_bytes"]


def ranges_of(ran):
    return ran.json["read_ahead"]["ranges"]


@pytest.mark.parametrize("kind, how", [("pread", ""), ("pread", "persistent"), ("read", ""), ("readv", ""),
                                       pytest.param("h5py", "", marks=needs_h5py)])
def test_later_epochs_are_read_ahead(run, kind, how):
    """Storage gives no more than without reading ahead. If workers stay, it gives less: the kernel still has what they have
    read, until the file is opened again."""
    ran, given = run(kind, 2, how)
    if how != "persistent":
        _, before = run(kind, 2, how, env={"STOKER_AHEAD": "off"})
        assert given <= 1.02 * before
        assert ranges_of(ran) >= ABSENT * (COUNT - IN_WAITING)
    assert ran.json["read_ahead"]["range_bytes"] >= 0.9 * ranges_of(ran) * SIZE
    assert f"read ahead of big files: {ranges_of(ran)} ranges" in ran.said


def test_a_file_that_the_tier_holds(run):
    """Its blocks come as they do without reading ahead."""
    ran, given = run("pread", 2, tier=128 << 20)
    assert ranges_of(ran) == 0 and given <= 1.02 * COUNT * SIZE


def test_the_next_run(run, jobs, state):
    """It reads ahead as soon as the tier is full."""
    run("pread", 1, env=state, latency_ms=0)
    assert jobs.stoker("clear").returncode == 0
    ran, _ = run("pread", 1, env=state, tier=8 << 20)
    assert ranges_of(ran) >= 0.5 * (COUNT - IN_WAITING)


def test_what_an_earlier_run_has_seen_is_wrong(run, jobs, state):
    run("pread", 1, env=state, latency_ms=0)
    assert jobs.stoker("clear").returncode == 0
    ran, _ = run("pread", 1, "backwards", env=state, tier=8 << 20)
    assert ranges_of(ran) <= PROBES


def test_a_file_that_each_sample_opens(run):
    """On FUSE, each open drops what was read ahead."""
    ran, _ = run("pread", 2, "anew")
    assert ranges_of(ran) <= 2  # the first ones of two workers


def test_a_file_that_is_replaced(data, origin, jobs, plainly):
    """The ranges of the old file are read no more."""
    source = origin.source / data.name
    rows = (source / "plain").read_bytes()
    for name in ("one", "two"):
        (source / name).mkdir()
        (source / name / "plain").write_bytes(rows)
        (source / name / "plain.other").write_bytes(rows[::-1])
    settle()
    line = [sys.executable, PROGRAM, data / "one/plain", "pread", "4", "replaced"]
    plain = plainly(line)
    line[2] = data / "two/plain"
    origin.fs.latency_ms = 2
    ran = jobs.run(line, path=data, tier=f"/dev/shm:{TIER}", timeout=300)
    assert ran.stdout == plain and len(set(plain.split()[::2])) == 4
    assert 0 < ranges_of(ran) <= COUNT


def test_a_mount_without_a_page_cache(scratch, build, plainly):
    source = scratch / "direct"
    source.mkdir()
    (source / "plain").write_bytes(random.Random(1).randbytes(COUNT * SIZE))
    settle()
    plain = plainly([sys.executable, PROGRAM, source / "plain", "pread", "2"])
    with slowfs.SlowFS(source, binary=str(build / "slowfs"), direct_io=True) as fs, isolated_or_skip() as place:
        mount = Origin(fs).mount
        fs.latency_ms = 2
        line = [sys.executable, PROGRAM, mount / "plain", "pread", "2"]
        ran = Jobs(place, build, scratch).run(line, path=mount, tier=f"/dev/shm:{TIER}", timeout=300)
    assert ran.stdout == plain and ranges_of(ran) == 0
