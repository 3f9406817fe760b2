"""Where real libraries read big files: a slow origin, and a place for each test.

They run by any Python: Debian's in `make test`, one with the newest libraries from PyPI in
`make test-newest`.
"""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib"), str(HERE.parent / "slowfs")]

import slowfs  # noqa: E402
from covered import build, jobs, place, scratch, session_scratch  # noqa: E402, F401
from origin import Origin, settle  # noqa: E402
from harness import Files, make  # noqa: E402


@pytest.fixture(scope="session")
def session_origin(session_scratch, build):  # noqa: F811
    """Without the kernel's caches of names and attributes: each look at a file is counted."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be opened: no slow origin")
    source = session_scratch / "source"
    source.mkdir()
    with slowfs.SlowFS(source, binary=str(build / "slowfs"), attr_timeout=0,
                       entry_timeout=0) as fs:
        yield Origin(fs)


@pytest.fixture
def origin(session_origin):
    yield session_origin
    session_origin.fs.latency_ms = 0


@pytest.fixture(scope="session")
def made(session_origin):
    """The files of all readers, and what is read of them without Stoker."""
    return make(session_origin)


@pytest.fixture
def files(origin, jobs, made):  # noqa: F811
    return Files(origin, jobs, made)
