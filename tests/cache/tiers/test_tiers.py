"""Several tiers: the first that has room is filled, the first that has a file serves it."""

import contextlib
import hashlib
import os
import random
import re
import sys

import pytest

from jobs import HOME, kill_group, read_line, wait_for
from origin import settle
from test_budget import Sampler, mount_tmpfs
from usage import walk_used
from volumes import mount_ext4

KIB, MIB = 1 << 10, 1 << 20
COUNT, SIZE = 400, 32 * KIB
QUARTER = COUNT * SIZE // 4

# Reads the files in another order in each epoch, and prints the sum of what it read, file by file.
READER = r"""
import hashlib, random, sys
seed, epochs, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
for epoch in range(epochs):
    sums = {}
    for name in random.Random(seed + epoch).sample(files, len(files)):
        with open(name, "rb") as file:
            sums[name] = hashlib.sha256(file.read()).hexdigest()
    print(hashlib.sha256("".join(sums[name] for name in files).encode()).hexdigest(), flush=True)
"""


def reader(files, epochs=4, seed=0):
    return [sys.executable, "-c", READER, seed, epochs, *files]


def sum_of(source, count=COUNT):
    """Returns the line that the reader prints for each epoch."""
    each = [hashlib.sha256((source / f"file{number:04}").read_bytes()).hexdigest()
            for number in range(count)]
    return hashlib.sha256("".join(each).encode()).hexdigest()


class Set:
    """A data set and two tiers: memory, where no catalogue lies, and a disk."""

    def __init__(self, place, origin, scratch):
        self.source, self.mount = origin.files("tiers", COUNT, SIZE)
        self.files = [self.mount / f"file{number:04}" for number in range(COUNT)]
        self.memory, self.disk = scratch / "memory", scratch / "disk"
        self.memory.mkdir()
        self.disk.mkdir()
        mount_tmpfs(place, self.memory)
        self._place = place

    def tiers(self, memory=QUARTER, disk=QUARTER):
        return f"{self.memory}:{memory},{self.disk}:{disk}"

    def home(self, tier):
        return self._place.path(f"{tier}/{HOME}")

    def names_in(self, tier):
        """The files that have an entry there, each with the entry's inode."""
        found = {}
        for directory, _, names in os.walk(f"{self.home(tier)}/tree"):
            for name in names:
                if name[12:13] == ";" and name[13:]:
                    found[name[13:]] = os.lstat(f"{directory}/{name}").st_ino
        return found


@pytest.fixture
def data(place, origin, scratch):
    return Set(place, origin, scratch)


# Files that the command reads ahead are hits of the first epoch, too.
OWN_FILLS = {"STOKER_AHEAD": "off"}


def check_shares(ran, first=0.25, second=0.25, epochs=(2, 3, 4)):
    """Checks each later epoch, and the tiers' shares of all of them, which do not move."""
    for number in epochs:
        epoch = ran.epoch(number)
        assert epoch["opens"] == COUNT
        assert abs(epoch["hits"] / COUNT - (first + second)) <= 0.01, epoch
    for tier, share in zip(ran.tiers, (first, second)):
        assert abs(tier["hits"] / len(epochs) / COUNT - share) <= 0.01, tier


def test_each_serves_its_share_and_none_exceeds_its_budget(jobs, data):
    """Data twice the sum of the budgets."""
    with Sampler(data.home(data.memory)) as memory, Sampler(data.home(data.disk)) as disk:
        ran = jobs.run(reader(data.files), path=data.mount, tier=data.tiers(), env=OWN_FILLS)
    check_shares(ran)
    assert ran.stdout.split() == [sum_of(data.source)] * 4
    assert memory.looks > 5 and disk.looks > 5
    assert 0.9 * QUARTER < memory.most_bytes <= QUARTER
    assert 0.9 * QUARTER < disk.most_bytes <= QUARTER
    for tier in ran.tiers:
        assert tier["used_bytes"] <= tier["budget_bytes"] == QUARTER
    assert ran.bypassed == {"budget": ran.opens - ran.hits - ran.fills}
    assert not os.path.exists(data.home(data.memory))  # gone with the run, the other one stays
    assert len(data.names_in(data.disk)) >= 0.24 * COUNT


def foretold(jobs, data):
    """Returns the lines that a run prints before it begins, without a look at the directory that a
    busy machine cut short."""
    for _ in range(20):
        lines = jobs.run(["true"], path=data.mount, tier=data.tiers()).stderr.splitlines()
        if "after a short look" not in lines[2]:
            break
    return lines


