"""What the tests of packages share: the packages of build/packages, and photographs to open."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib")]

from covered import place, scratch, session_scratch  # noqa: E402, F401

ROOT = HERE.parents[1]
PACKAGES = ROOT / "build/packages"


def package(pattern):
    found = sorted(PACKAGES.glob(pattern))
    if not found:
        pytest.skip(f"no {PACKAGES / pattern}: make packages")
    return found[-1]


@pytest.fixture(scope="session")
def wheel():
    return package("*.whl")


@pytest.fixture(scope="session")
def photographs(session_scratch):  # noqa: F811
    """A directory with JPEGs that are old enough to be cached."""
    from PIL import Image
    directory = session_scratch / "photographs"
    directory.mkdir()
    for number in range(4):
        path = directory / f"{number}.jpg"
        Image.effect_noise((320, 240), 40 + number).convert("RGB").save(path)
        os.utime(path, (1.6e9, 1.6e9))
    return directory


@pytest.fixture
def clean():
    """An environment without anything of ours."""
    return {key: value for key, value in os.environ.items()
            if not key.startswith(("STOKER_", "PYTHON")) and key not in ("LD_PRELOAD", "VIRTUAL_ENV")}


@pytest.fixture
def install(clean):
    """Runs an installer; skips where there is no index to take Pillow from."""
    def run(*line):
        done = subprocess.run(list(map(str, line)), text=True, capture_output=True, env=clean)
        if done.returncode != 0 and "No matching distribution" in done.stderr:
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stdout + done.stderr
    return run
