"""Big files are cached block by block: the same bytes, each once from the origin."""

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

import slowfs
from isolated import Isolated
from jobs import HOME, Jobs, files_below, kill_group, wait_for
from origin import settle

MB = 1 << 20
SIZE = 20 * MB + 4321
TIER = "/dev/shm:200M"
SMALL = {"STOKER_MAX_FILE": "1M", "STOKER_WHOLE": "1M"}  # what is above is big
MEDIUM = {"STOKER_WHOLE": "64M"}  # but not too big for a map or a stream
BLOCK = 1 * MB
PAGES = 64 << 10  # the kernel may let some go before they are copied; less than a block
ROUNDS = 200 if os.environ.get("STOKER_ALL") == "1" else 20


@pytest.fixture(scope="module")
def big(session_scratch, programs):
    """The program that reads in every way, fortified: its reads are those of __read_chk."""
    program = session_scratch / "big"
    subprocess.run(["cc", "-O2", "-D_FORTIFY_SOURCE=2", "-D_GNU_SOURCE", "-pthread",
                    programs / "big.c", "-o", program], check=True)
    return program


@pytest.fixture
def file(origin, big):
    """A big file that is not cached yet: (its path at the origin, behind it)."""
    source, mount = origin.directory("big")
    subprocess.run([big, "make", source / "file", str(SIZE)], check=True)
    os.sync()
    settle()
    return mount / "file", source / "file"


def make_another(path, replaced):
    """Another version of a big file: another file in its place, or it is written to here and there."""
    if replaced:
        aside = path.with_name("aside")
        aside.write_bytes(os.urandom(SIZE))
        os.replace(aside, path)
        return
    with open(path, "r+b") as writer:
        for at in MB, SIZE - MB:
            writer.seek(at)
            writer.write(b"new!" * 1000)


def preloaded(jobs, argv, path, tier=TIER, env=None, **more):
    return jobs.preloaded(argv, path.parent, tier, env={**SMALL, **(env or {})}, **more)


def accounts(jobs, build):
    said = jobs.place.run([f"{build}/tests/cache/kills/accounts", f"/dev/shm/{HOME}"])
    return json.loads(said.stdout)


def assert_budget_is_right(jobs, build):
    found = accounts(jobs, build)
    assert found["used"] == found["there"], found


def begin(jobs, path, tier=TIER):
    """One process makes the cache: where many make it at once, what they make aside is counted."""
    preloaded(jobs, ["head", "-c", "1", path], path, tier)


def is_whole(jobs, path):
    """Returns true if an open of the file is an open of an entry."""
    look = f"LD_PRELOAD= readlink /proc/self/fd/3 3<{path}"  # which sees what the shell has opened
    said = preloaded(jobs, ["sh", "-c", look], path).stdout
    return HOME in said


# ---- the same bytes, each once ----

WAYS = [["random", 1, 200, 5], ["random", 8, 60, 6], ["shared", 4], ["threads", 4],
        ["front", 131072], ["front", 5_000_000], ["front", 1000], ["edges"], ["map"], ["stream"],
        ["adopted"]]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way)))
def test_bytes_are_the_same(jobs, file, big, build, way):
    mode, *numbers = way
    begin(jobs, file[0])
    for _ in range(2):
        said = preloaded(jobs, [big, mode, file[0], SIZE, *numbers], file[0])
        assert said.stdout == "good\n"
    assert_budget_is_right(jobs, build)


def test_the_plain_program_says_good(file, big):
    """Without us it finds the same, or the tests above show nothing."""
    for mode, *numbers in WAYS:
        argv = [big, mode, file[0], SIZE, *numbers]
        assert subprocess.run(list(map(str, argv)), capture_output=True, text=True,
                              check=False).stdout == "good\n", mode


@pytest.mark.parametrize("processes, reads", [(8, 100), (64, 20)])
def test_the_origin_gives_each_byte_once(jobs, origin, file, big, processes, reads):
    origin.fs.latency_ms = 1
    with origin.fs.counting() as first:
        preloaded(jobs, [big, "random", file[0], SIZE, processes, reads, 1], file[0])
    assert first["read_bytes"] <= SIZE + PAGES
    with origin.fs.counting() as second:
        preloaded(jobs, [big, "front", file[0], SIZE, 65536], file[0])
    assert 0 <= first["read_bytes"] + second["read_bytes"] - SIZE <= PAGES
    with origin.fs.counting() as third:
        preloaded(jobs, [big, "random", file[0], SIZE, processes, reads, 2], file[0])
        preloaded(jobs, [big, "front", file[0], SIZE, 65536], file[0])
    assert (third["read"], third["open"]) == (0, 0)