def test_what_is_said(jobs, data):
    """Before the run what fits where, and afterwards what was."""
    lines = foretold(jobs, data)
    assert f"then in {data.disk}/{HOME}, at most 3.1 MiB" in lines[1]
    share = r"about 25% of its opens from \S+/memory/\S+, 25% from \S+/disk/\S+, 50% from (\S+) "
    told = re.search(share + "itself", lines[2])
    assert told and told[1] == str(data.mount) and f"12.5 MiB in {COUNT} files" in lines[2]
    ran = jobs.run(reader(data.files), path=data.mount, tier=data.tiers(), env=OWN_FILLS)
    for tier in (data.memory, data.disk):
        told = re.search(rf"^  {tier}/{HOME} served (\d+) opens \((\S+)%\)", ran.stderr, re.M)
        assert abs(int(told[1]) / COUNT / 3 - 0.25) <= 0.01 and abs(float(told[2]) - 18.7) <= 1


def test_what_is_said_of_big_files(jobs, data):
    """A big file is served without hits: shares are those of bytes before the run, and none afterwards."""
    big = {"STOKER_MAX_FILE": str(SIZE - 1), **OWN_FILLS}
    for _ in range(20):
        ran = jobs.run(reader(data.files[:20]), path=data.mount, tier=data.tiers(), env=big)
        if "after a short look" not in ran.stderr:
            break
    assert "% of its bytes from" in ran.stderr and "of its opens" not in ran.stderr
    for tier in (data.memory, data.disk):
        assert re.search(rf"^  {tier}/{HOME} served \d+ opens, ", ran.stderr, re.M)


def test_the_look_before_the_run_is_short(jobs, data, origin):
    """The forecast of a slow origin covers as much as was seen."""
    origin.fs.latency_ms = 100
    try:
        ran = jobs.run(["true"], path=data.mount, tier=data.tiers())
    finally:
        origin.fs.latency_ms = 0
    assert re.search(r"holds at least .* in \d files \(.*\); there is room for 6\.", ran.stderr)


def test_nothing_is_moved(jobs, data):
    """An entry on the disk is served from there, even if there comes to be room in memory."""
    jobs.run(reader(data.files, 1), path=data.mount, tier=data.tiers())
    before = data.names_in(data.disk)
    ran = jobs.run(reader(data.files, 3, seed=7), path=data.mount,
                   tier=data.tiers(memory=COUNT * SIZE * 2), flags=["--keep"])
    assert len(before) > 0.24 * COUNT and data.names_in(data.disk) == before
    assert not set(before) & set(data.names_in(data.memory))
    assert len(before) + len(data.names_in(data.memory)) == COUNT
    assert ran.epoch(2)["hits"] == ran.epoch(3)["hits"] == COUNT
    assert ran.tiers[1]["hits"] == 3 * len(before)


def test_by_the_environment_alone(jobs, data):
    """Without the command, which says nothing and removes nothing."""
    expected = [sum_of(data.source)] * 2
    for _ in range(2):
        done = jobs.preloaded(reader(data.files, 2), data.mount, tier=data.tiers())
        assert done.stdout.split() == expected and done.stderr == ""
    for tier in (data.memory, data.disk):
        assert walk_used(data.home(tier))[0] <= QUARTER
        assert abs(len(data.names_in(tier)) / COUNT - 0.25) <= 0.01
    ran = jobs.run(reader(data.files, 1), path=data.mount, tier=data.tiers())
    assert abs(ran.hits / COUNT - 0.5) <= 0.01


def test_the_variable_does_as_the_flag(jobs, data):
    ran = jobs.run(reader(data.files, 2), path=data.mount, env={"STOKER_TIERS": data.tiers(), **OWN_FILLS})
    check_shares(ran, epochs=(2,))
    flags = [f"--tier={one}" for one in data.tiers().split(",")]
    ran = jobs.run(reader(data.files, 2), path=data.mount, flags=flags,
                   env={"STOKER_TIERS": "/no/such"})
    assert abs(ran.epoch(2)["hits"] / COUNT - 0.5) <= 0.01
    said = jobs.stoker("env", f"--path={data.mount}", *flags).stdout
    assert f"export STOKER_TIERS='{data.tiers()}'\n" in said


def test_two_jobs_at_once(jobs, data):
    """Other orders, the same tiers: together they stay within the budgets, and fill each once."""
    with contextlib.ExitStack() as stack:
        samplers = [stack.enter_context(Sampler(data.home(tier)))
                    for tier in (data.memory, data.disk)]
        lines = [jobs.command_line(reader(data.files, 4, seed), data.mount, data.tiers())
                 for seed in (1, 2)]
        running = [stack.enter_context(jobs.started(line)) for line in lines]
        said = [process.communicate() for process in running]
    assert [out.split() for out, _ in said] == [[sum_of(data.source)] * 4] * 2
    for sampler in samplers:
        assert sampler.most_bytes <= QUARTER
    assert not set(data.names_in(data.disk)) & set(data.names_in(data.memory))


