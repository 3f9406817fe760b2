"""The loader matrix. In every kind of process and state of the cache, Python's libraries read what
they read without Stoker. Their exceptions are the same, and so is stat."""

import json
import os
import re
import shutil
import sys

import pytest

from loaders.case import HITS, NEVER, OPENS, STATS
from loaders import cases
from matrix import record
from slices import ALL
from users import ROOT

PYTHON = os.environ.get("STOKER_WILD_PYTHON", sys.executable)
HERE = os.path.dirname(os.path.abspath(__file__))
ONLY = os.environ.get("STOKER_WILD_CASES", "")  # a pattern for the beginning of a case's name
PATIENCE_S = 1200
GROUP = "Python loaders"

pytestmark = pytest.mark.newest


class Runner:
    """An interpreter with the libraries, and the files that they read."""

    def __init__(self, place, top, program, user):
        self.place, self.top, self.program, self.user = place, top, program, user
        self.ran = set()
        self._plain = {}

    def line(self, *arguments):
        return ["env", f"PYTHONPATH={self.program}", PYTHON, "-B", "-m", "loaders", *arguments]

    def run(self, *arguments):
        """Without Stoker."""
        line = [*self.user.become(), *self.line(*arguments)]
        return json.loads(self.place.run(line, timeout=PATIENCE_S).stdout)

    def make(self):
        return self.run("make", self.top, json.dumps([name for name in cases if is_in_slice(name)]))

    def plan(self, names, how, passes, counters=""):
        return json.dumps({"cases": names, "how": how, "passes": passes,
                           "counters": str(counters)})

    def plain(self, names):
        """Returns the outcomes without Stoker in one process, to which those of each other kind of process are equal.
        Two readings must agree, or they prove nothing."""
        missing = [name for name in names if name not in self._plain]
        if missing:
            one, two = self.run("read", self.top, self.plan(missing, "main", ["read", "read"]))
            assert_same(one["said"], two["said"], "itself, without Stoker")
            assert_good(one["said"])
            self._plain.update(one["said"])
        return {name: self._plain[name] for name in names}

    def cached(self, jobs, names, how, passes, env=None):
        plan = self.plan(names, how, passes, jobs.build / "tests/preload/symbols/counters")
        ran = self.user.run(jobs, self.line("read", self.top, plan), self.top, timeout=PATIENCE_S,
                            env=env)
        return json.loads(ran.stdout), ran


def differences(one, other):
    """Yields the differences of two reports of one file: the outcome, or metadata."""
    if one[0] != other[0]:
        yield f"{one[0]} became {other[0]}"
    if one[1:] != other[1:]:
        yield from (f"{key}: {value} became {other[1][key]}" for key, value in one[1].items()
                    if value != other[1][key])


def assert_same(plain, cached, what):
    lines = [f"{name}, {kind}: {line}" for name in plain for kind in plain[name]
             for line in differences(plain[name][kind], cached[name][kind])]
    if lines:
        pytest.fail("\n".join([f"differs from {what}:", *lines]), pytrace=False)


def assert_good(said):
    """A good file is read: outcomes that are no digests are exceptions."""
    wrong = [f"{name}: {found['good'][0]}" for name, found in said.items()
             if not re.fullmatch("[0-9a-f]{32}", found["good"][0])]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.fixture(scope="module")
def program(session_scratch):
    """The loaders, where anybody may read them."""
    path = session_scratch / "program"
    shutil.copytree(f"{HERE}/loaders", path / "loaders",
                    ignore=shutil.ignore_patterns("__pycache__"))
    return path


@pytest.fixture(scope="module")
def runners(session_scratch, program):
    """Runners by user, with their files made when first asked for."""
    made = {}

    def runner(place, user):
        if user.name not in made:
            made[user.name] = new_runner(place, session_scratch, program, user)
        made[user.name].place = place
        return made[user.name]
    return runner


def new_runner(place, session_scratch, program, user):
    top = session_scratch / f"files of {user.name}"
    top.mkdir()
    os.chown(top, user.number, user.number)
    runner = Runner(place, top, program, user)
    if place.run([*user.become(), PYTHON, "-c", "pass"], check=False).returncode:
        pytest.skip(f"{user.name} may not run {PYTHON}")
    runner.found = runner.make()
    return runner


