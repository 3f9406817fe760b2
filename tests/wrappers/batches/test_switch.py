"""Programs under `stoker run` have slots, unless a flag or a variable says no. Without the command none has them."""

import pytest
from conftest import PACKAGE

BATCHES = {"loop", "collate", "fetch", "pickle"}
IMAGES = {"pillow", "to_tensor", "compose"}


@pytest.fixture
def ours(run):
    """Returns the parts of the package that a program has in such a run."""
    def ours(how, *imports, **env):
        ((_, there),) = run(how, "orders.py", *imports, env=env).lines
        return {name for name, is_ours in there.items() if is_ours}
    return ours


def test_by_default(ours):
    assert ours("slots") == BATCHES | IMAGES


def test_not_by_flag(ours):
    assert ours("off") == IMAGES


@pytest.mark.parametrize(("value", "expected"), [("off", IMAGES), ("on", BATCHES | IMAGES)])
def test_by_variable(ours, value, expected):
    assert ours("slots", STOKER_BATCHES=value) == expected


def test_without_images(ours):
    assert ours("alone") == BATCHES


def test_not_without_the_command(ours):
    """By the package on the path, however it is imported, and what would wait for torch."""
    for path in str(PACKAGE), f"{PACKAGE}/stoker/site.zip:{PACKAGE}":
        assert not ours("plain", "stoker", "stoker.transforms", PYTHONPATH=path) & BATCHES
