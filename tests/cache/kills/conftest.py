"""Where the tests of kills find their helpers; the data set lies on a slow file system."""

import os
import subprocess

import pytest

import slowfs
from covered import build, jobs, scratch, session_scratch  # noqa: F401
from origin import Origin, settle
from rounds import FILES
from skipping import isolated_or_skip


@pytest.fixture(scope="session")
def origin(session_scratch, build):  # noqa: F811
    """FILES files of 10 MB in all, each operation on them late enough to be killed in."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be opened: no slow origin")
    source = session_scratch / "source"
    source.mkdir()
    subprocess.run([build / "tests/cache/kills/filler", "make", source, str(FILES)], check=True)
    settle()
    with slowfs.SlowFS(source, binary=str(build / "slowfs"), latency_ms=1) as fs:
        yield Origin(fs)


@pytest.fixture
def place(origin):
    """A mount namespace with a /dev/shm of its own, made when the origin is mounted."""
    origin.fs.latency_ms = 1
    with isolated_or_skip() as isolated:
        yield isolated
