"""The cost of files for their origin where the tier is full. It is nothing if their form or entry
is kept. Else it is the cost without Stoker."""

import json
import time

import pytest

from conftest import ENV, PROGRAMS, python
from skipping import isolated_or_skip
from tagged import noisy_pictures, tagged
from slow_origin import slow_origin

pytest.importorskip("PIL")
COUNT = 200  # of which half need a tier that is large enough for decoded copies
MOST = 8  # epochs, in the last of which hardly a form is made: two or three, but more on a busy machine
FEW = COUNT // 50  # images whose form is made only now: the origin is asked for what was read of them


class Data:
    """Photographs at an origin."""

    def __init__(self, place, origin):
        self._source, self.mount = origin.directory("photographs")
        self._pictures, self._place = list(noisy_pictures()), place
        self._program = PROGRAMS / "operations.py", origin.control_path, self.mount
        self.bytes = self.write(range(COUNT), shift=0)

    def write(self, numbers, shift):
        """Writes photographs by these numbers. Returns how many bytes."""
        total = 0
        for number in numbers:
            jpeg = tagged(self._pictures[(number + shift) % len(self._pictures)], number)
            total += (self._source / f"{number:05}.jpg").write_bytes(jpeg)
        time.sleep(0.1)
        return total

    def look(self):
        """Notes what the photographs cost, and show, without Stoker."""
        self.plain, = self.read(self._place.run(self.command("plain", 1)).stdout)
        return self

    def command(self, how, epochs, workers=1):
        return python(*self._program, epochs, how, workers)

    def read(self, told):
        return [json.loads(line) for line in told.splitlines()]

    def cost(self, opened=(), decoded=(), read=()):
        """Returns the cost of these files to a program without Stoker."""
        return sum(self.plain["costs"][name][number]
                   for number, names in enumerate((opened, decoded, read)) for name in names)


@pytest.fixture
def asked(place, origin):
    """The kernel remembers nothing of these: what changes behind it is seen."""
    return Data(place, origin)


@pytest.fixture(scope="module")
def data(session_scratch, build):
    """The kernel asks for each name, and gets attributes with it: whatever is asked besides is counted. No test writes
    to these files."""
    with slow_origin(session_scratch / "remembered", build, attr_timeout=1000) as origin, isolated_or_skip() as place:
        yield Data(place, origin).look()


@pytest.fixture
def epochs(jobs, tier, scratch):
    def run(data, how, share, workers, count=MOST, flags=()):
        ran = jobs.run(data.command(how, count, workers), path=data.mount, flags=flags,
                       tier=f"{tier}:{int(data.bytes * share)}",
                       env={**ENV, "HOME": str(scratch)})
        return data.read(ran.stdout)
    return run


@pytest.mark.parametrize("how, workers", [("path", 2), ("folder", 1), ("decode", 2), ("feed", 1), ("file", 1)])
def test_a_full_tier(epochs, data, how, workers):
    if how in ("folder", "feed"):
        pytest.importorskip("torchvision")
    told, share = epochs(data, how, 1 / 2, workers), 1 / 2
    assert {epoch["pixels"] for epoch in told} == {data.plain["pixels"]}
    names = set(data.plain["costs"])
    epoch = told[-1]
    forms = set(epoch["served"])
    assert len(forms) > (share - 0.15) * COUNT
    opened = forms if how == "file" else ()
    assert epoch["opens"] <= len(names - forms) + len(opened)
    assert epoch["operations"] <= data.cost(opened, decoded=names - forms) + FEW, epoch


def test_another_run(epochs, data):
    """For a file with a form the origin is asked once, for its name and its attributes. For another
    file it is not."""
    epochs(data, "path", 1 / 2, 2, flags=["--keep"])
    epoch, = epochs(data, "path", 1 / 2, 2, count=1, flags=["--keep"])
    served = set(epoch["served"])
    assert len(served) > 0.35 * COUNT
    missed = set(data.plain["costs"]) - served
    assert epoch["operations"] <= data.cost(decoded=missed) + 2 * len(served) + 4 * FEW


@pytest.mark.parametrize("how", ["path", "decode"])
def test_another_version(epochs, asked, how):
    """A form of before is a guess that the origin does not confirm."""
    epochs(asked, how, 1 / 2, 1, count=3, flags=["--keep"])
    asked.write(range(0, COUNT, 2), shift=1)
    asked.look()
    told = epochs(asked, how, 1 / 2, 2, count=2, flags=["--keep"])
    assert {epoch["pixels"] for epoch in told} == {asked.plain["pixels"]}
    assert any(name.endswith("1.jpg") for name in told[0]["served"])


def test_a_tier_full_of_entries(epochs, asked):
    asked.look()
    share = 1 / 3
    told = epochs(asked, "read", share, 2, count=3)
    assert {epoch["pixels"] for epoch in told} == {asked.plain["bytes"]}
    for epoch in told[1:]:
        missed = set(asked.plain["costs"]) - set(epoch["served"])
        assert abs(len(missed) - (1 - share) * COUNT) <= FEW
        assert epoch["opens"] == len(missed)
        assert epoch["operations"] <= asked.cost(read=missed), epoch
