"""The tests of packages share the packages of build/packages, and photographs to open."""

import json
import os
import pathlib
import platform
import subprocess

import pytest

from checkout import ROOT

HERE = pathlib.Path(__file__).resolve().parent

from covered import place, scratch, session_scratch  # noqa: F401

PACKAGES = ROOT / "build/packages"


MACHINE = platform.machine()


def package(pattern):
    found = sorted(PACKAGES.glob(pattern))
    if not found:
        pytest.skip(f"no {PACKAGES / pattern}: make packages")
    return found[-1]


@pytest.fixture(scope="session")
def wheel():
    return package(f"*-abi3-*{MACHINE}.whl")


@pytest.fixture(scope="session")
def files_wheel():
    """For every Python that the other is not for."""
    return package(f"*-none-*{MACHINE}.whl")


@pytest.fixture(scope="session")
def photographs(session_scratch):  # noqa: F811
    """A directory with JPEGs."""
    from PIL import Image
    directory = session_scratch / "photographs"
    directory.mkdir()
    for number in range(4):
        image = Image.effect_noise((320, 240), 40 + number).convert("RGB")
        image.save(directory / f"{number}.jpg")
    return directory


@pytest.fixture
def run_over(place, scratch, photographs):  # noqa: F811
    """run_over(stoker, python, code): a run over the photographs, whose names the code is given; what it said, and
    its figures."""
    def run(stoker, python, code):
        summary = scratch / "summary.json"
        ran = place.run([*stoker, "run", "--path", photographs, f"--json={summary}", "--",
                         python, "-c", code, *sorted(photographs.iterdir())],
                        env={"STOKER_MIN_AGE": "0.05"})
        return ran, json.loads(summary.read_text())
    return run


@pytest.fixture
def serves(run_over):
    """serves(stoker, python): that a run serves; gives what it says, in one line."""
    def check(stoker, python):
        ran, told = run_over(stoker, python, READS)
        assert (told["hits"], told["fills"]) == (4, 4), told
        return " ".join(ran.stderr.split())
    return check


READS = """
import sys
for epoch in range(2):
    for path in sys.argv[1:]:
        open(path, "rb").read()
"""


@pytest.fixture
def works(run_over):
    """works(stoker, python): that a run serves and decodes, and where the package was found."""
    def check(stoker, python):
        ran, told = run_over(stoker, python, USES)
        count, where = ran.stdout.split(maxsplit=1)
        assert (count, told["decode"]["images"]) == ("8", 8), ran.stderr
        assert told["hits"] >= 4 and told["fills"] == 4, told
        return where.strip()
    return check


USES = """
import sys
from PIL import Image
for epoch in range(2):
    for path in sys.argv[1:]:
        Image.open(path).tobytes()
import stoker
print(stoker.counts()["images"], stoker.__file__)
"""


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
