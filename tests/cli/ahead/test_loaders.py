"""Loaders of torch and of other libraries: batches and draws are those of a job without Stoker, and files are read
ahead."""

import importlib.util
import pathlib
import sys

import pytest

PROGRAM = pathlib.Path(__file__).parent / "programs/loaders.py"
COUNT, SIZE = 400, 5000
LEAST = {"rank": COUNT // 3, "accelerate": COUNT // 3, "timm repeated": COUNT // 3}


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("of-loaders", COUNT, SIZE)[1]


@pytest.mark.parametrize("kind", ["spawn", "forkserver", "one generator", "rank", "two ranks", "torchdata",
                                  "accelerate", "timm", "timm repeated", "transformers", "lightning"])
def test_the_same_batches(jobs, plainly, origin, data, kind):
    library = kind.split()[0]
    is_librarys = library in ("torchdata", "accelerate", "timm", "transformers", "lightning")
    if is_librarys and importlib.util.find_spec(library) is None:
        pytest.skip(f"no {library}")
    line = [sys.executable, PROGRAM, data, kind]
    plain = plainly(line)
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(line, path=data, timeout=300)
    assert ran.stdout == plain and len(plain.split("\n")) >= 3
    assert ran.json["read_ahead"]["files"] >= LEAST.get(kind, COUNT // 2)
    assert counted.counts()["read_bytes"] <= 1.02 * COUNT * SIZE
