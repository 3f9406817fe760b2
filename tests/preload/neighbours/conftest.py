"""Where the tests of neighbours find their helpers."""


import pytest


import pair as files
from covered import build, jobs, place, scratch, session_scratch  # noqa: F401


@pytest.fixture
def programs(build):  # noqa: F811
    """The small C programs."""
    return build / "tests/preload/neighbours"


@pytest.fixture
def data(scratch):  # noqa: F811
    return files.make(scratch)


@pytest.fixture
def pair(jobs, data):  # noqa: F811
    return files.Pair(jobs, data)
