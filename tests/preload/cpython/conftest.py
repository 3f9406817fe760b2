"""Where the tests with CPython's own tests find their helpers."""


from covered import build, jobs, place, scratch, session_scratch  # noqa: F401
