"""EXIF data under the hook: what Exif.load() reads."""

import os
import subprocess
import sys

from conftest import HERE
from slices import ALL


def test_what_is_read(environment):
    done = subprocess.run([sys.executable, os.path.join(HERE, "programs/exif.py"), "100000" if ALL else "4000"],
                          env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("same\n", 0), done.stderr


def test_bytes_and_values(environment):
    done = subprocess.run([sys.executable, os.path.join(HERE, "programs/exif_bytes.py"), "50000" if ALL else "3000"],
                          env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("same\n", 0), done.stderr
