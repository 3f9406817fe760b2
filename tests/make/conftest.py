"""Where the tests of the build find their helpers."""


from covered import build, jobs, place, scratch, session_scratch  # noqa: F401
