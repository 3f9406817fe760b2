"""Fixtures: one slow origin for all tests of a session, which is fast again after each."""

import contextlib
import os

import pytest

import slowfs
from origin import Origin
from spread import spread


@contextlib.contextmanager
def slow_origin(source, build, attr_timeout=0):
    """One over a new directory. The kernel remembers attributes for so many seconds, and names not at all."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be opened: no slow origin")
    source.mkdir()
    spread(source)
    with slowfs.SlowFS(source, binary=str(build / "slowfs"), attr_timeout=attr_timeout,
                       entry_timeout=0) as fs:
        yield Origin(fs)


@pytest.fixture(scope="session")
def session_origin(session_scratch, build):
    """Without the kernel's caches of names and attributes: each look at a file is counted."""
    with slow_origin(session_scratch / "source", build) as origin:
        yield origin


@pytest.fixture
def origin(session_origin):
    yield session_origin
    session_origin.fs.latency_ms = 0
