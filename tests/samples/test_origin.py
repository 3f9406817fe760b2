"""What files cost their origin where the tier is full: nothing if their form or entry is kept, and else what
they cost a program without Stoker."""

import json
import time

import pytest

from conftest import ENV, PROGRAMS, python
from pictures import noisy_pictures, tagged

pytest.importorskip("PIL")
COUNT, EPOCHS, COUNTED = 300, 6, 2


class Data:
    """Photographs at the origin, which answers no question a second time by itself."""

    def __init__(self, place, origin):
        source, self.mount = origin.directory("photographs")
        pictures, self.bytes = list(noisy_pictures()), 0
        for number in range(COUNT):
            jpeg = tagged(pictures[number % len(pictures)], number)
            (source / f"{number:05}.jpg").write_bytes(jpeg)
            self.bytes += len(jpeg)
        time.sleep(0.1)
        self._program = PROGRAMS / "operations.py", origin.control_path, self.mount
        self.plain, = self.read(place.run(self.command("plain", 1)).stdout)

    def command(self, how, epochs, workers=1):
        return python(*self._program, epochs, how, workers)

    def read(self, told):
        return [json.loads(line) for line in told.splitlines()]

    def cost(self, opened=(), decoded=(), read=()):
        """Of these files to a program without Stoker."""
        return sum(self.plain["costs"][name][number]
                   for number, names in enumerate((opened, decoded, read)) for name in names)


@pytest.fixture
def data(place, origin):
    return Data(place, origin)


@pytest.fixture
def epochs(jobs, data, tier, scratch):
    def run(how, share, workers):
        ran = jobs.run(data.command(how, EPOCHS, workers), path=data.mount,
                       tier=f"{tier}:{int(data.bytes * share)}",
                       env={**ENV, "HOME": str(scratch)})
        return data.read(ran.stdout)
    return run


@pytest.mark.parametrize("how, share, workers", [
    ("path", 1 / 2, 1), ("path", 1 / 3, 2), ("folder", 1 / 2, 2), ("folder", 1 / 3, 1),
    ("decode", 1 / 2, 2), ("feed", 1 / 3, 1), ("file", 1 / 3, 1), ("file", 1 / 2, 2)])
def test_a_full_tier(epochs, data, how, share, workers):
    if how in ("folder", "feed"):
        pytest.importorskip("torchvision")
    told = epochs(how, share, workers)
    assert {epoch["pixels"] for epoch in told} == {data.plain["pixels"]}
    names = set(data.plain["costs"])
    for epoch in told[-COUNTED:]:
        forms = set(epoch["served"])
        assert len(forms) > (share - 0.15) * COUNT
        opened = forms if how == "file" else ()
        assert epoch["opens"] <= len(names - forms) + len(opened)
        assert epoch["operations"] <= data.cost(opened, decoded=names - forms), epoch


@pytest.mark.parametrize("share, workers", [(1 / 2, 1), (1 / 3, 2)])
def test_a_tier_full_of_entries(epochs, data, share, workers):
    told = epochs("read", share, workers)
    assert {epoch["pixels"] for epoch in told} == {data.plain["bytes"]}
    for epoch in told[1:]:
        missed = set(data.plain["costs"]) - set(epoch["served"])
        assert abs(len(missed) - (1 - share) * COUNT) <= 0.02 * COUNT
        assert epoch["opens"] == len(missed)
        assert epoch["operations"] <= data.cost(read=missed), epoch