EPOCHS = """
import os, random, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for epoch in range(3):
    for at in random.Random(epoch).sample(range(0, int(sys.argv[2]), 65536), k=320):
        os.pread(fd, 65536, at)
    print(epoch, flush=True)
    sys.stdin.readline()
"""


def test_a_descriptor_that_stays_open_is_served_from_the_blocks(jobs, origin, file):
    """As h5py and LMDB keep theirs, for all epochs."""
    env = {**jobs.preload_env(file[0].parent, TIER), **SMALL}
    reads = []
    with jobs.started(["/usr/bin/python3", "-c", EPOCHS, str(file[0]), str(SIZE)], env) as process:
        for _ in range(3):
            with origin.fs.counting() as counted:
                process.stdout.readline()
                origin.fs._control.settled_counts()  # the kernel may be reading ahead
            reads.append(counted["read_bytes"])
            process.stdin.write("\n")
            process.stdin.flush()
    assert SIZE * 0.9 < sum(reads) <= SIZE + PAGES and reads[1:] == [0, 0], reads


def test_a_file_that_becomes_whole_during_an_open(jobs, origin, file, programs, scratch):
    """Another process of the run reads all of it between the look-up and the end of the open."""
    path, behind = file
    library = scratch / "after_open.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", programs / "after_open.c", "-o", library], check=True)
    script = "import hashlib, sys; print(hashlib.md5(open(sys.argv[1], 'rb', 0).read()).hexdigest())"
    shell = f"""head -c 1 {path} >/dev/null
LD_PRELOAD=$LD_PRELOAD:{library} AFTER_OPEN='cat {path} >/dev/null' /usr/bin/python3 -S -c "{script}" {path}"""
    with origin.fs.counting() as counted:
        ran = jobs.run(["sh", "-c", shell], path=path.parent, tier=TIER, env={**SMALL, "STOKER_COMPLETE": "off"})
    assert ran.stdout.strip() == hashlib.md5(behind.read_bytes()).hexdigest()
    assert counted["read_bytes"] <= SIZE


def test_a_whole_file_is_an_entry(jobs, origin, file, big, build):
    assert not is_whole(jobs, file[0])
    preloaded(jobs, [big, "front", file[0], SIZE, 65536], file[0])
    assert is_whole(jobs, file[0])
    assert accounts(jobs, build)["present"] == 1
    with origin.fs.counting() as counted:
        said = preloaded(jobs, ["cmp", file[0], file[1]], file[0])
    assert said.stdout == "" and counted["read"] == 0


@pytest.mark.parametrize("way", ["map", "stream", "adopted"])
def test_what_blocks_cannot_serve_makes_a_medium_file_whole(jobs, origin, file, big, build, way):
    """All that is missing is copied then; the origin gives each byte once."""
    tail = ["/usr/bin/tail", "-c", "1000", file[0]]
    with origin.fs.counting() as counted:
        assert preloaded(jobs, tail, file[0]).returncode == 0
    assert counted["read_bytes"] <= 2 * BLOCK + PAGES and not is_whole(jobs, file[0])
    with origin.fs.counting() as rest:
        said = preloaded(jobs, [big, way, file[0], SIZE], file[0], env=MEDIUM)
    assert said.stdout == "good\n" and is_whole(jobs, file[0])
    # libc reads for itself what was in blocks before it began, and ahead of it
    again = counted["read_bytes"] + 2 * BLOCK if way == "adopted" else 0
    assert counted["read_bytes"] + rest["read_bytes"] <= SIZE + again + PAGES
    assert_budget_is_right(jobs, build)


@pytest.mark.parametrize("way", ["map", "stream", "adopted"])
def test_of_larger_files_maps_and_streams_are_the_origins(jobs, origin, file, big, way):
    assert preloaded(jobs, [big, way, file[0], SIZE], file[0]).stdout == "good\n"
    assert not is_whole(jobs, file[0])
    preloaded(jobs, [big, "front", file[0], SIZE, 65536], file[0])
    with origin.fs.counting() as counted:
        assert preloaded(jobs, [big, way, file[0], SIZE], file[0]).stdout == "good\n"
    assert counted["read"] == 0


def test_a_footer_does_not_wait_for_its_file(jobs, origin, file):
    """With the options as they are."""
    tail = ["/usr/bin/tail", "-c", "1000", file[0]]
    with origin.fs.counting() as counted:
        jobs.preloaded(tail, file[0].parent, TIER)
    assert 0 < counted["read_bytes"] <= 2 * BLOCK + PAGES


NUMBERS = """
import os, sys
os.pread(os.open(sys.argv[1], os.O_RDONLY), 1000, 0)
for epoch in range(3):
    reader, writer = os.pipe()
    os.write(writer, b"x" * 20)
    for _ in range(epoch * 9):
        os.read(reader, 1)
    os.close(reader)
    fd = os.open(sys.argv[1], os.O_RDONLY)
    assert fd == reader
    for at in range(0, 1 << 20, 100_000):
        os.pread(fd, 1000, at)
"""


