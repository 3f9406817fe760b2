"""The power goes off behind a run whose tier is on a disk. The disk may then have an entry's name
and length without its bytes."""

import os
import pathlib
import random
import subprocess
import time
import uuid

import pytest

from isolated import Isolated
from jobs import AGE, HOME, Jobs, files_below
from lacking import Lacking
from matrix import record

COUNT, SIZE = 40, 100_000
BIG, PARTS = 11_000_000, 4
BLOCKS = {"STOKER_MAX_FILE": "1M"}  # what is above is cached by blocks
COMMITTED_S = 3  # until the journal of a file system with commit=1 has the names of the entries
BOOT_ID = "/proc/sys/kernel/random/boot_id"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a disk of its own: needs root")


@pytest.fixture
def data(scratch):
    """A covered directory, not on the disk whose power is cut."""
    path = scratch / "data"
    path.mkdir()
    for number in range(COUNT):
        (path / f"file{number:02}").write_bytes(random.Random(number).randbytes(SIZE))
    time.sleep(AGE)
    return path


@pytest.fixture
def big(scratch):
    """A covered directory with one file that is cached by blocks."""
    path = scratch / "big"
    path.mkdir()
    (path / "file").write_bytes(random.Random(1).randbytes(BIG))
    time.sleep(AGE)
    return path


def make_disk(scratch, name="disk"):
    """Returns the image of an empty ext4."""
    image = scratch / name
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    made = subprocess.run(["mkfs.ext4", "-q", image], check=False)
    if made.returncode != 0:
        pytest.skip("needs mkfs.ext4")
    return image


@pytest.fixture
def disk(scratch):
    return make_disk(scratch)


class Machine:
    """A machine from one boot to the next: a place with a boot id, and the disk mounted in it."""

    def __init__(self, build, scratch, disk):
        self._build, self._scratch, self._disk = build, scratch, disk
        self.tier = scratch / "tier"
        self.tier.mkdir(exist_ok=True)
        self._place = Isolated()

    def __enter__(self):
        place = self._place.__enter__()
        boot_id = self._scratch / "boot_id"
        boot_id.write_text(f"{uuid.uuid4()}\n")
        place.run(["mount", "--bind", boot_id, BOOT_ID])
        if place.run(["mount", "-o", "loop,commit=1", self._disk, self.tier], check=False).returncode:
            raise Lacking("no loop mounts")
        self.entries = pathlib.Path(place.path(self.tier / HOME / "tree"))
        self.jobs = Jobs(place, self._build, self._scratch)
        return self

    def __exit__(self, *_):
        self._place.run(["umount", self.tier], check=False)
        self._place.__exit__()

    def read(self, data, env=None):
        """Reads everything, and counts the files whose bytes are wrong."""
        script = 'cd "$0"; for one in *; do cmp -s $one ../copy/$one || echo $one; done'
        copy = data.parent / "copy"
        if not copy.exists():
            subprocess.run(["cp", "-a", data, copy], check=True)
        ran = self.jobs.run(["sh", "-c", script, data], path=data, tier=self.tier, env=env)
        return ran, len(ran.stdout.split())

    def block_files(self):
        return files_below(self.entries.parent / "fill")


def cut_the_power(disk, scratch, name="left"):
    """Copies the disk as it is at this moment, mounted or not."""
    left = scratch / name
    subprocess.run(["cp", "--sparse=always", disk, left], check=True)
    return left


def empty_files(machine):
    """How many entries have their length, and nothing else, on this disk."""
    entries = [path for path in machine.entries.rglob("*;file*") if path.is_file()]
    return sum(path.stat().st_size == SIZE and not any(path.read_bytes()) for path in entries)


def cut_without_bytes(build, scratch, disk):
    """Copies the disk when names of entries have reached it: on a busy machine that takes longer. Returns the copy, and
    how many entries lack their bytes in it; their names may have come later than their bytes, too."""
    for number in range(3):
        time.sleep(COMMITTED_S)
        left = cut_the_power(disk, scratch, f"{disk.name}-{number}")
        with Machine(build, scratch, left) as machine:
            empty = empty_files(machine)
        if empty > COUNT // 2:
            break
    return left, empty


