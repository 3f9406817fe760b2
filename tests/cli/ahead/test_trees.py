"""Files that `stoker run` reads ahead for jobs whose order nothing foretells: a reader of the program's own, and
files that are read from front to back."""

import pathlib

import pytest

import slowfs
from jobs import read_line
from origin import settle
from test_jobs import read_ahead

PROGRAMS = pathlib.Path(__file__).parent / "programs"
PYTHON = "/usr/bin/python3"
DIRECTORIES, COUNT, SIZE = 5, 800, 10000
SHARDS, SHARD = 24, 2 << 20
BLOCKS = {"STOKER_MAX_FILE": "64K", "STOKER_BLOCK": "64K"}
FORGOTTEN = 1 << 20  # an open may have the kernel forget the blocks under way


@pytest.fixture(scope="module")
def tree(session_origin):
    """Files in five directories."""
    source, mount = session_origin.files("tree", COUNT, SIZE)
    for number, path in enumerate(sorted(source.iterdir())):
        directory = source / f"class{number * DIRECTORIES // COUNT}"
        directory.mkdir(exist_ok=True)
        path.rename(directory / path.name)
    settle()
    return mount


@pytest.fixture(scope="module")
def shards(session_origin):
    return session_origin.files("shards", SHARDS, SHARD)[1]


def reader(*arguments):
    return [PYTHON, "-S", "-E", PROGRAMS / "own_reader.py", *map(str, arguments)]


def streams(*arguments):
    return [PYTHON, "-S", "-E", PROGRAMS / "streams.py", *map(str, arguments)]


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_a_reader_of_its_own(jobs, origin, tree, order):
    """Most files are there before the reader comes to them. Each is read once."""
    plain = jobs.place.run(reader(tree, order, 2)).stdout
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(reader(tree, order, 2), path=tree, timeout=300)
    assert ran.stdout == plain and len(plain.split()) == 2
    assert read_ahead(ran) >= COUNT // 2
    assert counted.counts()["read_bytes"] <= 1.02 * COUNT * SIZE


def test_it_can_be_switched_off(jobs, tree):
    ran = jobs.run(reader(tree, "sorted", 1), path=tree, env={"STOKER_AHEAD": "off"})
    assert read_ahead(ran) == 0 and ran.fills == COUNT


def test_a_reader_that_takes_few(jobs, session_origin, origin):
    """At most 64 files are read that it does not open."""
    count = 8000
    data = session_origin.files("some", count, 100)[1]
    origin.fs.latency_ms = 2
    ran = jobs.run(reader(data, "shuffled", 1, count // 100), path=data, timeout=300)
    assert ran.opens == count // 100
    assert 0 < read_ahead(ran) <= 64


def test_a_tier_that_is_too_small(jobs, origin, tree):
    """Files without room are not read twice."""
    origin.fs.latency_ms = 1
    with origin.fs.counting() as counted:
        ran = jobs.run(reader(tree, "sorted", 1), path=tree, tier="/dev/shm:4M", timeout=300)
    assert 0 < read_ahead(ran) < COUNT
    assert counted.counts()["read_bytes"] <= 1.02 * COUNT * SIZE


def test_an_origin_that_hangs(jobs, origin, tree):
    """The run ends though threads of the command wait for the origin."""
    origin.fs.latency_ms = 20
    command = jobs.command_line(reader(tree, "waits", 1, 100), path=tree)
    with jobs.started(command) as process:
        assert read_line(process).isdigit()
        with origin.fs.faults(hang_ns=slowfs.HOUR_NS):
            said, told = process.communicate("go\n", timeout=60)
    assert process.returncode == 0 and said == "", told


@pytest.mark.parametrize("readers", [1, 2])
def test_the_next_shards(jobs, origin, shards, readers):
    plain = jobs.place.run(streams(shards, readers)).stdout
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(streams(shards, readers), path=shards, env=BLOCKS, timeout=300)
    assert ran.stdout == plain
    assert read_ahead(ran) >= SHARDS // 2
    assert counted.counts()["read_bytes"] <= 1.02 * SHARDS * SHARD


def test_what_is_under_way_when_the_command_opens_a_file(jobs, origin, session_origin):
    """Such an open has the kernel drop it. With whole blocks that would be some MiB of these files."""
    count, size = 4, 19 << 20
    data = session_origin.files("records", count, size)[1]
    origin.fs.latency_ms = 1
    with origin.fs.counting() as counted:
        jobs.run(streams(data, 2), path=data, timeout=300)
    assert counted.counts()["read_bytes"] - count * size <= FORGOTTEN // 2


def test_parts_of_files_are_no_stream(jobs, origin, shards):
    """The other files are not read."""
    files = SHARDS // 3
    with origin.fs.counting() as counted:
        ran = jobs.run(streams(shards, 0, files), path=shards, env=BLOCKS, timeout=300)
    assert read_ahead(ran) == 0
    assert counted.counts()["read_bytes"] <= files * (SHARD + FORGOTTEN)