def test_a_number_that_was_another_files(jobs, origin, file):
    """An answer about it is forgotten when the number becomes a big file's."""
    with origin.fs.counting() as counted:
        preloaded(jobs, ["/usr/bin/python3", "-c", NUMBERS, file[0]], file[0])
    assert counted["read_bytes"] <= BLOCK + PAGES


MAPS = """
import mmap, sys
file = open(sys.argv[1], "rb")
file.read(10)
view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
before = view[:4]
print(sum(sys.argv[2] in line for line in open("/proc/self/maps")))
open(sys.argv[1], "r+b").close()
print(sum(sys.argv[2] in line for line in open("/proc/self/maps")), view[:4] == before)
"""


def test_a_map_is_the_entrys_until_the_file_is_written(jobs, file):
    said = preloaded(jobs, ["/usr/bin/python3", "-c", MAPS, file[0], HOME + "/tree"], file[0],
                     env=MEDIUM)
    assert said.stdout.split() == ["1", "0", "True"]


EXECUTED = """
import mmap, sys
for _ in range(3):
    file = open(sys.argv[1], "rb", buffering=0)
    head = file.read(4096)
    for flags in mmap.MAP_PRIVATE, mmap.MAP_SHARED:
        view = mmap.mmap(file.fileno(), 4096, flags, mmap.PROT_READ | mmap.PROT_EXEC)
        assert view[:] == head
"""


@pytest.mark.parametrize("large", ["100M", "1M"], ids=["small", "big"])
def test_a_map_that_is_to_be_executed(jobs, file, large):
    """Nothing in a container's /dev/shm can be."""
    jobs.place.run(["mount", "-o", "remount,noexec", "/dev/shm"])
    said = preloaded(jobs, ["/usr/bin/python3", "-c", EXECUTED, file[0]], file[0],
                     env={**MEDIUM, "STOKER_MAX_FILE": large})
    assert (said.returncode, said.stderr) == (0, "")
    assert is_whole(jobs, file[0]) == (large == "100M")


def test_a_run_of_the_command(jobs, origin, file, big):
    """The next run finds the entry of the last, which the tier has kept."""
    argv = [big, "front", file[0], SIZE, 65536]
    flags = ["--keep"]
    ran = jobs.run(argv, path=file[0].parent, tier=TIER, flags=flags, env=SMALL)
    assert (ran.stdout, ran.hits) == ("good\n", 0)
    with origin.fs.counting() as counted:
        ran = jobs.run(argv, path=file[0].parent, tier=TIER, flags=flags, env=SMALL)
    assert (ran.stdout, ran.hits, counted["read"]) == ("good\n", 1, 0)


def test_one_that_is_young_is_said_to_be(jobs, file, big):
    """Not that it is large, which is nothing to be changed."""
    ran = jobs.run([big, "front", file[0], SIZE, 65536], path=file[0].parent, tier=TIER,
                   env={**SMALL, "STOKER_MIN_AGE": "3600"})
    assert (ran.stdout, ran.bypassed) == ("good\n", {"young": 1})


def test_on_a_disk(jobs, origin, file, big, scratch, build):
    """An entry on a disk that was made of blocks is found by a later run, without the catalogue."""
    tier = scratch / "tier"
    tier.mkdir()
    argv = [big, "front", file[0], SIZE, 65536]
    for expected in 0, 1:
        ran = jobs.run(argv, path=file[0].parent, tier=f"{tier}:100M", env=SMALL)
        assert (ran.stdout, ran.hits) == ("good\n", expected)
    assert not files_below(tier / HOME / "fill")


def test_blocks_on_a_disk_go_with_their_catalogue(jobs, origin, file, scratch):
    """No process could find them any more."""
    tier = scratch / "tier-of-parts"
    tier.mkdir()
    fill = tier / HOME / "fill"
    ran = jobs.run(["sh", "-c", 'head -c 100000 "$0" >/dev/null && ls "$1"', file[0], fill],
                   path=file[0].parent, tier=f"{tier}:100M",
                   env={**SMALL, "STOKER_COMPLETE": "off"})
    assert ran.stdout.count(";") == 1
    assert files_below(fill) == []


def test_blocks_can_be_left_off(jobs, origin, file, big):
    with origin.fs.counting() as counted:
        for _ in range(2):
            preloaded(jobs, [big, "front", file[0], SIZE, 65536], file[0],
                      env={"STOKER_BLOCK": "0"})
    assert counted["read_bytes"] >= 2 * SIZE


