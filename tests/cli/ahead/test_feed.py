"""A Feed knows its paths and its order: its files are read ahead as a DataLoader's."""

import pathlib
import sys

import pytest

import pictures
from checkout import BUILD
from origin import settle

PROGRAM = pathlib.Path(__file__).parent / "programs/feed.py"
COUNT = 300


@pytest.fixture(scope="module")
def images(session_origin):
    source, mount = session_origin.directory("images")
    for number in range(COUNT):
        (source / f"{number}.jpg").write_bytes(pictures.jpeg(pictures.image(24, 20, number)))
    settle()
    return mount, sum(path.stat().st_size for path in source.iterdir())


@pytest.mark.parametrize("kind", ["Feed", "Loader"])
def test_files_are_there_before_they_are_wanted(jobs, plainly, origin, images, kind):
    mount, size = images
    line = [sys.executable, PROGRAM, mount, kind, 2]
    env = {"PYTHONPATH": str(BUILD / "python"), "OMP_NUM_THREADS": "1"}
    plain = plainly(line)
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(line, path=mount, env=env, timeout=300)
    assert ran.stdout == plain and len(plain.split("\n")) == 3
    assert ran.json["read_ahead"]["files"] >= COUNT // 2
    assert counted.counts()["read_bytes"] <= 1.02 * size
