"""The budget holds at every moment, is used to its end, and leaves the job its shared memory."""

import os
import random
import subprocess
import sys
import threading

import pytest

from jobs import HOME, reading
from origin import settle

KIB, MIB = 1 << 10, 1 << 20
BLOCK = 512


def walk_used(home):
    """What a tier's directory takes: (bytes of blocks, inodes), as du and find would say."""
    blocks, inodes = 0, 1
    for directory, directories, files in os.walk(home):
        for name in directories + files:
            try:
                blocks += os.lstat(os.path.join(directory, name)).st_blocks
            except FileNotFoundError:
                continue
            inodes += 1
    return blocks * BLOCK, inodes


class Sampler:
    """Looks at a tier again and again while a block runs, and keeps the most it saw."""

    def __init__(self, home, ask=None):
        self._home, self._ask = home, ask
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.most_bytes = self.most_inodes = self.looks = 0
        self.most_told = [0, 0]

    def _watch(self):
        while not self._stop.is_set():
            used = walk_used(self._home)
            self.most_bytes = max(self.most_bytes, used[0])
            self.most_inodes = max(self.most_inodes, used[1])
            told = self._ask() if self._ask else None
            if told:
                self.most_told = [max(self.most_told[0], told[0]), max(self.most_told[1], told[2])]
            self.looks += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def mount_tmpfs(place, directory, size="64m", inodes=None):
    options = f"mode=1777,size={size}" + (f",nr_inodes={inodes}" if inodes else "")
    place.run(["mount", "-t", "tmpfs", "-o", options, "small", directory])


def shuffled_epochs(files, epochs):
    """A command that reads the files in another order in each epoch."""
    order = []
    for epoch in range(epochs):
        order += random.Random(epoch).sample(files, len(files))
    return reading(order, 1)


@pytest.fixture
def tier(place, scratch):
    """A tmpfs of its own for the tier: the catalogue lies elsewhere."""
    path = scratch / "tier"
    path.mkdir()
    mount_tmpfs(place, path)
    return path


def names_of(mount, count):
    return [mount / f"file{number:04}" for number in range(count)]


def home_in(place, directory):
    return place.path(f"{directory}/{HOME}")


def test_used_never_exceeds_the_budget_and_the_hit_rate_is_its_share(jobs, place, origin, tier):
    count, size, budget = 400, 32 * KIB, 400 * 32 * KIB // 2
    _, mount = origin.files("budget", count, size)
    with Sampler(home_in(place, tier), lambda: jobs.used(str(tier))) as sampler:
        ran = jobs.run(shuffled_epochs(names_of(mount, count), 4), path=mount,
                       tier=f"{tier}:{budget}")
    assert sampler.looks > 5
    assert 0.9 * budget < sampler.most_bytes <= budget
    assert sampler.most_told[0] <= budget * 1.01  # stoker ls rounds
    assert ran.tier["used_bytes"] <= ran.tier["budget_bytes"] == budget
    for number in (2, 3, 4):
        epoch = ran.epoch(number)
        assert epoch["opens"] == count
        assert abs(epoch["hits"] / count - 0.5) <= 0.01, epoch
    assert ran.bypassed["budget"] == ran.opens - ran.hits - ran.fills


def test_the_catalogue_s_growth_is_within_the_budget(jobs, place, scratch):
    """Where the tier and the catalogue share /dev/shm, the files are so many that it grows."""
    data = scratch / "many"
    data.mkdir()
    for number in range(9000):
        (data / str(number)).write_bytes(b"x")
    settle()
    budget = 8 * MIB
    command = ["sh", "-c", 'find "$0" -type f -print0 | xargs -0 cat >/dev/null', data]
    with Sampler(home_in(place, "/dev/shm")) as sampler:
        ran = jobs.run(command, path=data, tier=f"/dev/shm:{budget}")
    assert ran.opens == 9000
    assert sampler.most_bytes <= budget
    assert ran.bypassed["budget"] > 0


def test_the_catalogue_grows_on_when_entries_have_filled_the_budget(jobs, scratch):
    """A file that is not known would cost the origin a question at each open."""
    data = scratch / "more"
    data.mkdir()
    for number in range(150):
        (data / f"large{number}").write_bytes(bytes(512 * KIB))
    for number in range(9000):
        (data / f"small{number}").write_bytes(b"x")
    settle()
    script = 'cd "$0" && ls | grep large | xargs cat >/dev/null; ls | xargs cat >/dev/null'
    ran = jobs.run(["sh", "-c", script, data], path=data, tier=f"/dev/shm:{70 * MIB}")
    assert ran.opens == 150 + 9150
    assert ran.hits > 100
    assert ran.bypassed.get("catalogue", 0) == 0
    assert ran.bypassed["budget"] == 9000 + 300 - ran.hits - ran.fills