def is_in_slice(name):
    return re.match(ONLY, name) and (ALL or cases[name].main)


def names_for(runner, wanted=lambda case: True):
    """The cases that can be run here and belong to the slice."""
    return [name for name, about in runner.found.items()
            if "missing" not in about and wanted(cases[name]) and is_in_slice(name)]


def has_part(case, counts):
    """Returns true if a file that has been read before came from where it should."""
    return {HITS: counts["hits"] > 0 and counts["fills"] == 0,
            STATS: counts["stats_served"] > 0,
            OPENS: counts["opens"] > 0 and counts["hits"] == 0,
            NEVER: counts["hits"] == counts["fills"] == 0}[case.sees]


def assert_counts(counts):
    """Each case, when its file had been read before."""
    wrong = [f"{name}: {cases[name].sees} wanted, but {counts[name]}" for name in counts
             if not has_part(cases[name], counts[name])]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def total(found, key):
    return sum(counts[key] for counts in found["counts"].values())


def hits_wanted(names):
    return sum(cases[name].sees == HITS for name in names)


def record_all(runner, names, text):
    runner.ran.update(names)
    for name in names:
        served = "from the origin" if cases[name].sees in (NEVER, OPENS) else "cold, warm, dropped"
        record(GROUP, name, runner.found[name]["version"], f"{served}: {text}", "same")


def test_in_one_process(runners, jobs, slice_user):
    """Cold, warm, with every second entry gone, with entries vanishing all the time."""
    runner = runners(jobs.place, slice_user)
    names = names_for(runner)
    plain = runner.plain(names)
    passes = ["read", "count", "drop", "read", "rain"]
    (cold, warm, dropped, rained), ran = runner.cached(jobs, names, "main", passes)
    for name, found in ("cold", cold), ("warm", warm), ("dropped", dropped), ("rain", rained):
        assert_same(plain, found["said"], f"plain when {name}")
    assert_counts(warm["counts"])
    assert total(dropped, "fills") > 0 < total(dropped, "hits")
    assert total(rained, "fills") > 0
    assert ran.fills > hits_wanted(names)
    record_all(runner, names, f"one process as {slice_user.name}")


def test_by_blocks(runners, jobs, slice_user):
    """All files are big ones. They come from blocks, from the origin where the library does not see
    the read, or from the entry of a whole file."""
    runner = runners(jobs.place, slice_user)
    names = names_for(runner)
    plain = runner.plain(names)
    env = {"STOKER_MAX_FILE": "1"}
    (cold, warm), _ = runner.cached(jobs, names, "main", ["read", "read"], env)
    for name, found in ("cold", cold), ("warm", warm):
        assert_same(plain, found["said"], f"plain when {name}, by blocks")
    assert total(warm, "hits") > 0


# Workers that import everything anew take their time: in the slice, few cases and one user.
WAYS = ["threads", "fork", "spawn", "forkserver"]


def wanted_for(how):
    def wanted(case):
        if how == "threads":
            return case.threads
        return ALL or how == "fork" or not case.needs
    return wanted


@pytest.mark.parametrize("how", WAYS)
def test_in_workers(runners, jobs, slice_user, how):
    """Several read at a time, and any of them may be the one that fills."""
    runner = runners(jobs.place, slice_user)
    names = names_for(runner, wanted_for(how))
    plain = runner.plain(names)
    (cold, warm, rained), ran = runner.cached(jobs, names, how, ["read", "read", "rain"])
    for name, found in ("cold", cold), ("warm", warm), ("rain", rained):
        assert_same(plain, found["said"], f"plain when {name}, {how}")
    assert warm["counts"][""]["hits"] >= hits_wanted(names)
    assert warm["counts"][""]["fills"] == 0
    record_all(runner, names, f"{how} as {slice_user.name}")


@pytest.mark.parametrize("name", [name for name in cases if is_in_slice(name)])
def test_was_run(runners, place, name):
    """Each loader was among those above, or its library is not installed."""
    runner = runners(place, ROOT)
    if "missing" in runner.found[name]:
        pytest.skip(runner.found[name]["missing"])
    assert name in runner.ran
