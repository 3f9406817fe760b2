"""An isolated place for a fixture: the test skips where none can be made."""

import contextlib

import pytest

from isolated import Isolated


@contextlib.contextmanager
def isolated_or_skip():
    """A mount namespace with a /dev/shm of its own."""
    obstacle = Isolated.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    with Isolated() as isolated:
        yield isolated
