"""A function of the package that fails is as if nothing had been tried."""

import subprocess
import sys

import pytest
from direct import HERE, environment

pytest.importorskip("torchvision")


def test_a_function_of_ours_that_fails_is_as_if_nothing_had_been_tried():
    """Each, once, in the main process and in a worker."""
    done = subprocess.run(
        [sys.executable, "-B", HERE / "programs/faults.py"], env=environment(True), text=True, timeout=900,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr[-4000:]
    *different, failed = done.stdout.splitlines()
    assert not different, "\n".join(different[:20])
    assert int(failed.split()[0]) > 50
    assert "a fault" not in done.stderr, done.stderr[-2000:]


def test_indices_without_a_length():
    """torch only iterates over them."""
    program = """
import torch
from torch.utils.data import DataLoader
indices = [map(int, (0, 1)), map(int, (2, 3)), map(int, (3, 0)), map(int, (1, 2))]
print([batch.tolist() for batch in DataLoader(torch.arange(4), batch_sampler=indices)])
"""
    done = subprocess.run([sys.executable, "-B", "-c", program], env=environment(True), text=True, timeout=300,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stdout == "[[0, 1], [2, 3], [3, 0], [1, 2]]\n", done.stderr[-2000:]
