"""One copy of each image in memory: its entry, or its form. So a tier that has room for half of the
images serves as many from forms as fit, and never takes more than its budget."""

import json
import os
import shutil
import time

import pytest

from conftest import BUILD, ENV, PROGRAMS, python
from jobs import HOME, wait_for
from tagged import noisy_pictures, tagged

pytest.importorskip("PIL")
MB = 1 << 20
SIZE = 1.05  # of a form, beside its JPEG
PROBES = 64  # files that may be opened ahead of the job in vain
WHOLE = os.environ.get("STOKER_ALL") == "1"
DATA_MB, TIER_MB, EPOCHS = (75, 37, 8) if WHOLE else (48, 24, 4)
FEW, FEW_MB = 120, 14


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """(directory, bytes)"""
    directory, total, number = tmp_path_factory.mktemp("photographs"), 0, 0
    pictures = list(noisy_pictures())
    while total < DATA_MB * MB:
        jpeg = tagged(pictures[number % len(pictures)], number)
        (directory / f"{number:05}.jpg").write_bytes(jpeg)
        total += len(jpeg)
        number += 1
    time.sleep(0.1)
    return directory, total


def copy_half(photographs, directory):
    """Copies half of the photographs."""
    for path in sorted(photographs[0].iterdir())[::2]:
        shutil.copy(path, directory)
    time.sleep(0.1)


@pytest.fixture
def epochs(jobs, photographs, tier, scratch):
    def run(how, where=tier):
        line = python(PROGRAMS / "shares.py", photographs[0], EPOCHS, f"{where}/{HOME}", how)
        ran = jobs.run(line, path=photographs[0], tier=f"{where}:{TIER_MB}M",
                       env={**ENV, "HOME": str(scratch)})
        return ran, [json.loads(line) for line in ran.stdout.splitlines()]
    return run


@pytest.fixture(scope="module")
def plain_pixels(photographs):
    """Returns the pixels by Pillow without Stoker."""
    import subprocess
    import sys
    env = {**os.environ, "PYTHONPATH": str(ENV["PYTHONPATH"])}
    done = subprocess.run([sys.executable, "-B", PROGRAMS / "shares.py", photographs[0], "1", "/nowhere"],
                          env=env, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)[0]


def check(ran, told, plain):
    """Whatever the tier, and however images are opened: pixels are right, the budget holds, and an image that has a form is
    not read."""
    budget = TIER_MB * MB
    assert {pixels for pixels, *_ in told} == {plain}
    assert max(taken for *_, taken in told) <= budget
    assert ran.tier["used_bytes"] <= ran.tier["budget_bytes"] == budget
    assert 0 < ran.samples["given_up"] <= ran.fills
    assert all(forms == unread for _, forms, unread, _, _ in told[3:]), told


def test_forms_serve_what_fits(epochs, photographs, plain_pixels):
    """Images by files that the job has opened."""
    ran, told = epochs("file")
    check(ran, told, plain_pixels)
    budget, data = TIER_MB * MB, photographs[1]
    shares = [unread_bytes / data for _, _, _, unread_bytes, _ in told]
    assert ran.tier["set_aside_bytes"] < budget / 25
    assert min(shares[3:]) > (budget - ran.tier["set_aside_bytes"]) / SIZE / data - 0.01, shares


def test_beside_the_catalogue(epochs, photographs, plain_pixels):
    """Where the catalogue lies in the tier, forms serve what it leaves, with what it has aside to grow. Images by their
    paths."""
    ran, told = epochs("path", where="/dev/shm")
    check(ran, told, plain_pixels)
    budget, data = TIER_MB * MB, photographs[1]
    catalogue = told[-1][4] - ran.samples["used_bytes"] + budget / 64
    assert catalogue < budget / 8, "no entry is left"
    left = (budget - catalogue) / SIZE / data
    shares = [unread_bytes / data for _, _, _, unread_bytes, _ in told]
    assert min(shares[3:]) > left - 0.03, shares


