"""Fixtures of the tests of batches without worker processes.

A Feed's batches are compared with those of torch's own DataLoader with one worker, over a data set
that opens each path with Pillow.
"""

import gc
import os
import pathlib

import pytest

from checkout import BUILD
from forked import forked

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python" / "stoker"

torch = pytest.importorskip("torch", reason="no torch")
pytest.importorskip("torchvision", reason="no torchvision")

import pictures


def pytest_collection_modifyitems(items):
    if not (PACKAGE / "_core.abi3.so").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the package is not built: python3-dev"))


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory):
    """Where it is kept that Pillow was examined. One thread of torch's: it starts them when it likes."""
    home = tmp_path_factory.mktemp("home")
    gc.freeze()  # a test that collects need not walk all that was imported
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
        torch.set_num_threads(1)
        yield


@pytest.fixture(scope="session")
def paths(tmp_path_factory):
    """Returns files of all kinds of images, most of which are decoded here."""
    directory = tmp_path_factory.mktemp("images")
    pictures.write(directory)
    return sorted(str(path) for path in directory.rglob("*.*"))


@pytest.fixture(scope="session")
def jpegs(paths):
    """Returns the paths of the images that are decoded here."""
    return [path for path in paths if os.path.basename(path)[0].isdigit()]


@pytest.fixture(scope="session")
def run_forked(tmp_path_factory):
    """run_forked(program, argument...): what it prints, in a child of a process that has imported torchvision, without the
    hook."""
    home = tmp_path_factory.mktemp("home")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("STOKER_") and key != "LD_PRELOAD"}
    with forked(["torchvision"], {**clean, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "OMP_NUM_THREADS": "1",
                                  "PYTHONPATH": str(BUILD / "python")}) as run:
        yield lambda program, *arguments: run(HERE / "programs" / program, *arguments)
