"""Jobs whose files `stoker run` reads ahead, from a slow origin."""

import pathlib
import random
import sys

import pytest

import slowfs
from jobs import read_line
from origin import settle

PROGRAM = pathlib.Path(__file__).parent / "programs/reader.py"
COUNT, SIZE = 400, 20000


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("ordered", COUNT, SIZE)[1]


def line(data, *arguments):
    return [sys.executable, PROGRAM, data, *map(str, arguments)]


def read_ahead(ran):
    return ran.json["read_ahead"]["files"]


def write(directory):
    """Writes the files of a data set."""
    directory.mkdir(parents=True)
    for number in range(COUNT):
        (directory / f"file{number:04}").write_bytes(random.Random(number).randbytes(SIZE))


def test_files_are_there_before_they_are_wanted(jobs, plainly, session_origin, origin, parts):
    """The batches and draws are those of a job without Stoker. Each file is read once."""
    loaders = ["plain:2", "stay:2", "plain:0", "own:2"]
    source, data = session_origin.directory("each")
    for number in range(len(loaders)):
        write(source / str(number))
    settle()
    job = line(data, "each", 2, *loaders)
    plain = plainly(job)
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(job, path=data, env=parts.env, timeout=300)
    assert ran.stdout == plain and len(plain.splitlines()) == 2 * len(loaders)
    figures = dict(zip(loaders, parts.figures(), strict=True))
    assert [loader for loader, of in figures.items() if of["files"] < COUNT // 2] == []
    for name, count in ("bytes_origin", COUNT * SIZE), ("opens", 2 * COUNT):
        assert {loader: of[name] for loader, of in figures.items()} == dict.fromkeys(loaders, count)
    firsts = {loader: of["there"] + of["awaited"] + of["fills"] for loader, of in figures.items()}
    assert firsts == dict.fromkeys(loaders, COUNT)
    assert f"{read_ahead(ran)} files read ahead in this run" in " ".join(ran.stderr.split())
    assert counted.counts()["read_bytes"] <= 1.02 * len(loaders) * COUNT * SIZE


def test_a_pass_that_ends_early(jobs, session_origin, origin):
    """Its order ends with it: what is read in vain is no more than the window."""
    data = session_origin.files("early", 4000, 100)[1]
    origin.fs.latency_ms = 5
    ran = jobs.run(line(data, "plain", 2, 1, 3), path=data, timeout=300)
    assert 0 < read_ahead(ran) <= 2048 + 256


def test_a_list_of_other_files(jobs, plainly, session_origin, parts):
    """The list names files that no sample opens: at most 64 of these are read. A list of the right files beside it is
    used."""
    source, data = session_origin.directory("list")
    for number in range(2):
        write(source / str(number))
        write(source / str(number) / "read")
    settle()
    job = line(data, "each", 2, "wrong:2", "two:2")
    plain = plainly(job)
    ran = jobs.run(job, path=data, env=parts.env, timeout=300)
    assert ran.stdout == plain
    wrong, two = (of["files"] for of in parts.figures())
    assert 0 < wrong <= 64
    assert COUNT // 2 < two <= COUNT + 64


def test_a_sampler_that_takes_few(jobs, session_origin, origin):
    """Its order is unknown. The command reads at most 64 files that the sampler does not ask for."""
    count = 4000
    data = session_origin.files("few", count, 100)[1]
    origin.fs.latency_ms = 2
    ran = jobs.run(line(data, "few", 2, 1), path=data, timeout=300)
    assert ran.opens == count // 50
    with_it = read_ahead(ran) + ran.fills
    assert count // 50 < with_it <= count // 50 + 64


def test_nothing_is_read_outside_the_covered_paths(jobs, session_origin, data):
    other = session_origin.files("covered", 3, 10)[1]
    ran = jobs.run(line(data, "plain", 2, 1), path=other)
    assert read_ahead(ran) == 0 and ran.opens == 0


def test_a_tier_that_is_too_small(jobs, origin, data):
    """Files without room are not read twice."""
    origin.fs.latency_ms = 1
    with origin.fs.counting() as counted:
        ran = jobs.run(line(data, "plain", 2, 1), path=data, tier="/dev/shm:4M", timeout=300)
    assert 0 < read_ahead(ran) < COUNT
    assert counted.counts()["read_bytes"] <= 1.02 * COUNT * SIZE


def test_later_runs(jobs, origin, data):
    """Reading ahead can be switched off. With a cache that is there, what changed is asked ahead of the workers, and they
    wait for few answers. If the entries were removed, the catalogue still has them: they are read ahead."""
    ran = jobs.run(line(data, "plain", 2, 1), path=data, flags=["--keep"], env={"STOKER_AHEAD": "off"}, timeout=300)
    assert read_ahead(ran) == 0 and ran.fills == COUNT
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(line(data, "plain", 2, 1), path=data, flags=["--keep"], timeout=300)
    assert ran.hits == ran.json["read_ahead"]["there"] == COUNT and counted["read"] == 0
    waits = sum(bucket["count"] for bucket in ran.json["origin_waits"]["buckets"])
    assert waits < COUNT // 2
    assert jobs.stoker("clear", data).returncode == 0
    origin.fs.latency_ms = 1
    ran = jobs.run(line(data, "plain", 2, 1), path=data, timeout=300)
    assert read_ahead(ran) >= COUNT // 2


def test_a_local_disk(jobs, plainly, scratch):
    """Its files are read ahead in the loader's order, each once."""
    (scratch / "data").mkdir()
    for number in range(COUNT):
        (scratch / "data" / str(number)).write_bytes(number.to_bytes(4, "big") * (SIZE // 4))
    settle()
    command = line(scratch / "data", "plain", 2, 1)
    ran = jobs.run(command, path=scratch / "data", timeout=300)
    assert ran.stdout == plainly(command)
    assert read_ahead(ran) > 0 and read_ahead(ran) + ran.fills == COUNT
    assert ran.json["bytes_origin"] == COUNT * SIZE


def test_warm_reads_what_no_loader_foretells(jobs, session_origin, origin):
    """The job, its order and --warm read each file once in all."""
    source, mount = session_origin.directory("rest")
    for name in "unwanted", "wanted":
        (source / name).mkdir()
        for number in range(COUNT // 2):
            (source / name / str(number)).write_bytes(bytes(SIZE))
    settle()
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(line(mount / "wanted", "plain", 2, 2), path=mount, flags=["--warm"], timeout=300)
    files = read_ahead(ran) + ran.fills
    assert ran.opens == COUNT and ran.json["ahead"]["filled"] <= read_ahead(ran)
    assert files * SIZE == ran.json["bytes_origin"] and COUNT // 2 <= files <= COUNT
    assert counted.counts()["read_bytes"] <= 1.02 * files * SIZE


def test_an_origin_that_hangs(jobs, origin, data):
    """The run ends though threads of the command wait for the origin."""
    origin.fs.latency_ms = 20
    command = jobs.command_line(line(data, "waits", 0, 1, 1), path=data)
    with jobs.started(command) as process:
        assert len(read_line(process).split()) == 3
        with origin.fs.faults(hang_ns=slowfs.HOUR_NS):
            said, told = process.communicate("go\n", timeout=60)
    assert process.returncode == 0 and said == "", told
