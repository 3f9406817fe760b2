"""Where the tests find what the Makefile has built, and the files they work on."""

import pathlib
import shutil
import subprocess
import tempfile

import pytest

from checkout import BUILD, ROOT

HERE = pathlib.Path(__file__).resolve().parent

import dataset
from spread import spread


@pytest.fixture(scope="session")
def build():
    """The build directory."""
    return BUILD


@pytest.fixture(scope="session")
def library(build):
    return build / "libstoker.so"


@pytest.fixture(scope="session")
def symbols():
    """The names in preload/interpose/symbols.def."""
    import re

    return re.findall(r"\bX\((\w+)\)", (ROOT / "preload/interpose/symbols.def").read_text())


@pytest.fixture(scope="session")
def scratch():
    """A directory that other users may enter, on the disk."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="stoker-preload-"))
    path.chmod(0o755)
    spread(path)
    yield path
    subprocess.run(["chmod", "-R", "u+rwX", path], check=True)
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def master(scratch):
    """The files in their original state."""
    path = scratch / "master"
    path.mkdir()
    dataset.make(path)
    return path
