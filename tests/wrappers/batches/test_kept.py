"""Kept parts of a batch stay unchanged, in each process and in each way to keep them."""

import pytest


@pytest.mark.parametrize("by", ["row", "batch", "main"])
def test_kept(same, folder, by):
    """By a data set, a collate function, a consumer; the rest is used again in between."""
    plain, _ = same("slots", "kept.py", folder, by)
    assert " of " not in str([outcome for _, outcome in plain.lines])  # nothing is wrong in torch


def test_sent_on_and_seen_by_children(same):
    plain, _ = same("slots", "further.py")
    assert not [name for name, outcome in plain.lines if outcome[0] != "returned"]
