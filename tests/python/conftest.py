"""The tests of the command and of whole jobs share one slow origin, and have a place per test."""

import os
import pathlib
import shutil
import signal
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

import slowfs
from isolated import Isolated
from jobs import Jobs
from slow_origin import origin, session_origin  # noqa: F401


def pytest_configure(config):
    # A job in the background of a shell ignores these, or one under nohup, and a shell started so
    # cannot trap them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    config.addinivalue_line("markers", "torch: uses torch, torchvision, numpy or PIL; "
                            "`make test-newest` repeats these with the newest")


@pytest.fixture(scope="session")
def build():
    return ROOT / os.environ.get("STOKER_BUILD", "build")


@pytest.fixture(scope="session")
def repository():
    return ROOT


@pytest.fixture(scope="session")
def programs():
    """The small programs that the tests run."""
    return HERE / "programs"


@pytest.fixture(scope="session")
def session_scratch():
    path = pathlib.Path(tempfile.mkdtemp(prefix="stoker-python-"))
    path.chmod(0o755)
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
    obstacle = Isolated.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    with Isolated() as isolated:
        yield isolated


@pytest.fixture
def jobs(place, build, scratch):
    return Jobs(place, build, scratch)


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def far(data, build):
    """A test's `data` far away, for all users. (Mounted before the place is made, which then has it.)"""
    with slowfs.SlowFS(data, binary=str(build / "slowfs"), allow_other=True) as fs:
        os.chmod(fs._directory, 0o755)
        yield fs
