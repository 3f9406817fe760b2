"""Fixtures of the tests of reading ahead: a slow origin, and a place for each test's jobs."""

import functools
import json
import os
import pathlib

import pytest

from checkout import BUILD

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python" / "stoker"

pytest.importorskip("torch", reason="no torch")

from covered import build, jobs, scratch, session_scratch  # noqa: F401
from forked import forked
from job_fixtures import programs, state  # noqa: F401
from skipping import isolated_or_skip
from slow_origin import origin, session_origin  # noqa: F401


def pytest_collection_modifyitems(items):
    if not (PACKAGE / "_core.abi3.so").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the package is not built: python3-dev"))


@pytest.fixture
def place(session_origin):  # noqa: F811
    """A mount namespace with a /dev/shm of its own, which sees the origin's mount."""
    with isolated_or_skip() as isolated:
        yield isolated


@pytest.fixture(scope="session")
def plainly(session_origin):  # noqa: F811
    """Returns what a program prints without Stoker, with the files behind the origin. Programs with the same words print the
    same."""
    def run(line):
        return run_once(*(str(word).replace(str(session_origin.mount), str(session_origin.source)) for word in line[1:]))
    with forked(["torch.utils.data"], {**os.environ, "PYTHONPATH": str(BUILD / "python")}) as run_forked:
        run_once = functools.cache(run_forked)
        yield run


class Parts:
    """The figures of a run after each part of its job, for a program that runs the command in AFTER_EACH then."""

    def __init__(self, build, scratch):
        self._path = scratch / "looks"
        self.env = {"AFTER_EACH": f"{build}/stoker top --once --json >>{self._path}"}

    def figures(self):
        """Yields the counts of each part, and those of what was read ahead, in a dict."""
        text, before = self._path.read_text(), {}
        while text := text.lstrip():
            look, end = json.JSONDecoder().raw_decode(text)
            text, (run,) = text[end:], look["runs"]
            now = {**{name: run[name] for name in ("opens", "fills", "bytes_origin")},
                   **{name: run["read_ahead"][name] for name in ("files", "there", "awaited", "ranges", "range_bytes")}}
            yield {name: count - before.get(name, 0) for name, count in now.items()}
            before = now


@pytest.fixture
def parts(build, scratch):  # noqa: F811
    return Parts(build, scratch)
