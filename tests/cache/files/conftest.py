"""Fixtures of the tests of files, listings and blocks, in whole jobs."""

from job_fixtures import (  # noqa: F401
    as_root, build, far, jobs, origin, place, programs, pytest_configure, repository, scratch, session_origin,
    session_scratch, state, torchrun)
