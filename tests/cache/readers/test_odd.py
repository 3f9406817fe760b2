"""Odd reads of big files, and files that become others. Every call has its plain result, whether
nothing, some or all of the file is cached."""

import hashlib
import os
import random
import subprocess

import pytest

from harness import BLOCK, PAGES, SMALL, TIER, forget
from jobs import read_line
from origin import settle

SIZE = (3 << 20) + 4321
WAYS = ["lengths", "addresses", "parts", "offsets", "flags", "numbers", "shared", "kernels",
        "streams", "maps", "ring", "signals"]
STATES = {"cold": 0, "some of it": 1 << 20, "all of it": SIZE}


@pytest.fixture(scope="session")
def odd(session_scratch):
    """The program, fortified: its reads are those of __read_chk."""
    program = session_scratch / "odd"
    source = os.path.join(os.path.dirname(__file__), "programs/odd.c")
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-pthread", source, "-o", program], check=True)
    return program


@pytest.fixture
def file(origin):
    """A big file and a small one: (behind the origin, at the origin)."""
    source, mount = origin.directory("odd")
    (source / "big").write_bytes(random.Random(3).randbytes(SIZE))
    (source / "small").write_bytes(random.Random(4).randbytes(3000))
    os.sync()
    settle()
    return source / "big", mount / "big"


def preloaded(jobs, argv, path):
    return jobs.preloaded(argv, path.parent, TIER, SMALL).stdout


def read_some(jobs, path, count):
    if count:
        preloaded(jobs, ["dd", f"if={path}", "of=/dev/null", f"count={count}",
                         "iflag=count_bytes,fullblock", "bs=64K", "status=none"], path)


def assert_same(plain, other):
    pairs = list(zip(plain.splitlines(), other.splitlines()))
    assert [one for one, _ in pairs] == [two for _, two in pairs]
    assert plain == other


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("way", WAYS)
def test_what_calls_say(jobs, file, odd, way, state):
    argv = [odd, way, file[1], file[1].with_name("small")]
    plain = jobs.place.run(argv).stdout
    assert plain == jobs.place.run(argv).stdout, "it must say the same twice"
    read_some(jobs, file[1], STATES[state])
    assert_same(plain, preloaded(jobs, argv, file[1]))


@pytest.mark.parametrize("state", STATES)
def test_what_is_written_in_between(jobs, file, odd, state):
    argv = [odd, "both", file[1], file[1].with_name("small")]
    before = file[0].read_bytes()
    plain = jobs.place.run(argv).stdout
    file[0].write_bytes(before)
    os.sync()
    settle()
    read_some(jobs, file[1], STATES[state])
    assert_same(plain, preloaded(jobs, argv, file[1]))


# ---- numbers that come to mean another file ----

READ_ON = """
import os, sys
for line in sys.stdin:
    path, offset = line.split()
    fd = os.open(path, os.O_RDONLY)
    print(os.pread(fd, 16, int(offset)).hex(), flush=True)
    os.close(fd)
"""


class Follower:
    def __init__(self, process):
        self._process = process

    def read(self, path, offset):
        self._process.stdin.write(f"{path} {offset}\n")
        self._process.stdin.flush()
        return bytes.fromhex(self._process.stdout.readline().strip())


def with_inode_of(gone, directory):
    """A new file that has the inode number of one that has been removed, or None."""
    content = random.Random(8).randbytes(SIZE)
    number = os.stat(gone).st_ino
    os.unlink(gone)
    for attempt in range(200):
        new = directory / f"new{attempt}"
        new.write_bytes(content)
        if new.stat().st_ino == number:
            return new
    return None


def test_an_inode_that_is_given_to_another_file(jobs, scratch):
    """The name is not covered: the library does not look at it when it is opened."""
    covered, elsewhere = scratch / "covered", scratch / "elsewhere"
    covered.mkdir()
    elsewhere.mkdir()
    (covered / "big").write_bytes(random.Random(3).randbytes(SIZE))
    os.sync()
    settle()
    env = {**jobs.preload_env(covered, TIER), **SMALL}
    with jobs.started(["/usr/bin/python3", "-c", READ_ON], env) as process:
        follower = Follower(process)
        before = (covered / "big").read_bytes()
        assert follower.read(covered / "big", 5000) == before[5000:5016]
        new = with_inode_of(covered / "big", elsewhere)
        if new is None:
            pytest.skip("this file system does not give numbers out again")
        for offset in 5000, BLOCK * 5:
            assert follower.read(new, offset) == new.read_bytes()[offset:offset + 16]


# ---- more of them than there is room for in a table ----

ALL_OPEN = """
import hashlib, os, sys
names = sorted(os.listdir(sys.argv[1]))
fds = [os.open(os.path.join(sys.argv[1], name), os.O_RDONLY) for name in names]
for line in sys.stdin:
    whole = hashlib.md5()
    for fd in fds:
        whole.update(os.pread(fd, 1 << 20, 0))
    print(whole.hexdigest(), flush=True)
"""


@pytest.mark.parametrize("count", [60, 300])
def test_many_files_that_stay_open(jobs, origin, count):
    """As of a data set in many HDF5 files, which a job has all open."""
    source, mount = origin.files("many", count, 150_000)
    whole = hashlib.md5()
    for path in sorted(source.iterdir()):
        whole.update(path.read_bytes())
    env = {**jobs.preload_env(mount, TIER), "STOKER_MAX_FILE": "64K", "STOKER_BLOCK": "64K"}
    with jobs.started(["/usr/bin/python3", "-c", ALL_OPEN, mount], env) as process:
        reads = []
        for _ in range(3):
            forget(mount.iterdir())
            with origin.fs.counting() as counted:
                process.stdin.write("\n")
                process.stdin.flush()
                assert read_line(process) == whole.hexdigest()
            reads.append(counted["read_bytes"])
    assert reads[0] <= count * 150_000 + PAGES and reads[1:] == [0, 0]


# ---- the end of a file alone ----

FOOTER = """
import os, sys
for name in sorted(os.listdir(sys.argv[1])):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        file.seek(-8, 2)
        length = file.read(8)
        file.seek(-5000, 2)
        print(name, (file.read(4000) + length).hex())
"""


def test_a_footer_costs_a_block(jobs, origin):
    """As of Parquet files and zip archives, of which a job first looks at the ends."""
    source, mount = origin.files("footers", 5, SIZE)
    argv = ["/usr/bin/python3", "-c", FOOTER]
    plain = jobs.place.run([*argv, source]).stdout
    with origin.fs.counting() as counted:
        assert preloaded(jobs, [*argv, mount], mount / "any") == plain
    assert counted["read_bytes"] <= 5 * 2 * BLOCK, counted.counts()
