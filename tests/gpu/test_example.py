"""examples/cifar_gpu.py, on noise and on files that are laid out as CIFAR-10's are."""

import os
import pickle
import re
import subprocess
import sys

import pytest

from checkout import BUILD, ROOT


pytest.importorskip("torch")
np = pytest.importorskip("numpy")


def train(*arguments):
    done = subprocess.run([sys.executable, ROOT / "examples/cifar_gpu.py", "--seed", "1", *arguments],
                          env={**os.environ, "PYTHONPATH": str(BUILD / "python")}, check=False,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [float(loss) for loss in re.findall(r"loss ([0-9.]+)$", done.stdout, re.M)]


def test_it_runs_on_noise():
    made = train("--images", "300", "--epochs", "2", "--batch-size", "64")
    assert len(made) == 2
    assert made == train("--images", "300", "--epochs", "2", "--batch-size", "64", "--threads", "3")


def test_it_learns_from_files(tmp_path):
    random = np.random.RandomState(0)
    for part in 1, 2:
        labels = random.randint(0, 10, 200)
        pixels = np.repeat(labels[:, None] * 25, 3072, 1) + random.randint(0, 5, (200, 3072))
        (tmp_path / f"data_batch_{part}").write_bytes(pickle.dumps(
            {b"data": pixels.astype(np.uint8), b"labels": labels.tolist()}))
    losses = train(str(tmp_path), "--epochs", "4", "--batch-size", "40", "--lr", "0.02")
    assert len(losses) == 4 and losses[-1] < losses[0] / 2, losses