def test_a_job_with_other_tiers_joins(jobs, data, scratch):
    """It is served from what another has filled, wherever that lies, and fills its own."""
    own = scratch / "own"
    own.mkdir()
    script = f"{READER}\nsys.stdin.readline()\n"
    line = jobs.command_line([sys.executable, "-c", script, 0, 1, *data.files], data.mount,
                             data.tiers())
    with jobs.started(line) as first:
        read_line(first)
        ran = jobs.run(reader(data.files, 2), path=data.mount, tier=f"{own}:{4 * QUARTER}", env=OWN_FILLS)
        first.communicate("go\n")
    assert ran.stdout.split() == [sum_of(data.source)] * 2
    assert ran.epoch(2)["hits"] == COUNT
    assert abs(ran.epoch(1)["hits"] / COUNT - 0.5) <= 0.01
    assert [tier["path"] for tier in ran.tiers] == [f"{own}/{HOME}"]
    assert abs(ran.tiers[0]["hits"] / COUNT - 0.5) <= 0.01


def test_killed_in_the_middle(jobs, data, place):
    """The next run is within the budgets, and serves what is right."""
    for seed in range(2):
        line = jobs.command_line(reader(data.files, 50, seed), data.mount, data.tiers())
        with jobs.started(line, start_new_session=True) as process:
            wait_for(lambda: len(data.names_in(data.disk)) > 10)
            kill_group(process)
    with Sampler(data.home(data.memory)) as memory, Sampler(data.home(data.disk)) as disk:
        ran = jobs.run(reader(data.files), path=data.mount, tier=data.tiers(), env=OWN_FILLS)
    assert ran.stdout.split() == [sum_of(data.source)] * 4
    # All epochs count, as a tier that is full may have no room to number them. In the first, the
    # entries that were left hit. The killed runs had announced a little.
    assert 3 * 0.48 <= ran.hits / COUNT <= 4 * 0.5
    assert memory.most_bytes <= QUARTER and disk.most_bytes <= QUARTER


def test_a_tier_that_gets_full_goes_on_to_the_next(jobs, data, place):
    """Another program takes the file system of the first one."""
    place.run(["fallocate", "-l", "62M", data.memory / "of-another"])
    ran = jobs.run(reader(data.files, 2), path=data.mount,
                   tier=data.tiers(memory=16 * MIB, disk=32 * MIB))
    assert ran.stdout.split() == [sum_of(data.source)] * 2
    assert ran.epoch(2)["hits"] == COUNT
    assert ran.tiers[0]["hits"] < 0.2 * COUNT and ran.tiers[1]["hits"] > 0.8 * COUNT
    assert ran.json["bypassed"] == {}


def checks_in(home):
    """Returns the checksum by which each entry there proves itself after a restart of the
    machine."""
    return {name[13:]: os.getxattr(f"{directory}/{name}", "user.stoker.check")
            for directory, _, names in os.walk(f"{home}/tree") for name in names
            if name[12:13] == ";" and name[13:]}