@pytest.mark.parametrize("block", ["64K", "4M", "64M"])
def test_blocks_of_other_sizes(jobs, origin, file, big, build, block):
    begin(jobs, file[0])
    for mode in (["random", 4, 50, 1], ["front", 65536]):
        said = preloaded(jobs, [big, mode[0], file[0], SIZE, *mode[1:]], file[0],
                         env={"STOKER_BLOCK": block})
        assert said.stdout == "good\n"
    assert is_whole(jobs, file[0])
    assert_budget_is_right(jobs, build)


# ---- Python's own readers ----

READERS = """
import hashlib, io, mmap, os, sys, tarfile, zipfile
directory = sys.argv[1]
def show(name, data):
    print(name, len(data), hashlib.md5(data).hexdigest())
for epoch in range(2):
    raw = os.path.join(directory, "raw.bin")
    with open(raw, "rb") as file:
        show("read", file.read())
        file.seek(-1000, 2); show("seek", file.read())
        file.seek(12345); show("line", file.readline(100000))
        buffer = bytearray(70000); file.readinto(buffer); show("readinto", buffer)
    fd = os.open(raw, os.O_RDONLY)
    show("pread", os.pread(fd, 100000, 3000000))
    parts = [bytearray(1000), bytearray(2000)]
    print(os.preadv(fd, parts, 777)); show("preadv", b"".join(parts))
    show("sendfile", os.read(fd, 10) + os.read(fd, 10))
    os.close(fd)
    with zipfile.ZipFile(os.path.join(directory, "set.zip")) as archive:
        for name in archive.namelist()[:4]:
            show(name, archive.read(name))
    with tarfile.open(os.path.join(directory, "set.tar")) as archive:
        for member in list(archive)[:4]:
            show(member.name, archive.extractfile(member).read())
    with open(raw, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        show("mmap", view[1000000:2000000])
    try:
        import numpy
    except ImportError:
        continue
    show("fromfile", numpy.fromfile(raw, dtype="u1", count=3000000, offset=500).tobytes())
    show("memmap", numpy.memmap(raw, mode="r")[5000:90000].tobytes())
    show("load", numpy.load(os.path.join(directory, "array.npy")).tobytes())
    try:
        import h5py
    except ImportError:
        continue
    for name in ("contiguous", "chunked"):
        with h5py.File(os.path.join(directory, "set.h5"), "r") as data:
            show(name, data[name][100:3000:7].tobytes())
"""

MAKE = """
import io, os, random, sys, tarfile, zipfile
directory = sys.argv[1]
draw = random.Random(4)
open(os.path.join(directory, "raw.bin"), "wb").write(draw.randbytes(6_000_000))
with zipfile.ZipFile(os.path.join(directory, "set.zip"), "w") as archive, \\
        tarfile.open(os.path.join(directory, "set.tar"), "w") as tar:
    for number in range(30):
        data = draw.randbytes(100_000)
        archive.writestr(f"{number}.bin", data)
        member = tarfile.TarInfo(f"{number}.bin")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
try:
    import numpy
    numpy.save(os.path.join(directory, "array.npy"), numpy.arange(400_000))
    import h5py
    with h5py.File(os.path.join(directory, "set.h5"), "w") as data:
        values = numpy.random.default_rng(1).integers(0, 255, (4000, 500), dtype="u1")
        data.create_dataset("contiguous", data=values)
        data.create_dataset("chunked", data=values, chunks=(64, 500))
except ImportError:
    pass
"""


def test_pythons_readers_see_the_same(jobs, origin, big):
    source, mount = origin.directory("readers")
    subprocess.run(["/usr/bin/python3", "-c", MAKE, source], check=True)
    os.sync()
    settle()
    reader = ["/usr/bin/python3", "-c", READERS, mount]
    plain = jobs.place.run(reader).stdout
    with origin.fs.counting() as first:
        assert preloaded(jobs, reader, mount / "any").stdout == plain
    assert first["read"] > 0
    assert preloaded(jobs, reader, mount / "any").stdout == plain


SQLITE = """
import sqlite3, sys
data = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(data.execute("select count(*), sum(length(x)) from t").fetchone())
"""


def test_databases_are_the_origins(jobs, origin):
    source, mount = origin.directory("base")
    make = ("import sqlite3, sys; d = sqlite3.connect(sys.argv[1]);"
            "d.execute('create table t (x)');"
            "d.executemany('insert into t values (?)', [(b'x' * 3000,) for _ in range(1000)]);"
            "d.commit()")
    subprocess.run([sys.executable, "-c", make, source / "plain"], check=True)
    os.sync()
    settle()
    for _ in range(2):
        with origin.fs.counting() as counted:
            said = preloaded(jobs, ["/usr/bin/python3", "-c", SQLITE, mount / "plain"],
                             mount / "plain")
        assert said.stdout == "(1000, 3000000)\n" and counted["read"] > 0


# ---- files that change ----

