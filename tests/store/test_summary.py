"""The summary of a run's samples, with real decoding: at the first touch, or never."""

import re
import time

import pytest

from conftest import ENV, PROGRAMS, python
from tagged import make_pictures

pytest.importorskip("PIL")
IMAGES, KEPT = 24, 20  # progressive ones are Pillow's


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("photographs")
    for number, (jpeg, _) in enumerate(make_pictures()):
        (directory / f"{number:02}.jpg").write_bytes(jpeg)
    time.sleep(0.1)
    return directory


@pytest.fixture
def epochs(jobs, photographs, scratch):
    def run(count, flags=(), tier="/dev/shm:64M", env=ENV):
        line = python(PROGRAMS / "epochs.py", photographs, count)
        ran = jobs.run(line, path=photographs, tier=tier, flags=flags,
                       env={**env, "HOME": str(scratch), "STOKER_MIN_AGE": "0.05"})
        plain = jobs.place.run(line, env=ENV).stdout.splitlines()
        assert set(ran.stdout.splitlines()) == set(plain) and len(set(plain)) == 1
        assert ran.json["decode"]["images"] >= KEPT * count
        return ran
    return run


def line_of(ran):
    found = re.search(r" (\d+) images? decoded, (\d+) from decoded copies \((\d+) kept, (.*?)\)", ran.said)
    return found and found.groups()


def test_a_size_keeps_at_the_first_touch(epochs):
    ran = epochs(3, ["--decoded=16M"])
    told = ran.samples
    assert KEPT <= told["kept"] <= IMAGES and told["hits"] >= 2 * KEPT
    assert told["unread"] >= KEPT and told["unread_bytes"] > told["unread"] * 1000
    assert told["kept_bytes"] > told["kept"] * 1000 and told["budget_bytes"] == 16 << 20
    assert 0 < told["saved_s"] < 5
    said = line_of(ran)
    assert [int(number) for number in said[:3]] == [ran.json["decode"]["images"], told["hits"],
                                                    told["kept"]]


def test_by_default_in_memory_at_the_first(epochs):
    one, two = epochs(1).samples, epochs(2).samples
    assert KEPT <= one["kept"] <= IMAGES and one["hits"] == 0
    assert KEPT <= two["kept"] <= IMAGES and KEPT <= two["hits"] <= IMAGES


def test_by_default_on_a_disk_at_the_first_and_for_the_next_run(epochs, scratch):
    (scratch / "disk").mkdir()
    runs = [epochs(1, tier=f"{scratch}/disk:64M") for _ in range(2)]
    first, second = (ran.samples for ran in runs)
    assert first["kept"] >= KEPT and first["hits"] == 0
    assert second["kept"] == 0 and second["hits"] >= KEPT and second["unread"] >= KEPT
    assert second["saved_s"] == 0, "nothing tells how long JPEGs take"
    assert " saved" not in runs[1].said


def test_off(epochs):
    ran = epochs(3, ["--decoded=0"])
    assert ran.samples["kept"] == ran.samples["hits"] == 0 and line_of(ran) is None


def test_a_directory_of_the_users_own(epochs, scratch):
    first, second = (epochs(1, [f"--decoded={scratch}/own:32M"]).samples for _ in range(2))
    assert first["setting"] == second["setting"] == f"{scratch}/own:32M"
    assert first["kept"] >= KEPT and second["hits"] >= KEPT
