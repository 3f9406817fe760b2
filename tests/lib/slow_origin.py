"""Fixtures: one slow origin for all tests of a session, which is fast again after each."""

import os

import pytest

import slowfs
from origin import Origin


@pytest.fixture(scope="session")
def session_origin(session_scratch, build):
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
