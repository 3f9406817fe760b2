"""Batches are those of the plain DataLoader: content, dtype, strides, order, errors."""

import pytest

from slices import ALL

HOWS = ["slots", "off"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_all_samples_and_collate_functions(same, method):
    plain, _ = same("slots", "collate.py", method, *["all"] * ALL)
    returned = [name for name, outcome in plain.lines if outcome[0] == "returned"]
    assert len(returned) > 100 and not [name for name, outcome in plain.lines
                                        if "timed out" in str(outcome)]


def test_all_samples_and_collate_functions_left_to_torch(same):
    same("off", "collate.py", "fork")
