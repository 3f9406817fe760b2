"""A Feed knows its paths and its order: its files are read ahead as a DataLoader's."""

import pathlib
import sys

import pytest

import pictures
from checkout import BUILD
from origin import settle

PROGRAM = pathlib.Path(__file__).parent / "programs/feed.py"
COUNT = 300


KINDS = ["Feed", "Loader"]


@pytest.fixture(scope="module")
def images(session_origin):
    source, mount = session_origin.directory("images")
    for kind in KINDS:
        (source / kind).mkdir()
        for number in range(COUNT):
            (source / kind / f"{number}.jpg").write_bytes(pictures.jpeg(pictures.image(24, 20, number)))
    settle()
    return mount, sum(path.stat().st_size for path in source.glob("*/*"))


def test_files_are_there_before_they_are_wanted(jobs, plainly, origin, images, parts):
    mount, size = images
    line = [sys.executable, PROGRAM, mount, 2]
    env = {"PYTHONPATH": str(BUILD / "python"), "OMP_NUM_THREADS": "1", **parts.env}
    plain = plainly(line)
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(line, path=mount, env=env, timeout=300)
    assert ran.stdout == plain and len(plain.splitlines()) == 4
    ahead = [of["files"] for of in parts.figures()]
    assert len(ahead) == 2 and min(ahead) >= COUNT // 2, ahead
    assert counted.counts()["read_bytes"] <= 1.02 * size
