"""Things that a test needs and its machine lacks."""

import re

_CAP_SYS_ADMIN = 21


class Lacking(OSError):
    """The machine allows no mount, namespace or device that a test needs."""

    skips = True  # the test: tests/conftest.py


def is_administrator():
    """Returns true if this process may mount and filter system calls without giving up new privileges."""
    with open("/proc/self/status", encoding="utf-8") as file:
        effective = re.search(r"^CapEff:\t(\w+)$", file.read(), re.MULTILINE)[1]
    return bool(int(effective, 16) >> _CAP_SYS_ADMIN & 1)
