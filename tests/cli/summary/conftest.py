"""Fixtures of the tests of figures, advice, the report and the history of runs."""

from job_fixtures import (  # noqa: F401
    as_root, build, far, jobs, origin, place, programs, pytest_configure, repository, scratch, session_origin,
    session_scratch, state, torchrun)
