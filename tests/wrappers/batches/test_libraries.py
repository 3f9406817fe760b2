"""Libraries that are built on torch's DataLoader see what they see without Stoker: batches, states, losses
and weights, to the last bit."""

import importlib.util

import pytest


@pytest.mark.parametrize("library", ["torchvision", "torchdata", "lightning", "timm", "transformers"])
def test_same(same, folder, library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"no {library}")
    plain, slots = same("slots", "libraries.py", library, folder)
    assert not [line for line in plain.lines if line[1][0] != "returned"]
    assert slots.summary["batches"]["slots"] > 0