def lose_bytes(build, scratch, data):
    """Returns a disk on which most entries lack their bytes. A sync() of any program on this machine writes them:
    then it takes another disk."""
    for turn in range(5):
        disk = make_disk(scratch, f"disk{turn}")
        with Machine(build, scratch, disk) as machine:
            ran, wrong = machine.read(data)
            assert (ran.fills, wrong) == (COUNT, 0)
            left, empty = cut_without_bytes(build, scratch, disk)
        if empty > COUNT // 2:
            return left, empty
    pytest.fail(f"the power went off too early or too late: {empty} of {COUNT} entries are empty")


def test_entries_whose_bytes_never_reached_the_disk(build, scratch, data):
    left, empty = lose_bytes(build, scratch, data)
    with Machine(build, scratch, left) as machine:
        ran, wrong = machine.read(data)
        assert wrong == 0
        assert ran.fills >= empty
        again, wrong = machine.read(data)
        assert (again.hits, wrong) == (COUNT, 0)
    record("Kills", "power cut with a tier on a disk", "",
           f"{empty} of {COUNT} entries had lost their bytes", "same")


def test_entries_that_the_disk_has(build, scratch, data, disk):
    """They are served after the next start, and need to prove it but once."""
    with Machine(build, scratch, disk) as machine:
        machine.read(data)
    for _ in range(2):
        with Machine(build, scratch, disk) as machine:
            ran, wrong = machine.read(data)
            assert (ran.hits, ran.fills, wrong) == (COUNT, 0, 0)
    with Machine(build, scratch, disk) as machine:
        spoil(machine, "file07")
        ran, wrong = machine.read(data)
        assert (ran.hits, ran.fills, wrong) == (COUNT - 1, 1, 0)


def spoil(machine, name):
    """One bit of an entry changes on the disk; its length and all fields of stat stay."""
    entry, = machine.entries.rglob(f"*;{name}")
    before = entry.stat()
    with open(entry, "r+b") as file:
        file.seek(SIZE // 2)
        byte = file.read(1)[0]
        file.seek(SIZE // 2)
        file.write(bytes([byte ^ 1]))
    os.utime(entry, ns=(before.st_atime_ns, before.st_mtime_ns))


READER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for line in sys.stdin:
    at, count = map(int, line.split())
    print(len(os.pread(fd, count, at)), flush=True)
"""


def read_part(process, number):
    part = BIG // PARTS
    process.stdin.write(f"{number * part} {part}\n")
    process.stdin.flush()
    assert process.stdout.readline() == f"{part}\n"


def test_a_big_file_when_the_power_goes(build, scratch, big, disk):
    """While its blocks come, when it has just become an entry, and when the disk has its name."""
    lefts = []
    with Machine(build, scratch, disk) as machine:
        line = machine.jobs.command_line(["/usr/bin/python3", "-c", READER, big / "file"],
                                         path=big, tier=machine.tier)
        with machine.jobs.started(line, env=BLOCKS) as process:
            for number in range(PARTS):
                read_part(process, number)
                lefts.append(cut_the_power(disk, scratch, f"left{number}"))
            assert machine.block_files() == [] and len(list(machine.entries.rglob("*;file"))) == 1
            for number in range(2):
                time.sleep(COMMITTED_S)
                lefts.append(cut_the_power(disk, scratch, f"committed{number}"))
    for left in lefts:
        with Machine(build, scratch, left) as machine:
            for _ in range(2):
                ran, wrong = machine.read(big, env=BLOCKS)
                assert wrong == 0, left
            assert ran.hits == 1
            # The disk may have the entry, and not yet that its block file is gone. After a true
            # power cut that file is older than the machine's start.
            for path in machine.block_files():
                os.utime(path, (0, 0))
                machine.read(big, env=BLOCKS)
            assert machine.block_files() == [], left


def test_a_big_entry_that_the_disk_has(build, scratch, big, disk):
    """Its blocks came in any order; it proves itself as others do."""
    with Machine(build, scratch, disk) as machine:
        line = machine.jobs.command_line(["/usr/bin/python3", "-c", READER, big / "file"],
                                         path=big, tier=machine.tier)
        with machine.jobs.started(line, env=BLOCKS) as process:
            for number in (2, 0, 3, 1):
                read_part(process, number)
    for _ in range(2):
        with Machine(build, scratch, disk) as machine:
            ran, wrong = machine.read(big, env=BLOCKS)
            assert (ran.hits, wrong) == (1, 0)
    with Machine(build, scratch, disk) as machine:
        spoil(machine, "file")
        ran, wrong = machine.read(big, env=BLOCKS)
        assert (ran.hits, wrong) == (0, 0)
