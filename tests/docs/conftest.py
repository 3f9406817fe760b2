"""The tests of the documents share the data sets that they name, and a scene for each page."""

import io
import os
import random

import pytest


from covered import build, session_scratch  # noqa: F401

import blocks
from isolated import Isolated
from scene import Scene

CLASSES = ("n01440764", "n01443537")


def photograph(Image, seed):
    noise = random.Random(seed).randbytes(16 * 12 * 3)
    out = io.BytesIO()
    Image.frombytes("RGB", (16, 12), noise).resize((320, 240), 3).save(out, "JPEG", quality=90)
    return out.getvalue()


def write_folders(Image, root):
    for part in "train", "val":
        for number, label in enumerate(CLASSES):
            directory = root / part / label
            directory.mkdir(parents=True)
            for i in range(8):
                (directory / f"{i}.JPEG").write_bytes(photograph(Image, f"{part}{number}{i}"))


def write_big(root, pictures):
    """One file for all samples: above STOKER_MAX_FILE, so that it is cached by blocks."""
    h5py, lmdb = pytest.importorskip("h5py"), pytest.importorskip("lmdb")
    with h5py.File(root / "train.h5", "w") as file:
        file["images"] = [list(os.urandom(3 * 64 * 64)) for _ in range(8)]
        file["ballast"] = list(os.urandom(1 << 20)) * 10
    with lmdb.open(str(root / "train.lmdb"), map_size=1 << 25) as base, base.begin(write=True) as change:
        for i, picture in enumerate(pictures):
            change.put(str(i).encode(), picture)
        for i in range(10):
            change.put(f"ballast{i}".encode(), os.urandom(1 << 20))


@pytest.fixture(scope="session")
def data(session_scratch):  # noqa: F811
    Image = pytest.importorskip("PIL.Image")
    root = session_scratch / "data"
    write_folders(Image, root / "imagenet")
    write_big(root, [photograph(Image, i) for i in range(8)])
    return root


@pytest.fixture
def scene(tmp_path, data, build):  # noqa: F811
    obstacle = Isolated.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    with Scene(tmp_path, data, build) as scene:
        yield scene


def pytest_terminal_summary(terminalreporter):
    """Lists the blocks that were not run, and why."""
    for page in blocks.pages():
        for block in blocks.blocks(page):
            if "norun" in block.info:
                terminalreporter.write_line(f"not run: {block}: {block.info['norun']}")
