"""Where the tests of versions find their helpers."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib"), str(HERE.parent / "chaos")]

from clock import Skewed  # noqa: E402
from covered import (  # noqa: E402, F401
    agents, build, jobs, place, scratch, session_scratch)


@pytest.fixture
def stepped(build, scratch):
    """stepped(seconds): the environment in which the clock is so far ahead; steps it for those who
    are in it already."""
    skewed = Skewed(build, scratch / "skew")

    def step(seconds):
        skewed.step_to(seconds)
        return skewed.env()
    return step
