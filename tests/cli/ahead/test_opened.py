"""Data sets without a list of their files, in a tier that is too small: what samples have opened is read ahead when they
come again."""

import functools
import pathlib
import sys

import pytest
from torch.utils.data import Dataset, Subset

from stoker._torch.opened import key_of

PROGRAM = pathlib.Path(__file__).parent / "programs/without_lists.py"
COUNT, SIZE = 600, 40000
TIER = 16 << 20
EPOCHS = 2


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("unlisted", COUNT, SIZE)[1]


@pytest.fixture
def run(jobs, plainly, origin, data):
    return functools.partial(_run, jobs, plainly, origin, data)


def _run(jobs, plainly, origin, data, *arguments, latency_ms=1, **more):
    """Returns the run, whose batches and draws are those of a job without Stoker."""
    line = [sys.executable, PROGRAM, data, *map(str, arguments)]
    plain = plainly(line)
    origin.fs.latency_ms = latency_ms
    ran = jobs.run(line, path=data, tier=f"/dev/shm:{TIER}", timeout=300, **more)
    assert ran.stdout == plain and len(plain.splitlines()) == arguments[2]
    return ran


def kept(state):
    return list((state["XDG_STATE_HOME"] / "stoker/samples").glob("*"))


@pytest.mark.parametrize("workers, how", [(2, ""), (2, "persistent"), (2, "spawn"), (2, "subset"), (2, "single"), (0, ""),
                                          (2, "batches"), (2, "lists")])
def test_later_epochs_are_read_ahead(run, workers, how):
    """The tier has room for half of the files."""
    ran = run("one", workers, EPOCHS, how)
    assert ran.epoch(2)["opens"] == COUNT and ran.epoch(2)["hits"] >= 0.75 * COUNT


@pytest.mark.parametrize("how", ["", "batches"])
def test_samples_of_two_files(run, how):
    ran = run("two", 2, EPOCHS, how)
    assert ran.epoch(2)["opens"] == COUNT and ran.epoch(2)["hits"] >= 0.75 * COUNT


@pytest.mark.parametrize("kind", ["other", "mixed"])
def test_samples_that_draw_a_file(run, kind):
    """Files that they have opened say nothing of those that they will draw."""
    run(kind, 2, EPOCHS, latency_ms=0)


def test_the_next_run(run, jobs, origin, state):
    """It finds no cache, and its first epoch is read ahead."""
    run("one", 2, 1, env=state)
    assert len(kept(state)) == 1 and kept(state)[0].stat().st_mode & 0o777 == 0o600
    assert jobs.stoker("clear").returncode == 0
    with origin.fs.counting() as counted:
        ran = run("one", 2, 1, env=state)
    assert ran.epoch(1)["hits"] >= 0.75 * COUNT
    assert counted.counts()["read_bytes"] <= 1.02 * COUNT * SIZE


def test_what_an_earlier_run_has_seen_is_wrong(run, jobs, state):
    """No more than the 64 probes are read in vain: the tree has its turn. The next run has this one's files in the place
    of the wrong ones."""
    run("one", 2, 1, latency_ms=0, env=state)
    assert jobs.stoker("clear").returncode == 0
    ran = run("one", 2, 1, "backwards", latency_ms=2, env=state)
    assert ran.json["read_ahead"]["files"] > 2 * 64
    assert jobs.stoker("clear").returncode == 0
    assert run("one", 2, 1, "backwards", env=state).epoch(1)["hits"] >= 0.75 * COUNT


def test_nothing_is_kept_if_the_user_says_so(run, state):
    run("one", 0, 1, latency_ms=0, flags=["--no-history"], env=state)
    assert kept(state) == []


class Data(Dataset):
    def __init__(self, root, *parts):
        self.root, self.parts = root, parts

    def __len__(self):
        raise AssertionError("the program's code runs")

    __getitem__ = __getattr__ = __str__ = __repr__ = __len__


def test_which_data_set():
    """Its number is the same for a copy, as in another process. Two halves of one data set differ."""
    data = Data("/data")
    assert key_of(data) == key_of(Data("/data", 1)) == key_of(Data(pathlib.Path("/data")))
    assert len({key_of(each) for each in (data, Data("/other"), Subset(data, [0, 2]), Subset(data, [1, 3]),
                                          Subset(data, range(2)), Subset(Data("/other"), range(2)))}) == 6
    assert key_of(Subset(data, [data])) not in (0, key_of(data))
