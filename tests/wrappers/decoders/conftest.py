"""Fixtures of the tests of decoders besides Pillow: OpenCV's and torchvision's.

They run by any Python with these libraries: Debian's in `make test`, PyPI's newest in `make test-newest`. Without
a library its tests are skipped.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from checkout import BUILD
from forked import forked

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python" / "stoker"
MODULES = {"opencv": "cv2", "torchvision": "torchvision"}


def pytest_collection_modifyitems(items):
    if not (PACKAGE / "_core.abi3.so").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the package is not built: python3-dev"))


@pytest.fixture(params=sorted(MODULES))
def library(request):
    if importlib.util.find_spec(MODULES[request.param]) is None:
        pytest.skip(f"{MODULES[request.param]} is not installed")
    return request.param


@pytest.fixture
def store(tmp_path):
    """Environment of a process with a sample store of the test's own."""
    if not (PACKAGE / "_samples_core.abi3.so").exists():
        pytest.skip("the store is not built: liblmdb-dev")
    return {"STOKER_SAMPLES": f"{tmp_path / 'store'}:256M"}


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """Where the self-test's answers are kept."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def run(home):
    """run(program, argument...) returns the dictionary that a program prints, with the hook or plainly. A program in another
    environment than the usual one may have an interpreter of its own: that the hook is off matters at an import."""
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith("STOKER_") and key not in ("PYTHONPATH", "LD_PRELOAD")}
    clean.update(HOME=str(home), XDG_CACHE_HOME=str(home / ".cache"), OMP_NUM_THREADS="1", STOKER_MIN_AGE="0.05")
    usual = {**clean, "PYTHONPATH": str(PACKAGE / "site.zip")}

    def run_anew(*words, env):
        done = subprocess.run([sys.executable, "-B", *words], env=env, text=True, timeout=1200, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    modules = [module for module in MODULES.values() if importlib.util.find_spec(module)]
    with forked(modules, usual) as run_hooked:
        def run(program, *arguments, hooked=True, env=None):
            words, more = [str(HERE / "programs" / program), *map(str, arguments)], env or {}
            if hooked and "STOKER_DECODE" not in more:
                said = run_hooked(*words, env=more)
            else:
                said = run_anew(*words, env={**(usual if hooked else clean), **more})
            return json.loads(said.splitlines()[-1])
        yield run
