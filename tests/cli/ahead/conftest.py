"""Fixtures of the tests of reading ahead: a slow origin, and a place for each test's jobs."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from checkout import BUILD

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python" / "stoker"

pytest.importorskip("torch", reason="no torch")

from covered import build, jobs, scratch, session_scratch  # noqa: F401
from job_fixtures import state  # noqa: F401
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
    """Returns what a program prints without Stoker, with the files behind the origin. One process has imported torch for
    all of them."""
    line = [sys.executable, "-B", HERE / "programs/plainly.py"]
    env = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    with subprocess.Popen(line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as programs:
        def run(line):
            words = [str(word).replace(str(session_origin.mount), str(session_origin.source)) for word in line[1:]]
            print(json.dumps(words), file=programs.stdin, flush=True)
            status, said = json.loads(programs.stdout.readline())
            assert status == 0
            return said
        yield run
