"""Data sets whose list names one of the files that a sample opens. How the others' names follow from it is learned from
the first samples."""

import functools
import os
import pathlib
import signal
import sys

import pytest

from origin import settle
from stoker._torch.name_lists import Names
from stoker._torch.opened import beside_list
from stoker._torch.order import call

PROGRAM = pathlib.Path(__file__).parent / "programs/second_files.py"
COUNT, SIZE = 300, 20000


MASKS = ["masks:2:1", "masks:0:1", "batched:2:1"]
FEW = ["few:2:3", "some:2:3"]


@pytest.fixture(scope="module")
def data(session_origin):
    """Below it a directory for each data set of a job."""
    source, mount = session_origin.directory("pairs")
    for at in range(len(MASKS + FEW)):
        for kind, suffix in ("images", "jpg"), ("masks", "png"):
            (source / str(at) / kind).mkdir(parents=True)
            for number in range(COUNT):
                (source / str(at) / kind / f"{number:04}.{suffix}").write_bytes(os.urandom(SIZE))
    settle()
    return mount


@pytest.fixture
def run(jobs, plainly, origin, data):
    return functools.partial(_run, jobs, plainly, origin, data)


def _run(jobs, plainly, origin, data, *sets, **more):
    """Returns the run, whose batches and draws are those of a job without Stoker."""
    line = [sys.executable, PROGRAM, data, *sets]
    plain = plainly(line)
    origin.fs.latency_ms = 2
    ran = jobs.run(line, path=data, timeout=300, **more)
    assert ran.stdout == plain and len(plain.splitlines()) == sum(int(each[-1]) for each in sets)
    return ran


def test_masks_beside_images(run, origin, parts):
    """Nearly all are there before they are wanted in the first epoch. Each file is read once."""
    with origin.fs.counting() as counted:
        run(*MASKS, env=parts.env)
    figures = dict(zip(MASKS, parts.figures(), strict=True))
    assert {each: figures[each]["opens"] for each in MASKS} == dict.fromkeys(MASKS, 2 * COUNT)
    assert [each for each in MASKS if figures[each]["there"] < 0.75 * 2 * COUNT] == []
    assert [each for each in MASKS if figures[each]["bytes_origin"] > 1.02 * 2 * COUNT * SIZE] == []
    assert counted.counts()["read_bytes"] <= 1.02 * len(MASKS) * 2 * COUNT * SIZE


def test_masks_that_few_samples_open(run, parts):
    """"few": the rule is wrong for all other samples, so at most 64 masks are read in vain, in all epochs. "some": the rule
    holds for the first samples, so it is believed. Then 64 masks are read in vain, and one for each that was opened, or
    stands for some."""
    run(*FEW, env=parts.env)
    few, some = (of["bytes_origin"] // SIZE - COUNT for of in parts.figures())
    assert 2 * 6 <= few <= 2 * 6 + 64
    assert 2 * 24 <= some <= 2 * (2 * 24) + 64


def test_a_tier_that_is_too_small(run):
    """Both files make room for later ones."""
    ran = run("masks:2:2", tier=f"/dev/shm:{COUNT * SIZE + (4 << 20)}")
    assert ran.epoch(2)["hits"] >= 0.75 * 2 * COUNT


def test_paths_of_a_sample(tmp_path):
    """A list may name a file by a link. A file that another list names is no other one."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    images, masks = (Names(2, lambda indices, kind=kind: [f"{tmp_path}/link/{kind}{index}" for index in indices])
                     for kind in "am")
    opened = b"".join(os.fsencode(tmp_path / "real" / name) + b"\0" for name in ("m1", "x", "a1"))
    assert beside_list([images], 1, opened) == [f"{tmp_path}/link/a1", f"{tmp_path}/real/m1", f"{tmp_path}/real/x"]
    assert beside_list([images, masks], 1, opened) == [f"{tmp_path}/link/a1", f"{tmp_path}/real/x"]
    assert beside_list([images], 0, opened) is None


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have(name):
    """Python's own functions of paths raise an error, which is not the program's."""
    names = Names(2, lambda indices: [name for _ in indices])
    assert call(beside_list, [names], 1, b"/opened\0") is None


def test_an_error_of_a_signal_handler_passes():
    """Links are looked up in storage, which may hang: a program that gives itself so much time gets its error."""
    def be_late(*_):
        raise TimeoutError("too late")
    before = signal.signal(signal.SIGUSR1, be_late)
    try:
        with pytest.raises(TimeoutError):
            call(signal.raise_signal, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
