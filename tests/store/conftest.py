"""The tests of the sample store share programs that keep values by the Python module."""

import pathlib
import shutil
import sys

import pytest

from checkout import BUILD, ROOT  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent

from covered import build, jobs, place, scratch, session_scratch  # noqa: F401
from slow_origin import origin, session_origin  # noqa: F401

PROGRAMS = HERE / "programs"


def pytest_collection_modifyitems(items):
    if not (BUILD / "python/stoker/_samples_core.abi3.so").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the store is not built: liblmdb-dev"))


@pytest.fixture
def data(scratch):  # noqa: F811
    """A covered directory."""
    path = scratch / "data"
    path.mkdir()
    shutil.copy(__file__, path / "file")
    return path


@pytest.fixture
def tier(place, jobs, scratch):  # noqa: F811
    """A tmpfs of its own: the catalogue, which lies in /dev/shm, is not paid for there."""
    path = scratch / "tier"
    path.mkdir()
    place.run(["mount", "-t", "tmpfs", "-o", "mode=700", "tier", path])
    return path


def python(*words):
    """A command line of the Python that runs the tests."""
    return [sys.executable, "-B", *words]


ENV = {"PYTHONPATH": BUILD / "python"}
