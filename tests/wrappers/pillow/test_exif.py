"""EXIF data under the hook: what Exif.load() reads."""

import os
import subprocess
import sys

import pytest
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


ODD = os.path.join(HERE, "programs/exif_odd.py")
RUN_ODD = "from stoker import Image\nimport runpy, sys\nsys.argv[:] = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
CHANGES = subprocess.run([sys.executable, ODD, "list"], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_program_changes_is_heeded(environment, change, when):
    plain, ours = (subprocess.run([sys.executable, *how, ODD, change, when], env=environment, capture_output=True, text=True)
                   for how in ((), ("-c", RUN_ODD)))
    assert plain.stdout.count("\n") >= 2 and plain.returncode == ours.returncode == 0
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)
