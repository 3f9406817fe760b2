"""What images cost their origin where the tier is full: nothing if their form is kept, and else what they
cost a program without Stoker."""

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

    def cost(self, opened, decoded):
        """Of so many files, which a program without Stoker opens, or decodes."""
        costs = self.plain["costs"]
        return sum(costs[name][0] for name in opened) + sum(costs[name][1] for name in decoded)


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
        forms = set(epoch["forms"])
        assert len(forms) > (share - 0.15) * COUNT
        opened = forms if how == "file" else ()
        assert epoch["opens"] <= len(names - forms) + len(opened)
        assert epoch["operations"] <= data.cost(opened, names - forms), epoch
