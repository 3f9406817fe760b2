"""Where the tests of versions find their helpers."""


import pytest


from clock import Skewed
from covered import (  # noqa: F401
    agents, build, jobs, place, scratch, session_scratch)


@pytest.fixture
def stepped(build, scratch):
    """stepped(seconds): returns the environment in which the clock is so far ahead. It steps the
    clock of processes in it, too."""
    skewed = Skewed(build, scratch / "skew")

    def step(seconds):
        skewed.step_to(seconds)
        return skewed.env()
    return step
