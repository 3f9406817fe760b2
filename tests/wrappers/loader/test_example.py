"""examples/imagenet_gpu.py: where there is no GPU it trains as imagenet.py does, to the last bit."""

import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, environment

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path):
    random = np.random.RandomState(0)
    for label in "cats", "dogs":
        (tmp_path / label).mkdir()
        for i in range(12):
            pixels = np.repeat(np.repeat(random.randint(0, 256, (9, 11, 3)), 8, 0), 8, 1)
            Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / label / f"{i}.jpg")
    return tmp_path


def train(script, folder, env, *before):
    done = subprocess.run(
        [*before, sys.executable, ROOT / "examples" / script, folder, "--epochs", "2", "--batch-size",
         "10", "--arch", "tiny", "--image-size", "64", "--seed", "1"],
        env=env, text=True, check=False, timeout=300, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr[-4000:]
    return re.findall(r"epoch .*?: (\d+) images.*loss ([0-9.]+)$", done.stdout, re.M)


def test_losses_are_imagenet_py_s(folder):
    plain = train("imagenet.py", folder, environment(slots=False, driver=False))
    ours = train("imagenet_gpu.py", folder, environment(slots=True, driver=False))
    assert len(plain) == 2 and ours == plain


def test_five_lines_are_others():
    scripts = [(ROOT / "examples" / name).read_text().split('"""', 2)[2].splitlines()
               for name in ("imagenet.py", "imagenet_gpu.py")]
    first, second = ([line for line in script if line.strip() and line not in other]
                     for script, other in (scripts, scripts[::-1]))
    assert len(first) == 4 and len(second) == 4  # one is only here, one only there
    documented = (ROOT / "docs/gpu.md").read_text()
    for line in first + second:
        assert line.strip() in documented
