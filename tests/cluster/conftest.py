"""Fixtures of the tests on several machines with a real file system between them."""

from job_fixtures import as_root, build, pytest_configure, repository, scratch, session_scratch  # noqa: F401
