"""Where the tests of paths find their helpers."""


from covered import (  # noqa: F401
    agents, build, jobs, place, scratch, session_scratch)
