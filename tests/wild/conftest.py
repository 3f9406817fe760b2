"""Runs programs of the wild: a data set for each user, a place for each test."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest


from covered import build, jobs, place  # noqa: F401
from slices import ALL
from users import USERS


def pytest_configure(config):
    config.addinivalue_line("markers", "newest: reads with Python libraries; "
                            "`make test-newest` repeats these with the newest")


@pytest.fixture(scope="session")
def session_scratch():
    """A directory on the disk that others may enter."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="stoker-wild-"))
    path.chmod(0o755)
    yield path
    subprocess.run(["chmod", "-R", "u+rwX", path], check=False)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def scratch(session_scratch):
    """A directory of this test's own, that anybody may write to."""
    path = pathlib.Path(tempfile.mkdtemp(dir=session_scratch))
    path.chmod(0o777)
    return path


def allowed(user):
    if user.number and os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    return user


@pytest.fixture(params=USERS, ids=lambda user: user.name)
def user(request):
    """The user that runs the programs: that of the tests, or one without privileges."""
    return allowed(request.param)


@pytest.fixture(params=USERS if ALL else USERS[:1], ids=lambda user: user.name)
def slice_user(request):
    """The same, where the slice makes do with one of them."""
    return allowed(request.param)
