"""Where real libraries read big files: a slow origin, and a place for each test.

They run by any Python: Debian's in `make test`, one with the newest libraries from PyPI in
`make test-newest`.
"""


import pytest


from covered import build, jobs, place, scratch, session_scratch  # noqa: F401
from harness import Files, make
from slow_origin import origin, session_origin  # noqa: F401


@pytest.fixture(scope="session")
def made(session_origin):  # noqa: F811
    """The files of all readers, and what is read of them without Stoker."""
    return make(session_origin)


@pytest.fixture
def files(origin, jobs, made):  # noqa: F811
    return Files(origin, jobs, made)
