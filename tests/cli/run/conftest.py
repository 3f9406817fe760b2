"""Fixtures of the tests of `stoker run` around its command."""

from job_fixtures import (  # noqa: F401
    as_root, build, far, jobs, origin, place, programs, pytest_configure, repository, scratch, session_origin,
    session_scratch, state)
