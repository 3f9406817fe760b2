"""The ways in which Python's libraries read files: the same content, and nothing of the origin's
when it comes from the cache."""

import json
import sys

import pytest

from origin import settle

pytestmark = pytest.mark.torch


def test_every_way_to_read(jobs, origin, programs):
    source, mount = origin.directory("libraries")
    jobs.place.run([sys.executable, programs / "libraries.py", "make", source])
    settle()
    command = [sys.executable, programs / "libraries.py", "read", mount, origin.control_path]
    (without,) = json.loads(jobs.place.run([*command, 1]).stdout)
    ran = jobs.run([*command, 2], path=mount)
    cold, warm = json.loads(ran.stdout)
    assert cold["sums"] == warm["sums"] == without["sums"]
    assert without["file_ops"] > len(without["sums"]) and warm["file_ops"] == 0
    assert ran.fills == len(without["sums"]) and ran.bypassed == {}
