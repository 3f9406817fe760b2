"""Batches are those of the plain DataLoader: content, dtype, strides, order, errors, draws."""

import pytest

from slices import ALL


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_all_samples_and_collate_functions(same, method):
    plain, _ = same("slots", "collate.py", method, *["all"] * ALL)
    returned = [name for name, outcome in plain.lines if outcome[0] == "returned"]
    assert len(returned) > 100 and "timed out" not in str(plain.lines)


def test_all_samples_and_collate_functions_left_to_torch(same):
    same("off", "collate.py", "fork")


def test_all_kinds_of_loaders(same):
    plain, _ = same("slots", "loaders.py")
    assert not [name for name, outcome in plain.lines if outcome[0] != "returned"]


def test_what_data_sets_do_to_rows(same, folder):
    same("slots", "given.py", folder, but=("grown",))
