"""The fixtures that tests of paths and of versions share: a place, agents in it, a directory.

A conftest imports them by name."""

import pathlib
import shutil
import subprocess
import tempfile

import pytest

from checkout import BUILD
from agent import Agents
from jobs import Jobs
from skipping import isolated_or_skip
from spread import spread


@pytest.fixture(scope="session")
def build():
    return BUILD


@pytest.fixture(scope="session")
def session_scratch():
    """A directory on the disk that others may enter."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="stoker-covered-"))
    path.chmod(0o755)
    spread(path)
    yield path
    subprocess.run(["chmod", "-R", "u+rwX", path], check=False)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def scratch(session_scratch):
    """A directory of this test's own."""
    path = pathlib.Path(tempfile.mkdtemp(dir=session_scratch))
    path.chmod(0o755)
    return path


@pytest.fixture
def place():
    """A mount namespace with a /dev/shm of its own."""
    with isolated_or_skip() as isolated:
        yield isolated


@pytest.fixture
def jobs(place, build, scratch):
    return Jobs(place, build, scratch)


@pytest.fixture
def agents(jobs, scratch):
    return Agents(jobs, scratch)
