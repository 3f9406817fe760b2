"""Where the tests of kills find their helpers; the data set lies on a slow file system."""

import os
import subprocess

import pytest


import slowfs
from covered import build, scratch, session_scratch  # noqa: F401
from isolated import Isolated
from jobs import Jobs
from origin import Origin, settle

FILES = 60


@pytest.fixture(scope="session")
def origin(session_scratch, build):  # noqa: F811
    """FILES files of 20 MB in all, each operation on them late enough to be killed in."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be opened: no slow origin")
    source = session_scratch / "source"
    source.mkdir()
    subprocess.run([build / "tests/cache/kills/filler", "make", source, str(FILES)], check=True)
    settle()
    with slowfs.SlowFS(source, binary=str(build / "slowfs"), latency_ms=0.5) as fs:
        yield Origin(fs)


@pytest.fixture
def place(origin):
    """A mount namespace with a /dev/shm of its own, made when the origin is mounted."""
    obstacle = Isolated.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    origin.fs.latency_ms = 0.5
    with Isolated() as isolated:
        yield isolated


@pytest.fixture
def jobs(place, build, scratch):  # noqa: F811
    return Jobs(place, build, scratch)
