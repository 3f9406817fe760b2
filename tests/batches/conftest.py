"""What the tests of batches share.

They run by any Python with torch: Debian's in `make test`, PyPI's newest in `make test-newest`.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
BUILD = ROOT / os.environ.get("STOKER_BUILD", "build")
PACKAGE = BUILD / "python"

pytest.importorskip("torch")


def pytest_collection_modifyitems(items):
    if not (PACKAGE / "stoker/_core.abi3.so").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the package is not built: python3-dev"))


@pytest.fixture(scope="session")
def hooked():
    """The environment of a process under the hook, as `stoker run` gives it."""
    return environment("on")


@pytest.fixture(scope="session")
def plain():
    """And of one without."""
    return environment("off")


def environment(batches):
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith("STOKER_") and key not in ("PYTHONPATH", "LD_PRELOAD")}
    return {**clean, "PYTHONPATH": f"{PACKAGE}/stoker/site.zip:{PACKAGE}", "OMP_NUM_THREADS": "1",
            "STOKER_BATCHES": batches}


@pytest.fixture(scope="session")
def say(hooked, plain):
    """say(program, argument..., batches=True): what the program prints as JSON, line by line."""
    def run(program, *arguments, batches=True, timeout=300):
        done = subprocess.run(
            [sys.executable, "-B", str(HERE / "programs" / program), *map(str, arguments)],
            env=hooked if batches else plain, text=True, timeout=timeout,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr[-4000:]
        return [json.loads(line) for line in done.stdout.splitlines()]
    return run
