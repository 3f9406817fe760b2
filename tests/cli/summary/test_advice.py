"""Whole jobs that are slow for one known reason, which the advice names. tests/unit/cli/test_advice.c has
the advice for all reasons, of counters made up."""

import pathlib
import re
import shlex
import sys

import pytest
from PIL import Image

from job_fixtures import PROGRAMS
from origin import settle

pytestmark = pytest.mark.torch

HERE = pathlib.Path(__file__).parent
FILES = 12


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("advice", FILES, 1000)[1]


def passes(jobs, data, *arguments, **more):
    line = [sys.executable, PROGRAMS / "passes.py", data, *map(str, arguments)]
    return jobs.run(line, path=data, timeout=200, env={"STOKER_AHEAD": "off"}, **more)


def test_a_first_epoch_that_takes_longer_than_all_others_is_the_trouble(jobs, data, origin):
    """Not what little the later ones wait for."""
    origin.fs.latency_ms = 60
    ran = passes(jobs, data, 3, 1, 1, 0.01)
    assert ran.json["bound"] == "fetch"
    assert re.match(r"fetch-bound in epoch 1: storage took [\d.]+ s, ", ran.json["advice"])


def test_what_is_to_be_typed_is_one_word(jobs, origin):
    """The path is one that a shell would take apart; the advice breaks it at no line's end."""
    source, mount = origin.directory("two")
    (source / "it's  my set" / "a").mkdir(parents=True)
    for number in range(20):
        (source / "it's  my set" / "a" / str(number)).write_bytes(b"x")
    settle()
    origin.fs.latency_ms = 60
    path = mount / "it's  my set"
    script = 'for turn in 1 2; do cat "$0"/a/* >/dev/null; done'
    ran = jobs.run(["sh", "-c", script, path], path=path)
    typed = re.search(r"`stoker (.*?)` fills", ran.json["advice"])[1]
    assert shlex.split(typed) == ["warm", str(path)] and f"`stoker {typed}`" in ran.stderr
    holds_open = "import sys, time; file = open(sys.argv[1]); time.sleep(2)"
    ran = jobs.run([sys.executable, "-c", holds_open, path / "a" / "1"], path=source)
    assert shlex.split(re.search(r"--path .*", ran.stderr)[0]) == ["--path", f"{path}/a"]


def test_a_first_epoch_of_what_is_there_waits_for_answers(jobs, data, origin):
    """To fill the cache would change nothing: it is full."""
    jobs.run(["sh", "-c", 'cat "$0"/* >/dev/null', data], path=data, flags=["--keep"])
    origin.fs.latency_ms = 60
    ran = passes(jobs, data, 3, 1, 1, 0.01, flags=["--keep"])
    jobs.stoker("clear")
    assert ran.hits == ran.opens and ran.json["bound"] == "fetch"
    assert re.match(r"fetch-bound in epoch 1: asking storage whether files have changed took [\d.]+ s, .*; "
                    "where they never do, --fresh never spares it$", ran.json["advice"])


STARTS = """
import sys, time
from torch.utils.data import DataLoader
directory, keeps, first_s = sys.argv[1], *map(float, sys.argv[2:])
class Files:
    def __len__(self):
        return 12
    def __getitem__(self, index):
        time.sleep(0 if index > 0 else first_s)
        return len(open(f"{directory}/file{index:04}", "rb").read())
loader = DataLoader(Files(), batch_size=4, num_workers=1, persistent_workers=bool(keeps))
for _ in range(4):
    for _ in loader:
        pass
"""


@pytest.mark.parametrize("keeps, bound", [
    (0, "start"), (1, "transforms")])  # workers that are kept begin once, however slow they then are
def test_workers_that_each_epoch_begins_anew(jobs, data, keeps, bound):
    """New workers open something for their first samples."""
    first_s = 0.5
    numbers = map(str, (keeps, first_s))
    ran = jobs.run([sys.executable, "-c", STARTS, data, *numbers], path=data, timeout=200)
    assert ran.json["bound"] == bound, ran.json["advice"]
    if bound == "start":
        said = re.fullmatch(r"start-bound: the first batches of later epochs, from new workers, took ([\d.]+) s longer "
                            r"than others: persistent_workers=True keeps workers, and what they have opened, from "
                            r"epoch to epoch", ran.json["advice"])
        assert said and float(said[1]) >= 3 * first_s * 2 / 3 - 0.1  # a third is a batch's own
    assert ran.json["time"]["start_s"] <= ran.json["compared"]["later"]["seconds"]


def test_transforms_that_stoker_does_not_make_are_named(jobs, origin):
    """With the one that they apply, and the format that they decode; those that Stoker makes are not."""
    source, mount = origin.directory("outside")
    picture = Image.effect_noise((120, 90), 40).convert("RGB")
    for name in "one.jpg", "two.png":
        picture.save(source / name)
    settle()
    ran = jobs.run([sys.executable, HERE / "programs/outside.py", mount], path=mount, timeout=200)
    named = {"GaussianBlur", "RandomApply of RandomErasing", "halve", "decoding PNG and RandomResizedCrop"}
    assert ran.json["transforms"].keys() == named
    assert ran.json["transforms"]["GaussianBlur"] > 0
