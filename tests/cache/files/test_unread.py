"""Decoding without reading: of whole runs, on a slow origin and on a disk."""

import contextlib
import hashlib
import io
import json
import mmap
import os
import pathlib
import sys
import time

import pytest

import resident
from jobs import AGE
from origin import settle
from slices import ALL

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.torch

COUNT = 10
TIER = "/dev/shm:64M"
FILLED, READ = "64M", "1K"  # of the largest file that gets an entry


def jpeg(seed):
    stream = io.BytesIO()
    side = 40 + seed % 50
    picture = Image.effect_mandelbrot((side * 3, side * 2), (-2, -1.5, 1, 1.5 + seed % 9), 90)
    picture = Image.merge("RGB", [picture, picture.rotate(90), picture.rotate(180)])
    picture.save(stream, "JPEG", quality=80 + seed % 15, subsampling=seed % 3)
    return stream.getvalue()


def digest(data):
    return hashlib.sha1(Image.open(io.BytesIO(data)).convert("RGB").tobytes()).hexdigest()


@pytest.fixture(autouse=True)
def needs_the_store(build):
    if not (build / "python/stoker/_samples_core.abi3.so").exists():
        pytest.skip("the store is not built: liblmdb-dev")


@pytest.fixture
def data_set(origin):
    """(behind the origin, at the origin, the digests that its files have)."""
    source, mount = origin.directory("forms")
    contents = {f"{number}.jpg": jpeg(number) for number in range(COUNT)}
    for name, data in contents.items():
        (source / name).write_bytes(data)
    settle()
    return source, mount, {name: digest(data) for name, data in contents.items()}


@pytest.fixture
def epochs(jobs, programs):
    """epochs(directory, how many, ...): what each said; `between` is called before each but the
    first."""
    def run(directory, count, between=lambda number: None, words=(), **options):
        program = [sys.executable, "-B", programs / "decoding.py", directory, count, "wait", *words]
        options.setdefault("path", directory)
        env = {"STOKER_MIN_AGE": str(AGE / 2), **options.pop("env", {})}
        with contextlib.ExitStack() as stack:
            job = stack.enter_context(jobs.started(jobs.command_line(program, **options), env))
            told = []
            for number in range(count):
                if number:
                    between(number)
                    job.stdin.write("\n")
                    job.stdin.flush()
                line = job.stdout.readline()
                assert line, job.stderr.read()
                told.append(json.loads(line))
            out, errors = job.communicate(timeout=60)
            assert job.returncode == 0, errors
        return told
    return run


# torchvision's loader asks Pillow, so it has one turn: where no file may be opened.
@pytest.mark.parametrize("largest, words", [
    (FILLED, ()), (READ, ()), (READ, ("folder",)), *([(FILLED, ("folder",))] if ALL else [])],
    ids=lambda value: value if isinstance(value, str) else "torchvision" if value else "Pillow")
def test_a_later_epoch_reads_nothing_of_the_origin(epochs, origin, data_set, scratch, largest, words):
    """It does so with entries and without: where there are none, no file is opened either."""
    _, mount, right = data_set
    marks = []
    told = epochs(mount, 3, lambda number: marks.append(origin.fs.counts()), words, tier=TIER,
                  env={"STOKER_MAX_FILE": largest, "STOKER_BLOCK": "0"},
                  flags=[f"--decoded={scratch / 'samples'}:32M"])
    marks.append(origin.fs.counts())
    first, second, third = told
    assert first["digests"] == second["digests"] == third["digests"] == right
    assert first["forms"] == COUNT and first["unread"] == 0
    assert second["unread"] == third["unread"] == COUNT
    for before, after in zip(marks, marks[1:]):
        assert (after - before)["read"] == 0 and (after - before)["read_bytes"] == 0
    assert (marks[2] - marks[1])["open"] == 0


@pytest.mark.parametrize("words", [(), ("bytes",)])
def test_by_default_in_memory(epochs, data_set, words):
    """Kept at the first touch, as far as room was granted by then, which the first asks for."""
    _, mount, right = data_set
    told = epochs(mount, 6, lambda number: time.sleep(0.4), words, tier=TIER)
    assert all(each["digests"] == right for each in told)
    assert told[0]["from_forms"] == 0
    assert sum(each["forms"] for each in told) == COUNT
    assert told[5]["from_forms"] == COUNT and told[5]["unread"] == (0 if words else COUNT)


