"""Failures end as with torch alone, and leave nothing behind."""

import os
import re
import signal

import pytest
from direct import say_anew

from jobs import wait_until_gone
from slices import ALL


def test_errors_are_torchs(same):
    plain, _ = same("slots", "trouble.py")
    assert not [name for name, outcome in plain.lines if outcome[0] != "returned"]
    told = str(plain.outcomes["killed"])
    assert "DataLoader worker" in told and "killed by signal" in told


def test_nothing_is_left(run):
    """Descriptors, maps, children, memory: of some loaders, or a thousand."""
    left = run("slots", "trouble.py", "left").outcomes
    assert len(left) == 6 and not any(outcome[1] for outcome in left.values()), left


@pytest.mark.skipif(not ALL, reason="a minute: STOKER_ALL=1")
def test_nothing_is_left_of_a_thousand_loaders(run):
    said = run("slots", "trouble.py", "left", "left of many", env={"LOADERS": "1000"})
    assert said.outcomes["left of many"] == ["returned", {}]


def test_a_worker_with_the_number_of_one_that_has_ended(run):
    seen = run("slots", "reused.py").outcomes["batches"]
    if seen is None:
        pytest.skip("no process can be given a number")
    assert seen == 63


@pytest.mark.parametrize("how", ["waits", "exits", "raises"])
def test_workers_end_with_their_main_process(start, how):
    """It is killed, ends at once, or by an exception."""
    with start("slots", "trouble.py", "main", how) as process:
        pids = list(map(int, process.stdout.readline().split()))
        assert len(pids) == 3
        if how == "waits":
            os.kill(pids[0], signal.SIGKILL)
        wait_until_gone(pids)
        process.wait(60)


def test_large_batches_in_a_small_shm(run):
    """64 MB, as in a container: torch dies by a bus error, the newest as it asks for room first."""
    plain = run("plain", "large.py", shm="64m", check=False)
    died = re.search("bus error|No space left on device", plain.stderr, re.IGNORECASE)
    assert plain.status != 0 and died, plain.stderr[-2000:]
    slots = run("slots", "large.py", shm="64m")
    assert slots.outcomes == {"batches": [8, 150000000]}


def test_arrays_without_a_free_descriptor():
    """In a worker or in the main process."""
    assert {said: count for said, count in say_anew("descriptors.py") if count != 60} == {}
