"""Under `stoker run`: the threads' files come from the cache, their images from the sample store."""

import json
import os
import shutil
import sys
import time

import pytest

from conftest import BUILD, HERE, PACKAGE
from jobs import AGE, Jobs
from skipping import isolated_or_skip

EPOCHS, BATCH = 4, 5
PROGRAM = HERE / "programs" / "feed.py"


@pytest.fixture(scope="module")
def place():
    with isolated_or_skip() as place:
        yield place


@pytest.fixture(scope="module")
def copies(jpegs, tmp_path_factory):
    """Copies the images that are decoded here: no program has read the copies."""
    directory = tmp_path_factory.mktemp("copies")
    names = [shutil.copy(path, directory / f"{i}.jpg") for i, path in enumerate(jpegs)]
    time.sleep(AGE)
    return [str(name) for name in names]


def environment(tmp_path):
    return {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache"),
            "PYTHONPATH": str(BUILD / "python"), "OMP_NUM_THREADS": "1"}


def argv(threads, copies):
    return [sys.executable, "-B", PROGRAM, str(threads), str(EPOCHS), *copies]


def told(text):
    """(what the epochs' batches are, what was counted when each ended)."""
    lines = [json.loads(line) for line in text.splitlines()]
    return [line[0] for line in lines], [line[1] for line in lines]


@pytest.fixture(scope="module")
def plain(run_forked, copies):
    """Batches without Stoker: each epoch has another order, and other crops."""
    batches, _ = told(run_forked(PROGRAM.name, 1, EPOCHS, *copies))
    assert len(set(batches)) == EPOCHS
    return batches


def test_it_is_served(place, copies, tmp_path, plain):
    env = environment(tmp_path)
    ran = Jobs(place, BUILD, tmp_path).run(argv(3, copies), path=os.path.dirname(copies[0]), env=env,
                                           flags=["--decoded=0"])
    batches, counts = told(ran.stdout)
    assert batches == plain
    assert ran.files == len(copies)
    assert ran.hits >= len(copies) * (EPOCHS - 1)
    assert counts[-1]["images"] == len(copies) * EPOCHS and counts[-1]["from_forms"] == 0
    assert_passes(ran.json, len(copies), 3)


def assert_passes(said, count, threads):
    """Epochs are the Feed's, and its threads' work counts as workers' time."""
    assert said["epochs_by"] == "passes" and said["bound"] != "unknown"
    assert [(one["samples"], one["batches"], one["workers"]) for one in said["passes"]] == [
        (count, -(-count // BATCH), threads)] * EPOCHS
    time = said["time"]
    assert time["fetch_s"] >= time["decode_s"] > 0 and time["start_s"] == 0


def test_one_that_is_left_early_is_a_pass_of_what_it_gave(place, copies, tmp_path):
    """And one that only looks at a batch is none."""
    ran = Jobs(place, BUILD, tmp_path).run(
        [sys.executable, "-B", HERE / "programs" / "leave.py", *copies], path=os.path.dirname(copies[0]),
        env=environment(tmp_path))
    assert [one["batches"] for one in ran.json["passes"]] == [4, len(copies)]


@pytest.mark.skipif(not (PACKAGE / "_samples_core.abi3.so").exists(), reason="no liblmdb-dev")
def test_its_samples_are_kept(place, copies, tmp_path, plain):
    env = environment(tmp_path)
    ran = Jobs(place, BUILD, tmp_path).run(
        argv(2, copies), path=os.path.dirname(copies[0]), env=env,
        flags=["--decoded=/dev/shm/samples:64M"])
    batches, counts = told(ran.stdout)
    assert batches == plain
    assert counts[-1]["forms"] == len(copies)
    last = {name: counts[-1][name] - counts[-2][name] for name in ("images", "from_forms", "unread")}
    assert last == dict.fromkeys(last, len(copies)), counts