FOLLOW = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for line in sys.stdin:
    what, *numbers = line.split()
    if what == "again":
        fd = os.open(sys.argv[1], os.O_RDONLY)
        print("opened", flush=True)
        continue
    offset, bytes = map(int, numbers)
    try:
        data = os.pread(fd, bytes, offset) if what == "pread" else os.read(fd, bytes)
        print(len(data), data[:4].hex(), data[-4:].hex(), flush=True)
    except OSError as error:
        print("errno", error.errno, flush=True)
"""


class Follower:
    """A process that reads on order."""

    def __init__(self, process):
        self._process = process

    def ask(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def pread(self, offset, count):
        return self.ask(f"pread {offset} {count}")


@pytest.fixture
def follower(jobs, file):
    env = {**jobs.preload_env(file[0].parent, TIER), **SMALL}
    with jobs.started(["/usr/bin/python3", "-c", FOLLOW, str(file[0])], env) as process:
        yield Follower(process)


def shown(path, offset, count):
    with open(path, "rb") as file:
        data = os.pread(file.fileno(), count, offset)
    return f"{len(data)} {data[:4].hex()} {data[-4:].hex()}"


def test_a_file_that_grows(jobs, origin, file, follower):
    """By O_APPEND, behind the origin: what is behind the version's end is asked of that."""
    assert follower.pread(SIZE - 100, 1000) == shown(file[1], SIZE - 100, 1000)
    with open(file[1], "ab") as writer:
        for _ in range(3):
            writer.write(random.randbytes(5000))
            writer.flush()
            end = writer.tell()
            assert follower.pread(SIZE, 100000) == shown(file[1], SIZE, end - SIZE)
    assert follower.pread(5 * MB, 1000) == shown(file[1], 5 * MB, 1000)
    assert follower.ask("again") == "opened"
    assert follower.pread(SIZE - 100, 100000) == shown(file[1], SIZE - 100, 100000)


