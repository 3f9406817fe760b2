"""stoker.Loader on a real GPU. `make test-gpu` runs this file; it is skipped where torch finds no GPU."""

import ast
import pathlib

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/on_device.py"


def cases():
    """Returns the names of the program's cases, which are not run for that."""
    return [function.name for function in ast.parse(PROGRAM.read_text()).body
            if isinstance(function, ast.FunctionDef)
            and any(isinstance(each, ast.Name) and each.id == "case" for each in function.decorator_list)]


@pytest.fixture(scope="module")
def seen(say):
    seen = say(PROGRAM.name)
    if "no device" in seen:
        pytest.skip(seen["no device"])
    return seen


@pytest.mark.parametrize("name", cases())
def test_on_a_device(seen, name):
    assert seen[name] is True
