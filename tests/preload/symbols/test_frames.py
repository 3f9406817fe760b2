"""Every interposed symbol, in four frames of a process's life and in every state of the cache.
Output and errno are the same as without the library."""

import difflib
import json
import os
import pathlib
import shutil
import sys

import pytest

import dataset
import sanitizer
from isolated import Isolated
from slices import ALL

# These change nothing.
READERS = ["open", "read", "stdio", "stat", "access", "user", "async", "directory", "descriptor"]
WRITERS = ["create", "make", "change", "chdir", "metadata", "fdmeta"]
LISTERS = ["directory", "make"]  # these look for listings, not for files
FRAMES = ["main", "constructor", "fork", "thread"]
ROOT = 0  # inside a place, its maker is root
NOBODY = 65534

pytestmark = pytest.mark.skipif(Isolated.obstacle() is not None, reason=str(Isolated.obstacle()))


class Cache:
    """An empty cache in a place of its own, covering BASE/data."""

    def __init__(self, place, build, base, user):
        self.place, self.build, self.base, self.user = place, build, base, user
        self.home = f"/dev/shm/stoker-{user}"
        self.env = {**sanitizer.environment(build / "libstoker.so"), "STOKER_PATHS": base / "data",
                    "STOKER_TIERS": "/dev/shm:128M", "STOKER_MIN_AGE": dataset.MIN_AGE}

    def run(self, argv, **env):
        return run_as(self.user, self.place, argv, {**self.env, **env})

    def warm(self):
        self.run([self.build / "tests/preload/symbols/warm", self.base / "data"])

    def remove(self, what):
        path = self.place.path(f"{self.home}/{what}")
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def counts(self):
        program = self.build / "tests/preload/symbols/counters"
        return json.loads(self.run([program, f"{self.home}/runs/outside"], LD_PRELOAD="").stdout)


def run_as(user, place, argv, env):
    drop = []
    if user != ROOT:
        drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return place.run([*drop, *argv], env)


def cold(cache, argv):
    return cache.run(argv)


def warm(cache, argv):
    cache.warm()
    return cache.run(argv)


def known(cache, argv):
    """Everything believed from the first call on, as later in a run."""
    cache.warm()
    return cache.run(argv, STOKER_FRESH="never")


def fresh(cache, argv):
    cache.warm()
    return cache.run(argv, STOKER_FRESH="open")


def dropped(cache, argv):
    """Entries that the catalogue knows are gone."""
    cache.warm()
    cache.remove("tree")
    return cache.run(argv, STOKER_FRESH="never")


def forgotten(cache, argv):
    """Entries are there that no catalogue knows."""
    cache.warm()
    cache.remove("catalogue")
    return cache.run(argv)


def ageless(cache, argv):
    """Files just changed are believed at once, so that nothing hides behind their age."""
    cache.warm()
    return cache.run(argv, STOKER_FRESH="never", STOKER_MIN_AGE="0")


def full(cache, argv):
    """Nothing fits."""
    return cache.run(argv, STOKER_TIERS="/dev/shm:1")


def in_a_run(cache, argv):
    """Under the command, with everything known since the run began."""
    stoker = cache.build / "stoker"
    if not stoker.exists():
        pytest.skip("the command is not built")
    warm_up = f"{cache.build}/tests/preload/symbols/warm {cache.base}/data; exec \"$@\""
    return cache.run([stoker, "run", "--path", cache.base / "data", "--", "sh", "-c", warm_up,
                      "sh", *argv], **sanitizer.environment())


STATES = [cold, warm, known, fresh, dropped, forgotten, ageless, full, in_a_run]
# All states in main; where the frame makes a difference is at the start and when all is known, in the slice not also
# under the command.
CASES = [("main", state) for state in STATES] + [
    (frame, state) for frame in FRAMES[1:] for state in ((cold, known, in_a_run) if ALL else (cold, known))]
COUNTED = [cold, warm, known, dropped, forgotten]  # those whose counters lie outside of a run


def first_differences(plain, cached):
    diff = difflib.unified_diff(plain.splitlines(), cached.splitlines(), "without", "with", "", "",
                                n=4, lineterm="")
    return "\n".join(list(diff)[:80])


def assert_same(plain, cached, state):
    assert plain.stdout.endswith("\nend\n"), plain.stderr
    if cached.stdout != plain.stdout:
        pytest.fail(f"{state.__name__}:\n{first_differences(plain.stdout, cached.stdout)}",
                    pytrace=False)


def assert_used(cache, state, name):
    """The cache had its part in it."""
    if name in LISTERS and state is not in_a_run:  # which clears up at its end
        tree = pathlib.Path(cache.place.path(f"{cache.home}/tree"))
        listings = list(tree.rglob("????????????;"))
        assert (len(listings) > 1) == (state is not full), listings
    elif name not in LISTERS and state in COUNTED:
        counts = cache.counts()
        least = {"stat": 1, "read": 0}.get(name, 10)
        assert counts["hits"] >= least and counts["fills"] >= least, counts
        assert name in ("open", "read", "stdio", "async", "descriptor") or counts["stats_served"] > 10, counts


def program(build, name, frame, base):
    return [build / "tests/preload/symbols" / name, frame, base]


@pytest.fixture(scope="module")
def plain_runs():
    """Returns the table of outputs without the library, by program, frame and user."""
    return {}


