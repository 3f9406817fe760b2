"""Loaders of torch and of other libraries: batches and draws are those of a job without Stoker, and files are read
ahead."""

import importlib.util
import pathlib
import random
import sys

import pytest

from origin import settle

PROGRAM = pathlib.Path(__file__).parent / "programs/loaders.py"
COUNT, SIZE = 400, 5000
OF_TORCH = ["spawn", "forkserver", "one generator", "rank"]
OF_LIBRARIES = ["torchdata", "accelerate", "timm", "timm repeated", "transformers", "lightning"]
LEAST = {"rank": COUNT // 3, "accelerate": COUNT // 3, "timm repeated": COUNT // 3}


@pytest.fixture(scope="module")
def data(session_origin):
    """Below it a directory of files for each loader of a job."""
    source, mount = session_origin.directory("of-loaders")
    for number in range(len(OF_TORCH)):
        (source / str(number)).mkdir()
        for name in range(COUNT):
            (source / str(number) / f"file{name:04}").write_bytes(random.Random(name).randbytes(SIZE))
    settle()
    return mount


@pytest.fixture
def run(jobs, plainly, origin, data, parts):
    def run(*kinds, launcher=()):
        """Runs a job with these loaders. Its batches and draws are those of a job without Stoker, in which no worker imports
        torch anew."""
        line = [PROGRAM, data, *kinds]
        plain = plainly([sys.executable, *line[:2], *("fork" if kind in OF_TORCH[:2] else kind for kind in kinds)])
        origin.fs.latency_ms = 2
        if launcher:
            line[2:] = ["a rank of two"]
        with origin.fs.counting() as counted:
            ran = jobs.run([sys.executable, *launcher, *line], path=data, env={"GLOO_SOCKET_IFNAME": "lo", **parts.env},
                           timeout=300)
        assert ran.stdout == plain and len(plain.splitlines()) >= 2 * len(kinds)
        assert counted.counts()["read_bytes"] <= 1.02 * len(kinds) * COUNT * SIZE
        return ran
    return run


def test_the_same_batches(run, parts):
    run(*OF_TORCH)
    figures = dict(zip(OF_TORCH, parts.figures(), strict=True))
    assert [kind for kind in OF_TORCH if figures[kind]["files"] < LEAST.get(kind, COUNT // 2)] == []
    assert [kind for kind in OF_TORCH if figures[kind]["bytes_origin"] > 1.02 * COUNT * SIZE] == []


def test_two_ranks(run, programs):
    ran = run("two ranks", launcher=[programs / "launch.py"])
    assert ran.json["read_ahead"]["files"] >= COUNT // 2


@pytest.mark.parametrize("kind", OF_LIBRARIES)
def test_the_same_batches_of_libraries(run, kind):
    library = kind.split()[0]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"no {library}")
    ran = run(kind)
    assert ran.json["read_ahead"]["files"] >= LEAST.get(kind, COUNT // 2)
