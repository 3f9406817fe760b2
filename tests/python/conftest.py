"""What the tests of the command and of whole jobs share: one slow origin, a place per test."""

import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "lib"), str(HERE.parent / "slowfs")]

import jobs as jobs_module  # noqa: E402
import slowfs  # noqa: E402
from isolated import Isolated  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "torch: uses torch, torchvision, numpy or PIL; "
                            "`make test-newest` repeats these with the newest")


@pytest.fixture(scope="session")
def build():
    return ROOT / os.environ.get("STOKER_BUILD", "build")


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


class Origin:
    """The slow file system: `source` is behind it, and changing that is not counted."""

    def __init__(self, fs):
        self.fs, self.source, self.mount = fs, pathlib.Path(fs.source), pathlib.Path(fs.mountpoint)
        self.control_path = os.path.join(fs._directory, "control")

    def directory(self, prefix):
        """A new directory: (its path behind the origin, its path at the origin)."""
        path = pathlib.Path(tempfile.mkdtemp(prefix=prefix + "-", dir=self.source))
        path.chmod(0o755)
        return path, self.mount / path.name

    def files(self, prefix, count, size):
        """A new directory with that many files of random bytes, old enough to be cached."""
        source, mount = self.directory(prefix)
        for number in range(count):
            (source / f"file{number:04}").write_bytes(random.Random(number).randbytes(size))
        settle()
        return source, mount


def settle():
    """Waits until what was just written is old enough to be cached."""
    time.sleep(jobs_module.AGE)


@pytest.fixture(scope="session")
def session_origin(session_scratch, build):
    """Without the kernel's caches of names and attributes: each look at a file is counted."""
    source = session_scratch / "source"
    source.mkdir()
    with slowfs.SlowFS(source, binary=str(build / "slowfs"), attr_timeout=0,
                       entry_timeout=0) as fs:
        yield Origin(fs)


@pytest.fixture
def origin(session_origin):
    yield session_origin
    session_origin.fs.latency_ms = 0


@pytest.fixture
def place(session_origin):
    """A mount namespace with a /dev/shm of its own."""
    obstacle = Isolated.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    with Isolated() as isolated:
        yield isolated


@pytest.fixture
def jobs(place, build, scratch):
    return jobs_module.Jobs(place, build, scratch)


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("needs root")