def test_what_is_not_opened(jobs, photographs, tier, scratch):
    """An image that has a form and no entry is not opened, and no program can see that."""
    data = scratch / "images"
    data.mkdir()
    copy_half(photographs, data)
    ran = jobs.run(python(PROGRAMS / "later.py", data), path=data, tier=f"{tier}:{TIER_MB // 2}M",
                   env={**ENV, "HOME": str(scratch)})
    assert ran.stdout.splitlines()[-1] == "sound"


def test_the_origin_is_not_asked(jobs, photographs, tier, scratch, origin):
    """If an image is served from its form, the origin is not asked, once it has vouched for it."""
    source, mount = origin.directory("photographs")
    copy_half(photographs, source)
    line = python(PROGRAMS / "shares.py", mount, 5, tier / HOME)
    with origin.fs.counting() as counted:
        ran = jobs.run(line, path=mount, tier=f"{tier}:{TIER_MB // 2}M",
                       env={**ENV, "HOME": str(scratch)})
        wait_for(lambda: counted["release"] == counted["open"])  # they come when all is closed
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    files, opens = ran.files, 5 * ran.files
    assert told[-1][2] > 0.4 * files
    assert ran.opens == opens and ran.hits > told[-1][2] * 2
    ahead = ran.json["read_ahead"]["files"]
    assert counted["open"] <= opens - ran.hits + ahead + PROBES


def test_whose_bytes_are_read_stays(jobs, photographs, tier, scratch):
    """Only images that no program reads as bytes give their entries up."""
    script = f"""
import json, os, pathlib
from shares import pixels_of
paths = sorted(map(str, pathlib.Path({str(photographs[0])!r}).iterdir()))[:{FEW}]
for epoch in range(6):
    for path in paths[::3]:
        with open(path, "rb") as file:
            assert file.read(2) == b"\\xff\\xd8"
    for path in paths:
        pixels_of(path, "path")
print(json.dumps([[name.rpartition(";")[2] for _, _, names in os.walk({str(tier / HOME / "tree")!r})
                   for name in names], [os.path.basename(path) for path in paths[::3]]]))
"""
    env = {**ENV, "HOME": str(scratch), "PYTHONPATH": f"{ENV['PYTHONPATH']}:{PROGRAMS}"}
    ran = jobs.run(python("-c", script), path=photographs[0], tier=f"{tier}:{FEW_MB}M", env=env)
    there, read = map(set, json.loads(ran.stdout))
    assert 0 < ran.samples["given_up"] <= FEW - len(read)
    assert read <= there, "they were read before there was no room"
    assert len(there - read) < (FEW - len(read)) / 2


def test_a_crowd_in_which_some_are_killed(jobs, photographs, scratch):
    env = {**ENV, "HOME": str(scratch), "PYTHONPATH": f"{ENV['PYTHONPATH']}:{PROGRAMS}"}
    few, tier, budget = scratch / "few", "/dev/shm", FEW_MB * MB
    few.mkdir()
    for path in sorted(photographs[0].iterdir())[:FEW]:
        shutil.copy(path, few)
    time.sleep(0.1)
    ran = jobs.run(python(PROGRAMS / "crowd.py", few, f"{tier}/{HOME}"), path=few,
                   tier=f"{tier}:{budget}", flags=["--keep"], env=env)
    wrong, most = json.loads(ran.stdout)
    assert wrong == 0 and most <= budget and ran.tier["used_bytes"] <= budget
    assert ran.samples["given_up"] > 0
    look = [BUILD / "tests/cache/kills/accounts", f"{tier}/{HOME}"]
    accounts = json.loads(jobs.run(look, path=few, tier=f"{tier}:{budget}", env=env).stdout)
    assert accounts["used"] == accounts["there"] and accounts["filling"] == 0, accounts
