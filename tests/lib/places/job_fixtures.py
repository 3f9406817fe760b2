"""Fixtures of the tests of the command and of whole jobs: one slow origin, and a place per test.

A conftest imports them all."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile
from importlib import metadata

import pytest

import slowfs
from checkout import ROOT
from covered import build, jobs  # noqa: F401
from skipping import isolated_or_skip
from slow_origin import origin, session_origin  # noqa: F401
from spread import spread

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "programs"


def pytest_configure():
    # A job in the background of a shell ignores these, or one under nohup, and a shell started so
    # cannot trap them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def repository():
    return ROOT


@pytest.fixture(scope="session")
def programs():
    """The small programs that the tests run."""
    return PROGRAMS


@pytest.fixture(scope="session")
def torchrun():
    """A command line that starts two ranks of a script."""
    if metadata.version("torch").startswith("1."):
        return [sys.executable, PROGRAMS / "launch.py"]
    return [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone"]


@pytest.fixture(scope="session")
def session_scratch():
    path = pathlib.Path(tempfile.mkdtemp(prefix="stoker-jobs-"))
    path.chmod(0o755)
    spread(path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def scratch(session_scratch):
    """A directory of this test's own, on the disk."""
    return pathlib.Path(tempfile.mkdtemp(dir=session_scratch))


@pytest.fixture
def state(scratch):
    """The environment by which the command remembers in a directory of this test's."""
    return {"XDG_STATE_HOME": scratch / "state/of the/user"}


@pytest.fixture
def place(session_origin):  # noqa: F811
    """A mount namespace with a /dev/shm of its own."""
    with isolated_or_skip() as isolated:
        yield isolated


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def far(data, build):  # noqa: F811
    """A test's `data` far away, for all users. (Mounted before the place is made, which then has it.)"""
    with slowfs.SlowFS(data, binary=str(build / "slowfs"), allow_other=True) as fs:
        os.chmod(fs._directory, 0o755)
        yield fs