# ---- which version is decoded ----

def replace(source, data_set, seed=77):
    """Puts another image in the place of one; returns the digests that are right from then on."""
    (source / "aside").write_bytes(jpeg(seed))
    os.rename(source / "aside", source / "3.jpg")
    settle()
    return {**data_set[2], "3.jpg": digest(jpeg(seed))}


@pytest.mark.parametrize("largest", [FILLED, READ])
@pytest.mark.parametrize("fresh", ["run", "open", "never"])
def test_changed_between_runs(epochs, data_set, scratch, fresh, largest):
    source, mount, before = data_set
    options = {"tier": TIER, "env": {"STOKER_MAX_FILE": largest, "STOKER_BLOCK": "0"},
               "flags": ["--keep", f"--fresh={fresh}", f"--decoded={scratch / 'samples'}:32M"]}
    first = epochs(mount, 2, **options)
    assert first[1]["digests"] == before and first[1]["unread"] == COUNT
    after = replace(source, data_set)
    told = epochs(mount, 2, **options)
    if fresh == "never":
        assert told[0]["digests"] == told[1]["digests"] == before
        assert told[0]["unread"] == COUNT
    else:
        assert told[0]["digests"] == told[1]["digests"] == after
        assert told[0]["unread"] == COUNT - 1 and told[0]["forms"] == 1
    assert told[1]["unread"] == COUNT


@pytest.mark.parametrize("fresh", ["run", "open"])
def test_changed_within_a_run(epochs, data_set, scratch, fresh):
    source, mount, before = data_set
    told = epochs(mount, 3, lambda number: number == 1 and replace(source, data_set),
                  tier=TIER,
                  flags=[f"--fresh={fresh}", f"--decoded={scratch / 'samples'}:32M"])
    after = {**before, "3.jpg": digest(jpeg(77))}
    assert told[0]["digests"] == before
    assert told[1]["digests"] == told[2]["digests"] == (after if fresh == "open" else before)
    assert told[1]["unread"] == (COUNT - 1 if fresh == "open" else COUNT)
    assert told[2]["unread"] == COUNT


def test_an_entry_that_was_made_again(epochs, jobs, scratch):
    """Its name and the times of its origin agree, but not its bytes. The times of a file in memory
    do not show stores through a map."""
    inside = "/dev/shm/mapped"
    outside = pathlib.Path(jobs.place.path(inside))
    outside.mkdir()
    path, one, two = outside / "x.jpg", jpeg(1), jpeg(2)
    size = max(len(one), len(two))
    one, two = one.ljust(size, b"\0"), two.ljust(size, b"\0")
    path.write_bytes(one)
    options = {"tier": TIER, "flags": [f"--decoded={scratch / 'samples'}:32M"]}
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as there:
        there[:] = one
        settle()
        told = epochs(inside, 2, **options)
        assert told[1]["digests"] == {path.name: digest(one)}
        before = path.stat()
        there[:] = two
        assert path.stat().st_mtime_ns == before.st_mtime_ns
        told = epochs(inside, 2, **options)
    assert told[0]["digests"] == told[1]["digests"] == {path.name: digest(two)}


# ---- what the kernel says ----

def test_no_page_of_the_files_is_needed(epochs, scratch):
    """Forms stand in the place of the files' own pages: these need not be in memory."""
    directory = scratch / "disk"
    directory.mkdir()
    paths = [directory / f"{number}.jpg" for number in range(COUNT)]
    for number, path in enumerate(paths):
        path.write_bytes(jpeg(number))
    settle()

    def in_memory():
        return sum(resident.pages(path)[0] for path in paths)
    assert in_memory() > COUNT
    resident.drop(paths)
    if in_memory():
        pytest.skip("this file system keeps its pages in memory")
    seen = []

    def between(number):
        seen.append(in_memory())
        resident.drop(paths)
    (scratch / "elsewhere").mkdir()
    told = epochs(directory, 3, between, path=scratch / "elsewhere",
                  flags=[f"--decoded={scratch / 'samples'}:32M"])
    assert seen[0] > COUNT and seen[1] == 0 and in_memory() == 0
    right = {path.name: digest(jpeg(number)) for number, path in enumerate(paths)}
    assert all(each["digests"] == right for each in told)
    assert told[0]["forms"] == told[1]["unread"] == told[2]["unread"] == COUNT
