"""Fixtures of the tests of batches.

A program runs with the interpreter that runs the tests, in a place with a /dev/shm of its own. It
runs "plain", under `stoker run` ("slots"), or under `stoker run --no-batches` ("off"). It prints
line by line what it saw. The lines under Stoker must be the plain ones. Each run is made once.
"""

import concurrent.futures
import importlib.util
import itertools
import json
import pathlib
import sys
import threading

import pytest

from checkout import BUILD

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python"

for module in "torch", "torchvision":  # which the tests themselves do not import
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"no {module}", allow_module_level=True)

import hang
import pictures
from direct import printing
from isolated import Isolated
from jobs import Jobs
from outcomes import differences
from slices import ALL

PATIENCE_S = 1200 if ALL else 220  # for one program
FLAGS = {"slots": (), "off": ("--no-batches",), "alone": ("--no-decode",)}


def pytest_collection_modifyitems(items):
    if not (BUILD / "python/stoker/_core.abi3.so").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the package is not built: python3-dev"))


@pytest.fixture(scope="session")
def lines():
    """lines(program, argument..., batches=True): what it prints, with the hook alone."""
    with printing() as lines:
        yield lines


@pytest.fixture(scope="session")
def say(lines):
    """As lines, but the lines are JSON."""
    def say(*words, **how):
        return list(map(json.loads, lines(*words, **how)))
    return say


@pytest.fixture(scope="session")
def scratch_of_all(tmp_path_factory):
    return tmp_path_factory.mktemp("batches")


@pytest.fixture(scope="session")
def variables(scratch_of_all):
    """With a home, where it is kept that Pillow was examined."""
    home = scratch_of_all / "home"
    home.mkdir()
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def folder(scratch_of_all):
    """A folder of classes of images, as ImageFolder wants it."""
    directory = scratch_of_all / "images"
    directory.mkdir()
    pictures.write(directory)
    return directory


@pytest.fixture(scope="session")
def place_of():
    """place_of(size of /dev/shm): made once for each size."""
    obstacle = Isolated.obstacle()
    if obstacle:
        pytest.skip(obstacle)
    places = {}
    lock = threading.Lock()  # what is compared runs at the same time

    def place(size="2g"):
        with lock:
            if size not in places:
                places[size] = Isolated(size).__enter__()
            return places[size]
    yield place
    for one in places.values():
        one.__exit__()


class Said:
    """A program's output and its exit."""

    def __init__(self, status, stdout, stderr, summary):
        self.status, self.stderr, self.summary = status, stderr, summary
        self.lines = [json.loads(line) for line in stdout.splitlines()]
        self.outcomes = dict(self.lines)


@pytest.fixture(scope="session")
def run(place_of, variables, folder, scratch_of_all):
    """run(how, program, argument...): a Said."""
    numbers = itertools.count()

    def run(how, program, *arguments, shm="2g", check=True, env=None):
        place = place_of(shm)
        argv = [sys.executable, "-B", HERE / "programs" / program, *map(str, arguments)]
        env = {**variables, "PATIENCE_S": str(hang.patience(PATIENCE_S)), **(env or {})}
        timeout = PATIENCE_S + 20
        if how == "plain":
            done = place.run(argv, env, check=False, timeout=timeout)
            said = Said(done.returncode, done.stdout, done.stderr, None)
        else:
            own = scratch_of_all / f"run-{next(numbers)}"
            own.mkdir()
            done = Jobs(place, BUILD, own).run(
                argv, path=folder, flags=FLAGS[how], env=env, check=False, timeout=timeout)
            said = Said(done.status, done.stdout, done.stderr, done.json)
        assert not check or said.status == 0, f"{said.status}: {said.stderr[-4000:]}"
        return said
    return run


@pytest.fixture
def start(place_of, variables, folder, tmp_path):
    """start(how, program, argument...): a process under Stoker, killed at the end of the block."""
    def start(how, program, *arguments):
        jobs = Jobs(place_of(), BUILD, tmp_path)
        argv = [sys.executable, "-B", HERE / "programs" / program, *arguments]
        return jobs.started(jobs.command_line(argv, folder, flags=FLAGS[how]), variables)
    return start


@pytest.fixture(scope="session")
def told(run):
    """As run, but the same run is made once."""
    made = {}

    def told(*words):
        if words not in made:
            made[words] = run(*words)
        return made[words]
    return told


@pytest.fixture(scope="session")
def same(told):
    """Asserts that a program says the same under Stoker, but for what is known to differ
    (docs/batches.md); returns both."""
    def same(how, program, *arguments, but=()):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            plain, other = pool.map(lambda how: told(how, program, *arguments), ("plain", how))
        assert len(plain.outcomes) == len(plain.lines) > 0, "two cases of one name"
        assert [name for name, _ in plain.lines] == [name for name, _ in other.lines]
        for name in but:
            assert plain.outcomes.pop(name, None) != other.outcomes.pop(name, None), \
                f"{name} does not differ any more"
        different = list(differences(plain.outcomes, other.outcomes))
        assert not different, "\n".join(different[:20]) + f"\n{len(different)} differences"
        return plain, other
    return same
