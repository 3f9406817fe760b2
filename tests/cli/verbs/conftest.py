"""Fixtures of the tests of the verbs of the command, but for run."""

from job_fixtures import (  # noqa: F401
    as_root, build, far, jobs, origin, place, programs, pytest_configure, repository, scratch, session_origin,
    session_scratch, state)
