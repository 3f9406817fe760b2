"""Batches through slots: the same as without, however they are made, and for as long as they are
kept."""

import pytest

from slices import ALL


@pytest.fixture(scope="module")
def expected(say):
    return dict(say("slots.py", "fork", batches=False))


@pytest.fixture(scope="module", params=["fork", "spawn", "forkserver"])
def seen(say, request):
    """Runs all cases for one way to start processes, and one for the other ways, whose workers import torch anew."""
    cases = () if request.param == "fork" else ("kept_by_the_consumer", *["persistent", "own", "pairs"] * ALL)
    return dict(say("slots.py", request.param, *cases))


def test_batches_are_the_same(seen, expected):
    assert seen
    for name, said in seen.items():
        assert said == expected[name], name


def test_nothing_that_is_kept_changes(seen):
    count, right = seen["kept_by_the_consumer"]
    assert (count, right) == (300, True)
    for name in ("arrays_kept_by_the_consumer", "arrays_changed_by_a_child", "kept_by_the_data_set", "kept_by_the_collate_function"):
        assert all(seen.get(name, [])), name
    assert seen.get("views_outlive_the_batch", True)


def test_children_of_fork_see_what_there_was(seen):
    assert not seen.get("seen_by_a_child", 0)
    assert not seen.get("seen_by_a_workers_child", 0)
