"""Runs programs of the wild: a data set for each user, a place for each test."""

import os
import pathlib
import tempfile

import pytest

from covered import build, jobs, place, session_scratch  # noqa: F401
from slices import ALL
from users import USERS


def pytest_configure(config):
    config.addinivalue_line("markers", "newest: reads with Python libraries; "
                            "`make test-newest` repeats these with the newest")


@pytest.fixture
def scratch(session_scratch):  # noqa: F811
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