WRITE = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | int(sys.argv[2]))
os.pwrite(fd, b"new!" * 1000, int(sys.argv[3]))
"""


def test_a_file_that_another_process_writes_is_the_origins(jobs, origin, file, follower):
    """At the next read by a descriptor that was open, of blocks that are there as well."""
    assert follower.pread(0, 5 * MB) == shown(file[1], 0, 5 * MB)
    preloaded(jobs, ["/usr/bin/python3", "-c", WRITE, file[0], "0", str(MB)], file[0])
    assert follower.pread(MB, 4000) == f"4000 {b'new!'.hex()} {b'new!'.hex()}"
    assert follower.pread(9 * MB, 4000) == shown(file[1], 9 * MB, 4000)


def test_a_file_that_is_changed_in_its_place(jobs, origin, file, follower):
    """Behind the origin: the next look finds it, and the blocks that were there are the old ones."""
    assert follower.pread(0, 3 * MB) == shown(file[1], 0, 3 * MB)
    with open(file[1], "r+b") as writer:
        for at in MB, 9 * MB:
            writer.seek(at)
            writer.write(b"new!" * 1000)
    assert follower.pread(9 * MB, 4000) == f"4000 {b'new!'.hex()} {b'new!'.hex()}"
    assert follower.pread(MB, 4000) == f"4000 {b'new!'.hex()} {b'new!'.hex()}"
    settle()
    assert follower.ask("again") == "opened"
    with origin.fs.counting() as counted:
        for _ in range(3):
            assert follower.pread(9 * MB, 4000) == shown(file[1], 9 * MB, 4000)
            assert follower.pread(MB, 4000) == shown(file[1], MB, 4000)
    assert counted["read_bytes"] <= 2 * BLOCK + PAGES


def test_a_file_that_is_cut(jobs, origin, file, follower):
    """Behind the origin: blocks of a version are not mixed with bytes of the next."""
    assert follower.pread(0, 1000) == shown(file[1], 0, 1000)
    os.truncate(file[1], 2 * MB)
    assert follower.pread(10 * MB, 1000) == "0"
    assert follower.pread(MB + 5, 1000) == shown(file[1], MB + 5, 1000)
    assert follower.ask("again") == "opened"
    assert follower.pread(0, 3 * MB) == shown(file[1], 0, 3 * MB)


def test_a_file_that_is_replaced(jobs, origin, file, follower, big):
    assert follower.pread(0, 1000) == shown(file[1], 0, 1000)
    old = shown(file[1], 7 * MB, 5000)
    aside = file[1].with_name("aside")
    aside.write_bytes(random.randbytes(SIZE))
    settle()
    keep = os.open(file[1], os.O_RDONLY)
    os.replace(aside, file[1])
    assert follower.pread(7 * MB, 5000) == old
    os.close(keep)
    assert follower.ask("again") == "opened"
    assert follower.pread(7 * MB, 5000) == shown(file[1], 7 * MB, 5000)


def test_a_version_of_the_next_run(jobs, origin, file, big):
    """Blocks of the old one are no use to it."""
    reader = ["/usr/bin/python3", "-c", "import os,sys;fd=os.open(sys.argv[1],os.O_RDONLY);"
              "print(os.pread(fd,8,5000000).hex())", file[0]]
    for content in (b"A", b"B", b"C"):
        with open(file[1], "r+b") as writer:
            writer.seek(5_000_000)
            writer.write(content * 8)
        settle()
        ran = jobs.run(reader, path=file[0].parent, tier=TIER, flags=["--keep"], env=SMALL)
        assert ran.stdout.strip() == (content * 8).hex()


# ---- trouble ----

@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE], ids=["EIO", "ESTALE"])
def test_errors_of_the_origin_are_the_programs(jobs, origin, file, follower, error):
    assert follower.pread(0, 1000) == shown(file[1], 0, 1000)
    with origin.fs.faults(read=error, read_from=8 * MB):
        assert follower.pread(100, 5000) == shown(file[1], 100, 5000)
        assert follower.pread(12 * MB, 1000) == f"errno {error}"
        assert follower.pread(3 * MB, 1000) == shown(file[1], 3 * MB, 1000)
    assert follower.pread(12 * MB, 1000) == shown(file[1], 12 * MB, 1000)


def test_a_look_that_fails_leaves_the_origin(jobs, origin, file, follower, build):
    """Blocks that were copied before the error are not believed."""
    assert follower.pread(0, 1000) == shown(file[1], 0, 1000)
    with origin.fs.faults(getattr=errno.ESTALE):
        follower.pread(4 * MB, 1000)
    assert follower.pread(4 * MB, 1000) == shown(file[1], 4 * MB, 1000)
    assert_budget_is_right(jobs, build)


def test_a_tier_that_gets_full(jobs, origin, file, big, build):
    begin(jobs, file[0], "/dev/shm:9M")
    for way in (["random", 4, 60, 1], ["front", 65536], ["front", 5_000_000], ["threads", 4]):
        said = preloaded(jobs, [big, way[0], file[0], SIZE, *way[1:]], file[0], tier="/dev/shm:9M")
        assert said.stdout == "good\n"
    found = accounts(jobs, build)
    assert found["used"] == found["there"] and 6 * MB < found["used"][0] * 512 <= 9 * MB, found
    assert not is_whole(jobs, file[0])


def test_a_tier_whose_file_system_is_full(jobs, origin, file, big, build):
    """ENOSPC in the middle of a block."""
    fill_up = "fallocate -l $(($(stat -f -c %a*%S /dev/shm) - 6000000)) /dev/shm/other"
    jobs.place.run(["sh", "-c", fill_up])
    for way in (["random", 4, 60, 1], ["front", 65536]):
        said = preloaded(jobs, [big, way[0], file[0], SIZE, *way[1:]], file[0],
                         tier="/dev/shm:150M")
        assert said.stdout == "good\n"


def test_a_cache_that_is_removed(jobs, origin, file, follower):
    assert follower.pread(0, 3 * MB) == shown(file[1], 0, 3 * MB)
    jobs.place.run(["rm", "-r", f"/dev/shm/{HOME}"])
    assert follower.pread(MB, 1000) == shown(file[1], MB, 1000)
    assert follower.pread(9 * MB, 1000) == shown(file[1], 9 * MB, 1000)


def block_files(jobs):
    fill = jobs.place.path(f"/dev/shm/{HOME}/fill")
    return [name for name in os.listdir(fill) if ";" in name]


def test_blocks_are_cleared(jobs, origin, file, follower, build):
    """A reader of them goes on, and the budget is given back."""
    assert follower.pread(0, 3 * MB) == shown(file[1], 0, 3 * MB)
    assert len(block_files(jobs)) == 1
    before = accounts(jobs, build)["used"][0]
    jobs.stoker("clear", file[0].parent)
    assert block_files(jobs) == []
    assert accounts(jobs, build)["used"][0] <= before - 3 * MB // 512
    for _ in range(2):
        assert follower.pread(MB, 1000) == shown(file[1], MB, 1000)
        assert follower.pread(9 * MB, 1000) == shown(file[1], 9 * MB, 1000)
    assert follower.ask("again") == "opened"
    with origin.fs.counting() as counted:
        for _ in range(3):
            assert follower.pread(6 * MB, 1000) == shown(file[1], 6 * MB, 1000)
    assert counted["read_bytes"] <= BLOCK + PAGES and len(block_files(jobs)) == 1
    assert_budget_is_right(jobs, build)


def test_blocks_stay_when_a_run_begins(jobs, origin, file, follower):
    """Those that no catalogue here knows do not, when they have been left for an hour."""
    fill, left, young = f"/dev/shm/{HOME}/fill", "0123456789ab;" + 16 * "0", "0123456789ab;" + 16 * "1"
    assert follower.pread(0, 3 * MB) == shown(file[1], 0, 3 * MB)
    jobs.place.run(["sh", "-c", f"cd {fill} && touch -d '61 minutes ago' '{left}' && touch '{young}'"])
    assert len(block_files(jobs)) == 3
    jobs.run(["true"], path=file[0].parent, tier=TIER, flags=["--keep"], env=SMALL)
    assert len(block_files(jobs)) == 2 and left not in block_files(jobs)
    with origin.fs.counting() as counted:
        assert follower.pread(MB, 1000) == shown(file[1], MB, 1000)
    assert counted["read"] == 0


def test_blocks_go_when_shared_memory_gets_short(jobs, origin, file, follower):
    """As entries do, while the command watches."""
    assert follower.pread(0, 9 * MB) == shown(file[1], 0, 9 * MB)
    size = "$(($(stat -f -c %a*%S /dev/shm) - 15000000))"
    script = f"fallocate -l {size} /dev/shm/other; for i in $(seq 600); do sleep 0.1; " \
             f"ls /dev/shm/{HOME}/fill | grep -q ';' || break; done; rm /dev/shm/other"
    jobs.run(["sh", "-c", script], path=file[0].parent, tier=TIER, flags=["--keep"], env=SMALL)
    assert block_files(jobs) == []
    assert follower.pread(MB, 1000) == shown(file[1], MB, 1000)


def test_killed_fillers(jobs, origin, file, big, build):
    """SIGKILL in the middle. Later readers have right bytes, and the file gets whole."""
    origin.fs.latency_ms = 1
    env = {**jobs.preload_env(file[0].parent, TIER), **SMALL}
    draw = random.Random(7)
    for number in range(ROUNDS):
        if number % 5 == 0:
            jobs.stoker("clear")
        with jobs.started(["setsid", big, "random", str(file[0]), str(SIZE), "4", "60",
                           str(number)], env) as process:
            wait_for(lambda: find_leader(big, number) or process.poll() is not None)
            time.sleep(draw.uniform(0, 0.3))
            with contextlib.suppress(ProcessLookupError):
                kill_group(process)
        said = preloaded(jobs, [big, "random", file[0], SIZE, 2, 30, number], file[0])
        assert said.stdout == "good\n"
    said = preloaded(jobs, [big, "front", file[0], SIZE, 65536], file[0])
    assert said.stdout == "good\n" and is_whole(jobs, file[0])
    assert_next_run_counts(jobs, build, file)


# Each of these may happen to readers while they read.
TROUBLES = ("EIO", "ESTALE", "a look that fails", "no room", "removed", "nothing")


class Trouble:
    """One kind of trouble that comes and goes, while it is entered."""

    def __init__(self, jobs, origin, kind):
        self._jobs, self._origin, self._kind = jobs, origin, kind
        self._faults = contextlib.ExitStack()

    def __enter__(self):
        faults = {"EIO": {"read": errno.EIO}, "ESTALE": {"read": errno.ESTALE},
                  "a look that fails": {"getattr": errno.ESTALE}}.get(self._kind)
        if faults:
            self._faults.enter_context(self._origin.fs.faults(**faults))
        elif self._kind == "no room":
            self._jobs.place.run(["sh", "-c", "cat /dev/zero >/dev/shm/other"], check=False)
        elif self._kind == "removed":
            self._jobs.stoker("clear")
        return self

    def __exit__(self, *_):
        self._faults.close()
        self._jobs.place.run(["rm", "-f", "/dev/shm/other"])


def test_kills_in_the_middle_of_trouble(jobs, origin, file, big, build):
    """Some readers are killed while the origin fails or the tier is full. The rest see right bytes
    or the origin's errors, and all is well afterwards."""
    origin.fs.latency_ms = 1
    env = {**jobs.preload_env(file[0].parent, TIER), **SMALL}
    killed = 0
    begin(jobs, file[0])
    for number in range(ROUNDS):
        draw = random.Random(number)
        with contextlib.ExitStack() as stack:
            victim, others = (stack.enter_context(jobs.started(
                ["setsid", big, "rough", str(file[0]), str(SIZE), str(count), str(reads),
                 str(seed)], env)) for count, reads, seed in
                ((4, 10_000, 2 * number), (3, 60, 2 * number + 1)))
            wait_for(lambda: find_leader(big, 2 * number))
            time.sleep(draw.uniform(0, 0.2))
            with Trouble(jobs, origin, TROUBLES[number % len(TROUBLES)]):
                time.sleep(draw.uniform(0.02, 0.1))
                killed += victim.poll() is None
                with contextlib.suppress(ProcessLookupError):
                    kill_group(victim)
                time.sleep(draw.uniform(0.02, 0.1))
            said = others.communicate(timeout=60)[0]
            assert said == "good\n", (number, said)
    assert killed > ROUNDS // 2
    said = preloaded(jobs, [big, "front", file[0], SIZE, 65536], file[0])
    assert said.stdout == "good\n" and is_whole(jobs, file[0])
    assert_next_run_counts(jobs, build, file)


