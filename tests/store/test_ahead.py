"""stoker warm --decoded: a job behind it decodes no JPEG's codes, and reads no file."""

import re
import time

import pytest

from conftest import ENV, python
from jobs import AGE, HOME

COUNT = 24
DECODE = """
import glob, hashlib, sys
from PIL import Image
told = hashlib.md5()
for name in sorted(glob.glob(sys.argv[1] + "/[0-9]*")):
    told.update(Image.open(name).convert("RGB").tobytes())
print(told.hexdigest())
"""


@pytest.fixture
def photographs(data):
    """A covered directory of JPEGs, by names of several kinds, and of what only looks like one."""
    image = pytest.importorskip("PIL.Image")
    ends = ("jpg", "JPEG", "jpeg", "Jpg")
    for number in range(COUNT):
        noise = image.effect_noise((120 + number, 90), 60).convert("RGB")
        noise.save(data / f"{number:02}.{ends[number % 4]}", "JPEG")
    (data / "no.jpg").write_bytes(b"no JPEG")
    (data / "directory.jpg").mkdir()
    (data / "gone.jpg").symlink_to("nothing")
    (data / "text").write_bytes((data / "04.jpg").read_bytes())
    time.sleep(AGE)
    return data


def warm(jobs, *arguments, **more):
    done = jobs.stoker("warm", *arguments, **more)
    assert done.returncode == 0, done.stderr
    line = r"^stoker: (\d+) JPEGs? looked at, (\d+) decoded (?:copy|copies) kept"
    told = re.search(line, done.stderr, re.M)
    assert told, done.stderr
    return int(told[1]), int(told[2])


def decode(jobs, directory, *flags):
    return jobs.run(python("-c", DECODE, directory), path=directory, env=ENV, flags=flags)


def test_the_job_behind_it_finds_all_forms(jobs, photographs):
    expected = jobs.place.run(python("-c", DECODE, photographs)).stdout
    assert warm(jobs, "--decoded", photographs) == (COUNT + 2, COUNT)
    ran = decode(jobs, photographs)
    assert ran.stdout == expected
    assert (ran.samples["hits"], ran.samples["kept"], ran.samples["unread"]) == (COUNT, 0, COUNT)
    assert ran.fills == 0
    assert warm(jobs, "--decoded", photographs) == (COUNT + 2, 0)


def test_the_parts_of_two_nodes(jobs, photographs):
    first = warm(jobs, "--decoded", "--shard=1/2", photographs)
    second = warm(jobs, photographs, "--decoded", "--shard=2/2")
    assert first[0] + second[0] == COUNT + 2 and first[1] + second[1] == COUNT
    assert min(first[1], second[1]) > 2


def test_a_place_of_their_own(jobs, photographs, scratch):
    kept = warm(jobs, f"--decoded={scratch}/samples:20M", photographs)[1]
    assert kept == COUNT and list((scratch / "samples").iterdir())
    ran = decode(jobs, photographs, f"--decoded={scratch}/samples:20M")
    assert ran.samples["hits"] == COUNT


def test_without_a_python(jobs, photographs, scratch):
    (scratch / "bin").mkdir()
    done = jobs.place.run([jobs.build / "stoker", "warm", "--decoded", photographs],
                          env={"PATH": scratch / "bin", "STOKER_MIN_AGE": "0.05"})
    assert "python3 cannot be started: put one on PATH" in done.stderr
    assert f"{COUNT + 3} files" in done.stderr


def test_a_python_that_fails(jobs, photographs, scratch):
    (scratch / "bin").mkdir()
    (scratch / "bin" / "python3").write_text("#!/bin/sh\nexit 1\n")
    (scratch / "bin" / "python3").chmod(0o755)
    done = jobs.place.run([jobs.build / "stoker", "warm", "--decoded", photographs],
                          env={"PATH": f"{scratch}/bin:/bin", "STOKER_MIN_AGE": "0.05"})
    assert "Pythons that make decoded copies have failed" in done.stderr and HOME in done.stderr
