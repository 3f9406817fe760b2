"""Fixtures of the tests of the Python package.

They run by any Python with Pillow (Debian's in `make test`, PyPI's newest in `make test-newest`). A
program runs twice with the interpreter that runs the tests, with the hook and without, and says
what it saw, line by line.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys

import pytest

from checkout import BUILD, ROOT  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent

import images
from outcomes import differences
from slices import ALL


def pytest_collection_modifyitems(items):
    if not (BUILD / "python/stoker/_core.abi3.so").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the package is not built: python3-dev"))


@pytest.fixture(scope="session")
def build():
    return BUILD


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """written(kinds): a new directory with these images."""
    def written(kinds):
        directory = tmp_path_factory.mktemp("images")
        images.write(directory, kinds)
        return directory
    return written


@pytest.fixture(scope="session")
def jpegs(written):
    return written(images.kinds())


@pytest.fixture(scope="session")
def odd(written):
    return written(images.odd_kinds())


@pytest.fixture(scope="session")
def headers(written):
    """JPEGs of one header each three times, and below names/ one of them by other names."""
    kinds = images.header_kinds()
    directory = written(kinds)
    (directory / "names").mkdir()
    images.write(directory / "names", {name: kinds["plain-0.jpg"] for name in (
        "x", "x.PNG", ".jpg", "x.webp", "x.JPEG", "x.jpg.gz", "x.jfif", "x.", "x.tif")})
    return directory


@pytest.fixture(scope="session")
def arithmetic(written):
    """JPEGs of arithmetic coding."""
    return written(images.arithmetic_kinds(ALL))


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """Returns the environment of a process with the package: a home of its own, so that the
    self-test runs here."""
    home = tmp_path_factory.mktemp("home")
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith("STOKER_") and key not in ("PYTHONPATH", "LD_PRELOAD")}
    return {**clean, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"),
            "PYTHONPATH": str(BUILD / "python")}


@pytest.fixture
def store(tmp_path):
    """Environment of a process with a sample store of the test's own."""
    if not (BUILD / "python/stoker/_samples_core.abi3.so").exists():
        pytest.skip("the store is not built: liblmdb-dev")
    return {"STOKER_DECODED": f"{tmp_path / 'store'}:256M", "STOKER_MIN_AGE": "0.05"}


@pytest.fixture(scope="session")
def ask(environment):
    """ask(program, argument...): [[name, outcome]...] and the counts, with and without the hook."""
    def run(hooked, program, *arguments, timeout=600, env=None):
        done = subprocess.run(
            [sys.executable, "-B", str(HERE / "programs" / program), *map(str, arguments)],
            env={**environment, **(env or {}), "HOOK": "1" if hooked else "0"}, text=True,
            timeout=timeout, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr[-4000:]
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines and lines[-1][0] == "counts", done.stdout[-1000:]
        return dict(lines[:-1]), lines[-1][1]
    return run


@pytest.fixture(scope="session")
def compare(ask):
    """Asserts that a program sees the same with the hook; returns the outcomes and the counts."""
    @functools.cache
    def plainly(program, *arguments):
        """The environment of a run with the hook holds nothing else for one without."""
        return ask(False, program, *arguments)[0]

    def run(program, *arguments, touches=1, **options):
        """The hook's last run of so many is compared."""
        plain = plainly(program, *arguments)
        for _ in range(touches):
            hooked, counts = ask(True, program, *arguments, **options)
        assert list(plain) == list(hooked)
        different = list(differences(plain, hooked))
        assert not different, "\n".join(different[:20]) + f"\n{len(different)} differences"
        return hooked, counts
    return run