@pytest.fixture
def unbuffered(origin, build):
    """Mounts the same source past the kernel's pages: a read gives exactly the server's bytes. (The
    kernel fills the page of a file's end with zeros, and shows them when the file has grown
    meanwhile.)"""
    with slowfs.SlowFS(origin.source, binary=str(build / "slowfs"), attr_timeout=0,
                       entry_timeout=0, direct_io=True) as fs, Isolated() as place:
        yield fs, place


def test_a_file_that_grows_and_is_cut_under_its_readers(unbuffered, origin, file, big, build,
                                                        scratch):
    """Behind the origin, by O_APPEND and truncate: its bytes follow from their offsets in every
    version, so nothing else may ever be read."""
    jobs = Jobs(unbuffered[1], build, scratch)
    file = (pathlib.Path(unbuffered[0].mountpoint) / file[1].relative_to(origin.source), file[1])
    longer = file[1].with_name("longer")
    subprocess.run([big, "make", longer, str(2 * SIZE)], check=True)
    content = longer.read_bytes()
    env = {**jobs.preload_env(file[0].parent, TIER), **SMALL}
    draw = random.Random(3)
    line = [big, "rough", str(file[0]), str(2 * SIZE), "4", "1500", "9"]
    with jobs.started(line, env) as readers, open(file[1], "ab", buffering=0) as writer:
        while readers.poll() is None:
            end = writer.seek(0, os.SEEK_END)
            if end > 2 * SIZE - 3 * MB or draw.random() < 0.1:
                os.truncate(file[1], draw.randrange(2 * MB, end))
            else:
                writer.write(content[end:end + draw.randrange(1, 2 * MB)])
            time.sleep(draw.uniform(0, 0.05))
        assert readers.communicate()[0] == "good\n"
    size = file[1].stat().st_size
    settle()
    for mode in (["random", 2, 50, 1], ["front", 65536]):
        said = preloaded(jobs, [big, mode[0], file[0], size, *mode[1:]], file[0])
        assert said.stdout == "good\n"
    assert_next_run_counts(jobs, build, file)