def test_a_disk_that_gets_full_in_the_middle_of_a_copy(jobs, data, origin, place, scratch):
    """The room cannot be reserved beforehand. The next reader's entry is whole, and proves it."""
    count, size, first = 4, 2 * MIB, scratch / "first"
    source, mount = origin.files("middle", count, size)
    command = reader([mount / f"file{number:04}" for number in range(count)], 2)
    first.mkdir()
    mount_ext4(place, first, scratch, "16M", ["^extents", "^64bit", "^has_journal"])
    room = os.statvfs(place.path(first))
    with open(place.path(first) + "/of-another", "wb") as file:
        file.write(bytes(room.f_bfree * room.f_bsize - 7 * size // 4))
    ran = jobs.run(command, path=mount, tier=f"{first}:8M,{data.disk}:16M")
    assert ran.stdout.split() == [sum_of(source, count)] * 2
    assert [tier["hits"] for tier in ran.tiers] == [1, 3]
    told = checks_in(data.home(data.disk))
    assert jobs.stoker("clear", f"--tier={data.disk}").stdout.startswith("removed ")
    jobs.run(command, path=mount, tier=f"{data.disk}:16M")
    right = checks_in(data.home(data.disk))
    assert len(told) == 3 and told == {name: right[name] for name in told}


def test_a_tier_that_is_full_from_the_start_is_done_without(jobs, data, place):
    place.run(["sh", "-c", "cat /dev/zero >$0/zeroes; true", data.memory])
    ran = jobs.run(reader(data.files, 2), path=data.mount, tier=data.tiers(disk=32 * MIB))
    assert f"--tier {data.memory} is full: going on without it" in ran.stderr
    assert ran.epoch(2)["hits"] == COUNT
    assert [tier["path"] for tier in ran.tiers] == [f"{data.disk}/{HOME}"]


def test_warming_fills_both(jobs, data):
    flags = [f"--tier={one}" for one in data.tiers().split(",")]
    dry = jobs.stoker("warm", "--dry-run", *flags, data.mount).stderr
    assert re.search(rf"{data.memory}/{HOME} has room for \S+ MiB\n", dry)
    assert re.search(rf"{data.disk}/{HOME} has room for \S+ MiB: 6\.\d MiB too little", dry)
    done = jobs.stoker("warm", *flags, data.mount)
    assert done.returncode == 0, done.stderr
    for tier in (data.memory, data.disk):
        assert abs(len(data.names_in(tier)) / COUNT - 0.25) <= 0.01
    ran = jobs.run(reader(data.files, 1), path=data.mount, tier=data.tiers())
    assert abs(ran.hits / COUNT - 0.5) <= 0.01 and ran.fills == 0
    shown = jobs.stoker("ls").stdout
    assert f"{data.memory}/{HOME}: " in shown and f"{data.disk}/{HOME}: " in shown
    checked = jobs.stoker("verify")
    assert checked.returncode == 0, checked
    assert int(re.match(r"(\d+) copies right", checked.stdout)[1]) >= 0.48 * COUNT
    assert jobs.stoker("clear", f"--tier={data.disk}", data.mount).returncode == 0
    assert data.names_in(data.disk) == {} and data.names_in(data.memory) != {}
    assert jobs.stoker("clear").returncode == 0
    assert not os.path.exists(data.home(data.memory)) and not os.path.exists(data.home(data.disk))


def test_old_versions_go_from_each(jobs, data):
    """They would else keep the place of what is read now."""
    jobs.run(reader(data.files, 1), path=data.mount, tier=data.tiers(), flags=["--keep"])
    for number in range(COUNT):
        path = data.source / f"file{number:04}"
        path.write_bytes(random.Random(-number - 1).randbytes(SIZE))
    settle()
    ran = jobs.run(reader(data.files, 4), path=data.mount, tier=data.tiers(), flags=["--keep"])
    assert ran.stdout.split() == [sum_of(data.source)] * 4
    for tier in (data.memory, data.disk):
        assert walk_used(data.home(tier))[0] <= QUARTER
    assert abs(ran.epoch(4)["hits"] / COUNT - 0.5) <= 0.02


BIG = 12 * MIB
BLOCKS = r"""
import hashlib, os, random, sys
piece, files = 1 << 20, [os.open(name, os.O_RDONLY) for name in sys.argv[1:]]
places = [(fd, at) for fd in files for at in range(0, os.fstat(fd).st_size, piece)]
for epoch in range(2):
    got = {}
    for fd, at in random.Random(epoch).sample(places, len(places)):
        got[fd, at] = os.pread(fd, piece, at)
    print(hashlib.sha256(b"".join(got[place] for place in places)).hexdigest())
"""


def test_big_files_lie_whole_in_one_tier_each(jobs, data, origin):
    """All are open from the start: what has been begun in a tier has its room there."""
    source, mount = origin.files("big", 3, BIG)
    names = [f"file{number:04}" for number in range(3)]
    expected = hashlib.sha256(b"".join((source / name).read_bytes() for name in names)).hexdigest()
    ran = jobs.run([sys.executable, "-c", BLOCKS, *(mount / name for name in names)], path=mount,
                   tier=data.tiers(memory=20 * MIB, disk=40 * MIB), flags=["--keep"])
    assert ran.stdout.split() == [expected] * 2
    assert list(data.names_in(data.memory)) == names[:1]
    assert sorted(data.names_in(data.disk)) == names[1:]
    assert ran.blocks["bytes_origin"] + ran.finished["bytes"] <= 3 * BIG
    ran = jobs.run(["sh", "-c", 'cat "$@" >/dev/null', "sh", *(mount / name for name in names)], path=mount,
                   tier=data.tiers(memory=20 * MIB, disk=40 * MIB))
    assert ran.hits == 3 and [tier["hits"] for tier in ran.tiers] == [1, 2]