def plain_run(runs, place, name, argv, user, env):
    key = (name, argv[1], user, "SHOW_SYSCALL" in env)
    if key not in runs:
        runs[key] = run_as(user, place, argv, {**sanitizer.environment(), **env})
    return runs[key]


@pytest.fixture(scope="module")
def unchanged(scratch, master):
    """A copy for the programs that change nothing."""
    dataset.copy(master, scratch / "unchanged")
    os.sync()  # so that st_blocks stays what it is
    return scratch / "unchanged"


def check_reader(build, base, runs, name, frame, state, user):
    argv = program(build, name, frame, base)
    with Isolated() as place:
        plain = plain_run(runs, place, name, argv, user, {"SHOW_EXACT": "1"})
        cache = Cache(place, build, base, user)
        cache.env["SHOW_EXACT"] = "1"
        if name == "read":  # what is above the least there may be is cached block by block
            cache.env.update({"STOKER_MAX_FILE": "1K", "STOKER_BLOCK": "64K"})
        assert_same(plain, state(cache, argv), state)
        assert_used(cache, state, name)


@pytest.mark.parametrize("frame, state", CASES, ids=lambda case: getattr(case, "__name__", case))
@pytest.mark.parametrize("name", READERS)
def test_reading(build, unchanged, plain_runs, name, frame, state):
    check_reader(build, unchanged, plain_runs, name, frame, state, ROOT)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("state", [cold, known], ids=lambda state: state.__name__)
@pytest.mark.parametrize("name", READERS)
def test_reading_without_privileges(build, unchanged, plain_runs, name, state):
    check_reader(build, unchanged, plain_runs, name, "main", state, NOBODY)


@pytest.mark.parametrize("frame, state", CASES, ids=lambda case: getattr(case, "__name__", case))
@pytest.mark.parametrize("name", WRITERS)
def test_changing(build, scratch, master, plain_runs, name, frame, state):
    base = scratch / "changed"
    argv = program(build, name, frame, base)
    with Isolated() as place:
        if (name, frame, ROOT, False) not in plain_runs:
            dataset.copy(master, base)
        plain = plain_run(plain_runs, place, name, argv, ROOT, {})
        dataset.copy(master, base)
        cache = Cache(place, build, base, ROOT)
        assert_same(plain, state(cache, argv), state)
        assert_used(cache, state, name)


# ---- the same calls by syscall() ----

# Frames make no difference to these calls.
BY_SYSCALL = [cold, known, fresh]


@pytest.mark.parametrize("run", BY_SYSCALL, ids=lambda run: run.__name__)
@pytest.mark.parametrize("name", ["open", "stat", "access", "user", "descriptor"])
def test_reading_by_syscall(build, unchanged, plain_runs, name, run):
    argv = program(build, name, "main", unchanged)
    with Isolated() as place:
        settings = {"SHOW_EXACT": "1", "SHOW_SYSCALL": "1"}
        plain = plain_run(plain_runs, place, name, argv, ROOT, settings)
        cache = Cache(place, build, unchanged, ROOT)
        cache.env.update(settings)
        assert_same(plain, run(cache, argv), run)
        assert_used(cache, run, name)


@pytest.mark.parametrize("run", BY_SYSCALL, ids=lambda run: run.__name__)
@pytest.mark.parametrize("name", ["create", "make", "change", "chdir", "metadata", "fdmeta"])
def test_changing_by_syscall(build, scratch, master, plain_runs, name, run):
    base = scratch / "changed"
    argv = program(build, name, "main", base)
    with Isolated() as place:
        if (name, "main", ROOT, True) not in plain_runs:
            dataset.copy(master, base)
        plain = plain_run(plain_runs, place, name, argv, ROOT, {"SHOW_SYSCALL": "1"})
        dataset.copy(master, base)
        cache = Cache(place, build, base, ROOT)
        cache.env["SHOW_SYSCALL"] = "1"
        assert_same(plain, run(cache, argv), run)
        assert_used(cache, run, name)


def test_every_symbol_is_shown(build, unchanged, scratch, master, plain_runs, symbols):
    shown = {"syscall"}  # test_reading_by_syscall
    dataset.copy(master, scratch / "changed")
    with Isolated() as place:
        for name in READERS + WRITERS:
            base = unchanged if name in READERS else scratch / "changed"
            run = plain_run(plain_runs, place, name, program(build, name, "main", base),
                            ROOT, {"SHOW_EXACT": "1"} if name in READERS else {})
            shown.update(line.split()[1] for line in run.stdout.splitlines()
                         if line.startswith("symbol "))
    missing = sorted(set(symbols) - shown)
    assert missing == []


FAILING_WRITES = """
import os, sys
path = sys.argv[1]
open(path).close()
for flags in os.O_CREAT | os.O_EXCL | os.O_WRONLY, os.O_WRONLY | os.O_DIRECTORY:
    try:
        os.open(path, flags)
    except OSError:
        open(path).close()
"""


def test_a_write_that_fails_takes_nothing_from_the_cache(build, unchanged):
    with Isolated() as place:
        cache = Cache(place, build, unchanged, ROOT)
        cache.run([sys.executable, "-c", FAILING_WRITES, unchanged / "data/with space"])
        counts = cache.counts()
        assert (counts["fills"], counts["hits"], counts["written"]) == (1, 2, 0)
