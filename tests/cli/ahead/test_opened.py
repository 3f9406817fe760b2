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
FEWER, LARGER = 300, 80000
TIER = 16 << 20
EPOCHS = 2


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("unlisted", COUNT, SIZE)[1]


@pytest.fixture(scope="module")
def fewer(session_origin):
    return session_origin.files("fewer", FEWER, LARGER)[1]


@pytest.fixture
def run(jobs, plainly, origin):
    return functools.partial(_run, jobs, plainly, origin)


def _run(jobs, plainly, origin, data, epochs, *loaders, latency_ms=1, **more):
    """Returns the run of a job with these loaders, whose batches and draws are those of a job without Stoker, in which no
    worker imports torch anew."""
    line = [sys.executable, PROGRAM, data, str(epochs), *loaders]
    plain = plainly([word.replace(":spawn", ":persistent") if word in loaders else word for word in line])
    origin.fs.latency_ms = latency_ms
    ran = jobs.run(line, path=data, tier=f"/dev/shm:{TIER}", timeout=300, **more)
    assert ran.stdout == plain and len(plain.splitlines()) == epochs * len(loaders)
    return ran


def kept(state):
    return list((state["XDG_STATE_HOME"] / "stoker/samples").glob("*"))


LOADERS = ["one:2:", "one:2:persistent", "one:1:spawn", "one:2:subset", "one:2:single", "one:0:", "one:2:batches",
           "one:2:lists", "two:2:", "two:2:batches"]
DRAWN = ["other:2:", "mixed:2:"]


def test_later_epochs_are_read_ahead(run, fewer, state):
    """The tier has room for half of the files. Each loader's data set is another one, so its first epoch shows nothing
    of it. Files that samples have drawn say nothing of those that they will draw. Nothing is kept for the next run if the
    user says so."""
    ran = run(fewer, EPOCHS, *LOADERS, *DRAWN, flags=["--no-history"], env=state)
    second = {loader: ran.epoch(EPOCHS * number + 2) for number, loader in enumerate(LOADERS)}
    assert {loader: epoch["opens"] for loader, epoch in second.items()} == dict.fromkeys(LOADERS, FEWER)
    assert [loader for loader, epoch in second.items() if epoch["hits"] < 0.75 * FEWER] == []
    assert kept(state) == []


def test_the_next_runs(run, jobs, origin, data, state):
    """If what earlier runs have seen is wrong, no more than the 64 probes are read in vain: the tree has its turn. The next
    run has that one's files in the place of the wrong ones. It finds no cache, and its first epoch is read ahead."""
    run(data, 1, "one:2:", env=state)
    assert len(kept(state)) == 1 and kept(state)[0].stat().st_mode & 0o777 == 0o600
    assert jobs.stoker("clear").returncode == 0
    ran = run(data, 1, "one:2:backwards", latency_ms=2, env=state)
    assert ran.json["read_ahead"]["files"] > 2 * 64
    assert jobs.stoker("clear").returncode == 0
    with origin.fs.counting() as counted:
        ran = run(data, 1, "one:2:backwards", env=state)
    assert ran.epoch(1)["hits"] >= 0.75 * COUNT
    assert counted.counts()["read_bytes"] <= 1.02 * COUNT * SIZE


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
