"""Where the tests of neighbours find their helpers."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

import pair as files  # noqa: E402
from covered import build, jobs, place, scratch, session_scratch  # noqa: E402, F401


@pytest.fixture
def programs(build):  # noqa: F811
    """The small C programs."""
    return build / "tests/neighbours"


@pytest.fixture
def data(scratch):  # noqa: F811
    return files.make(scratch)


@pytest.fixture
def pair(jobs, data):  # noqa: F811
    return files.Pair(jobs, data)
