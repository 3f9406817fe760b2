"""Fixtures of the tests of the torchvision side.

They run by any Python with torchvision: Debian's in `make test`, PyPI's newest in
`make test-newest`.
"""

import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys

import pytest

from checkout import BUILD

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python" / "stoker"
AT_IMPORT = {"STOKER_SIMD", "ATEN_CPU_CAPABILITY"}

import torchvision

import pictures
from forked import forked


def pytest_collection_modifyitems(items):
    if not (PACKAGE / "_core.abi3.so").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the package is not built: python3-dev"))


@pytest.fixture(scope="session")
def version():
    return torchvision.__version__


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder of classes of images, as ImageFolder wants it."""
    directory = tmp_path_factory.mktemp("images")
    pictures.write(directory)
    return directory


@pytest.fixture
def store(tmp_path):
    """Environment of a process with a sample store of the test's own."""
    if not (PACKAGE / "_samples_core.abi3.so").exists():
        pytest.skip("the store is not built: liblmdb-dev")
    return {"STOKER_DECODED": f"{tmp_path / 'store'}:256M"}


@pytest.fixture(scope="session")
def tell(tmp_path_factory):
    """`tell(how, program, argument...)` returns a program's output, a dictionary, run "plainly",
    "hooked" (as `stoker run` would) or "decoding" (hooked, but with torchvision's own functions).
    With lines=True it returns its lines. Without the hook a program runs once, and its output is
    remembered. A program with variables that matter at an import has an interpreter of its own."""
    home = str(tmp_path_factory.mktemp("home"))  # so that Pillow is examined here
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith("STOKER_") and key not in ("PYTHONPATH", "LD_PRELOAD")}
    clean.update(HOME=home, XDG_CACHE_HOME=home + "/.cache", OMP_NUM_THREADS="1", STOKER_MIN_AGE="0.05")
    hook = {"PYTHONPATH": str(PACKAGE / "site.zip")}
    variables = {"plainly": clean, "hooked": {**clean, **hook},
                 "decoding": {**clean, **hook, "STOKER_TORCHVISION": "off"}}

    def run_anew(how, *words, env):
        done = subprocess.run([sys.executable, "-B", *map(str, words)], env={**variables[how], **env}, text=True,
                              timeout=1200, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    with contextlib.ExitStack() as processes:
        @functools.cache
        def run_of(how):
            return processes.enter_context(forked(["torchvision"], variables[how]))

        @functools.cache
        def plainly(*words):
            return run_of("plainly")(*words)

        def tell(how, program, *arguments, env=None, lines=False):
            words, more = (HERE / "programs" / program, *arguments), env or {}
            if how == "plainly" and not more:
                said = plainly(*words)
            elif AT_IMPORT & more.keys():
                said = run_anew(how, *words, env=more)
            else:
                said = run_of(how)(*words, env=more)
            return said.splitlines() if lines else json.loads(said)
        yield tell
