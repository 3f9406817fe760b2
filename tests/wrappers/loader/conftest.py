"""Fixtures of the tests of stoker.Loader. They run programs with the tests' own interpreter and the built package.

Slots are on, as by `stoker run`, or off. The driver of tests/gpu may take the place of a GPU's. A program prints its
results as JSON, line by line."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from checkout import BUILD, ROOT
from forked import forked

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python"

pytest.importorskip("torch", reason="no torch")
pytest.importorskip("torchvision", reason="no torchvision")


def environment(slots, driver):
    clean = {key: value for key, value in os.environ.items() if key == "STOKER_ALL" or not (
        key.startswith("STOKER_") or key in ("PYTHONPATH", "LD_PRELOAD"))}
    return {**clean, "OMP_NUM_THREADS": "1", "STOKER_BATCHES": "on" if slots else "off",
            "PYTHONPATH": f"{PACKAGE}/stoker/site.zip:{PACKAGE}" if slots else str(PACKAGE),
            **({"LD_LIBRARY_PATH": str(BUILD / "tests/gpu")} if driver else {})}


def run_anew(*words, slots, driver):
    done = subprocess.run([sys.executable, "-B", *words], env=environment(slots, driver), text=True, timeout=300, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="session")
def say():
    """say(program, argument..., slots=, driver=): {name: what it saw}."""
    with forked(["torchvision"], environment(True, False)) as run_forked:
        def say(program, *arguments, slots=True, driver=False):
            if driver and not (ROOT / "build/gpu/kernel.txt").exists():
                pytest.skip("no nvcc: the kernel is not built")
            words = [str(HERE / "programs" / program), *map(str, arguments)]
            if slots and not driver:
                said = run_forked(*words)
            else:
                said = run_anew(*words, slots=slots, driver=driver)
            return dict(json.loads(line) for line in said.splitlines())
        yield say
