"""Jobs whose files `stoker run` reads ahead, from a slow origin."""

import pathlib
import random
import sys

import pytest

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


def write(directory, count=COUNT, size=SIZE):
    """Writes the files of a data set."""
    directory.mkdir(parents=True)
    for number in range(count):
        (directory / f"file{number:04}").write_bytes(random.Random(number).randbytes(size))


def test_files_are_there_before_they_are_wanted(jobs, plainly, session_origin, origin, scratch, parts):
    """The batches and draws are those of a job without Stoker. Each file is read once, on a local disk as well. Nothing is
    read outside the covered paths."""
    slow = ["plain:2", "stay:2", "plain:0", "own:2"]
    source, data = session_origin.directory("each")
    for number in range(len(slow)):
        write(source / str(number))
    write(scratch / "local")
    outside = session_origin.files("outside", 100, 10)[1]
    local, beyond = (f"plain:2:{path}" for path in (scratch / "local", outside))
    loaders = [*slow, local, beyond]
    job = line(data, "each", 2, *loaders)
    plain = plainly(job)
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(job, path=[data, scratch / "local"], env=parts.env, timeout=300)
    assert ran.stdout == plain and len(plain.splitlines()) == 2 * len(loaders)
    figures = dict(zip(loaders, parts.figures(), strict=True))
    assert not any(figures.pop(beyond).values())
    assert [loader for loader in slow if figures[loader]["files"] < COUNT // 2] == []
    assert figures[local]["files"] > 0
    for name, count in ("bytes_origin", COUNT * SIZE), ("opens", 2 * COUNT):
        assert {loader: of[name] for loader, of in figures.items()} == dict.fromkeys(figures, count)
    assert figures[local]["files"] + figures.pop(local)["fills"] == COUNT
    firsts = {loader: of["there"] + of["awaited"] + of["fills"] for loader, of in figures.items()}
    assert firsts == dict.fromkeys(slow, COUNT)
    assert f"{read_ahead(ran)} files read ahead in this run" in " ".join(ran.stderr.split())
    assert counted.counts()["read_bytes"] <= 1.02 * len(slow) * COUNT * SIZE


def test_files_that_no_sample_opens(jobs, plainly, session_origin, origin, parts):
    """"wrong": the list names other files than the samples open: at most 64 of these are read. "two": a list of the right
    files beside it is used. "few": the order of a sampler that takes few is unknown. The command reads at most 64 files
    that the sampler does not ask for. "early": the pass ends, and its order with it: what is read in vain is no more than
    the window."""
    loaders, many = ["wrong:2", "two:2", "few:2", "early:2"], 3000
    source, data = session_origin.directory("in-vain")
    for number in 0, 1:
        write(source / str(number))
        write(source / str(number) / "read")
    for number in 2, 3:
        write(source / str(number), many, 100)
    settle()
    job = line(data, "each", 2, *loaders)
    plain = plainly(job)
    origin.fs.latency_ms = 2
    ran = jobs.run(job, path=data, env=parts.env, timeout=300)
    assert ran.stdout == plain and len(plain.splitlines()) == 2 + 2 + 1 + 1
    wrong, two, few, _ = parts.figures()
    assert 0 < wrong["files"] <= 64
    assert COUNT // 2 < two["files"] <= COUNT + 64
    assert few["opens"] == many // 50 < few["files"] + few["fills"] <= many // 50 + 64
    early = read_ahead(ran) - sum(of["files"] for of in (wrong, two, few))
    assert 0 < early <= 2048 + 256


def test_later_runs(jobs, origin, data):
    """Reading ahead can be switched off. With a cache that is there, what changed is asked ahead of the workers, and they
    wait for few answers. If the entries were removed, the catalogue still has them: they are read ahead."""
    fills = ["sh", "-c", 'cat "$0"/* >/dev/null', data]
    ran = jobs.run(fills, path=data, flags=["--keep"], env={"STOKER_AHEAD": "off"}, timeout=300)
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