def test_an_origin_whose_reads_are_short(unbuffered, origin, file, big, build, scratch):
    """It gives less than is asked for; what is cached of it is whole."""
    fs, place = unbuffered
    jobs = Jobs(place, build, scratch)
    path = pathlib.Path(fs.mountpoint) / file[1].relative_to(origin.source)
    with fs.faults(read_most=10_000):
        for argv in (["rough", 4, 60, 3], ["front", 65536]):
            said = preloaded(jobs, [big, argv[0], path, SIZE, *argv[1:]], path)
            assert said.stdout == "good\n"
        assert is_whole(jobs, path)


def find_leader(program, number):
    """The group of that program's processes, which lead a session of their own."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                words = line.read().split(b"\0")
            if words[0] == os.fsencode(program) and words[-2] == b"%d" % number:
                return os.getpgid(int(pid))
        except (OSError, IndexError):
            continue
    return None


def assert_next_run_counts(jobs, build, file, tier=TIER):
    look = f"{build}/tests/cache/kills/accounts /dev/shm/{HOME}"
    ran = jobs.run(["sh", "-c", look], path=file[0].parent, tier=tier, flags=["--keep"], env=SMALL)
    found = json.loads(ran.stdout)
    assert found["used"] == found["there"], found


@pytest.mark.parametrize("way", [["random", 1, 500, 4242], ["front", SIZE]],
                         ids=["anywhere", "all at once"])
def test_a_stopped_filler_holds_nobody_up(jobs, origin, file, big, way):
    """However many blocks it has under way."""
    origin.fs.latency_ms = 20
    env = {**jobs.preload_env(file[0].parent, TIER), **SMALL}
    argv = [str(big), way[0], str(file[0]), *map(str, [SIZE, *way[1:]])]
    with jobs.started(["setsid", *argv], env), origin.fs.counting() as counted:
        group = wait_for(lambda: find_leader(big, way[-1]))
        wait_for(lambda: counted["read_bytes"] > MB)
        os.killpg(group, signal.SIGSTOP)
        try:
            origin.fs.latency_ms = 0
            said = preloaded(jobs, [big, "front", file[0], SIZE, 65536], file[0], timeout=20)
            assert said.stdout == "good\n" and is_whole(jobs, file[0])
        finally:
            os.killpg(group, signal.SIGCONT)
