"""Where the tests of faults find their helpers."""


from covered import build, jobs, place, scratch, session_scratch  # noqa: F401
