"""Control groups with little memory."""

import contextlib
import os

import pytest


@contextlib.contextmanager
def group_of(limit):
    """Makes a control group with that memory limit, or skips the test."""
    for parent in "/sys/fs/cgroup/memory", "/sys/fs/cgroup":
        group, name = f"{parent}/stoker-test-group-{os.getpid()}", "memory.limit_in_bytes"
        name = name if parent.endswith("memory") else "memory.max"
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            with open(f"{group}/{name}", "w", encoding="ascii") as file:
                file.write(str(limit))
            yield group
            return
        except OSError:
            pass
        finally:
            os.rmdir(group)
    pytest.skip("no control group with a limit of memory can be made here")