def test_inodes_are_a_budget_too(jobs, place, origin, scratch):
    tier = scratch / "tier"
    tier.mkdir()
    mount_tmpfs(place, tier, inodes=200)
    count = 300
    _, mount = origin.files("inodes", count, KIB)
    with Sampler(home_in(place, tier), lambda: jobs.used(str(tier))) as sampler:
        ran = jobs.run(shuffled_epochs(names_of(mount, count), 2), path=mount, tier=tier)
    assert ran.tier["budget_inodes"] <= 100
    assert 90 <= sampler.most_inodes <= ran.tier["budget_inodes"]
    assert sampler.most_told[1] <= ran.tier["budget_inodes"]
    assert ran.tier["used_inodes"] <= ran.tier["budget_inodes"]
    assert ran.epoch(2)["hits"] >= 85


@pytest.mark.torch
@pytest.mark.parametrize("preload_alone", [False, True])
def test_a_small_shared_memory_serves_the_job_and_the_cache(jobs, place, origin, programs,
                                                            preload_alone):
    """64 MiB with 200 inodes as /dev/shm: 45 MiB of data, and 24 MiB that the job shares."""
    mount_tmpfs(place, "/dev/shm", inodes=200)
    count = 300
    source, mount = origin.files("shm", count, 150 * KIB)
    command = [sys.executable, programs / "share.py", mount, source]
    ran = jobs.preloaded(command, mount) if preload_alone else jobs.run(command, path=mount)
    assert ran.stdout == "well\n"
    if not preload_alone:
        assert ran.epoch(2)["hits"] >= 85
        assert ran.tier["budget_bytes"] <= 32 * MIB


def fill_up(place, directory):
    """Leaves not a byte, and not an inode."""
    place.run(["sh", "-c", 'cat /dev/zero >"$0/zeroes"; i=0; '
               'while mkdir "$0/$i"; do i=$((i + 1)); done; true', directory])


@pytest.mark.parametrize("where", ["/dev/shm", "tier"])
def test_a_full_tier_is_no_error_in_the_program(jobs, place, origin, scratch, where):
    directory = scratch / "tier" if where == "tier" else "/dev/shm"
    (scratch / "tier").mkdir()
    mount_tmpfs(place, directory, size="4m", inodes=50)
    fill_up(place, directory)
    source, mount = origin.files("full", 20, 10 * KIB)
    done = jobs.preloaded(["diff", "-r", mount, source], mount, tier=str(directory))
    assert (done.stdout, done.stderr) == ("", "")


def test_a_tier_that_fills_up_during_the_run(jobs, place, origin, tier):
    """Somebody else takes what is left: not an error, not a wrong byte; what is there is served."""
    source, mount = origin.files("filling", 60, 100 * KIB)
    script = ('cat "$1"/file000? >/dev/null; cat /dev/zero >"$3/zeroes" 2>/dev/null; '
              'diff -r "$1" "$2" && diff -r "$1" "$2"')
    ran = jobs.run(["sh", "-c", script, "sh", mount, source, tier], path=mount, tier=tier)
    assert ran.stdout == ""
    assert ran.bypassed["tier"] > 0
    assert ran.hits >= 20


def test_what_is_cleared_during_a_run_is_filled_anew_within_the_budget(jobs, place, origin, tier):
    source, mount = origin.files("again", 40, 100 * KIB)
    budget = 45 * 100 * KIB
    script = 'for i in 1 2 3; do diff -r "$1" "$2" || exit 1; "$3" clear "$1" >/dev/null; done'
    with Sampler(home_in(place, tier)) as sampler:
        ran = jobs.run(["sh", "-c", script, "sh", mount, source, jobs.build / "stoker"],
                       path=mount, tier=f"{tier}:{budget}")
    assert ran.fills == 3 * 40
    assert sampler.most_bytes <= budget
    assert ran.tier["used_bytes"] <= budget


def test_du_agrees_with_what_the_catalogue_counts(jobs, place, origin, tier):
    """The used blocks and inodes told at the end are those that lie there."""
    _, mount = origin.files("agree", 50, 5 * KIB)
    ran = jobs.run(reading(names_of(mount, 50), 2), path=mount, tier=tier, flags=["--keep"])
    used, inodes = walk_used(home_in(place, tier))
    assert (ran.tier["used_bytes"], ran.tier["used_inodes"]) == (used, inodes)
    du = subprocess.run(["du", "-s", "--block-size=1", home_in(place, tier)], check=True, text=True,
                        stdout=subprocess.PIPE).stdout
    assert int(du.split()[0]) == used
