"""stoker warm: a job behind it finds everything, and nothing is read twice."""

import contextlib
import errno
import fcntl
import glob
import os
import pathlib
import re
import signal
import struct
import subprocess

import pytest

from jobs import HOME, drafts, in_bytes, reading, wait_for
from lacking import Lacking
from origin import settle
from usage import walk_used
from volumes import mount_ext4

COUNT, SIZE = 60, 30_000
SLOWLY = 15  # ms for each operation


@pytest.fixture
def data(origin):
    """(the directory behind the origin, at the origin, its files there)."""
    source, mount = origin.files("warm", COUNT, SIZE)
    return source, mount, [mount / f"file{number:04}" for number in range(COUNT)]


class Warmed:
    """The result of one `stoker warm`."""

    def __init__(self, status, stderr):
        self.status, self.stderr = status, stderr
        told = re.search(r"^stoker: (\d+) files? \(.*\) filled in .*; (\d+) (?:was|were) there$", stderr,
                         re.M)
        none = re.search(r"^stoker: nothing was filled; (\d+) (?:file was|files were) there$", stderr, re.M)
        assert told or none, stderr
        self.filled, self.present = (int(told[1]), int(told[2])) if told else (0, int(none[1]))

    def said(self, words):
        """The number before these words, or 0."""
        told = re.search(rf"^  (?:not cached: )?(\d+) {re.escape(words)}", self.stderr, re.M)
        return int(told[1]) if told else 0


def warm(jobs, *arguments, status=0, **more):
    done = jobs.stoker("warm", *arguments, **more)
    assert done.returncode == status and done.stdout == "", done.stderr
    return Warmed(done.returncode, done.stderr)


def entries(place, tier="/dev/shm"):
    """The files that a tier has entries of, below their roots."""
    found, root = set(), b""
    for directory, _, names in os.walk(os.fsencode(place.path(f"{tier}/{HOME}/tree"))):
        inside = root and directory.startswith(root + b"/")
        root = directory if b";origin" in names and not inside else root
        found |= {os.path.relpath(os.path.join(directory, name.split(b";", 1)[1]), root)
                  for name in names if name[12:13] == b";"}
    return found


# ---- what a job finds ----

@pytest.mark.parametrize("on_disk", [False, True])
def test_the_job_behind_it_reads_nothing(jobs, origin, data, scratch, on_disk):
    _, mount, files = data
    tier = ["--tier", scratch] if on_disk else []
    with origin.fs.counting() as counted:
        warmed = warm(jobs, mount, *tier)
    assert (warmed.filled, warmed.present) == (COUNT, 0)
    assert (counted["open"], counted["read_bytes"]) == (COUNT, COUNT * SIZE)
    with origin.fs.counting() as counted:
        ran = jobs.run(reading(files, 2), path=mount, tier=scratch if on_disk else None)
    assert (ran.hits, ran.fills) == (2 * COUNT, 0)
    assert (counted["open"], counted["read"]) == (0, 0)
    assert counted["getattr_file"] + counted["lookup_file"] <= 2 * COUNT  # one look at each


def test_it_stays_until_it_is_cleared(jobs, place, data):
    _, mount, files = data
    assert "until `stoker clear`" in warm(jobs, mount).stderr
    jobs.run(reading(files, 1), path=mount)
    assert len(entries(place)) == COUNT
    assert jobs.stoker("clear").stdout.startswith("removed ")
    assert os.listdir(place.path("/dev/shm")) == []


def test_what_is_there_costs_one_look(jobs, origin, data):
    _, mount, _ = data
    warm(jobs, mount)
    with origin.fs.counting() as counted:
        warmed = warm(jobs, mount)
    assert (warmed.filled, warmed.present) == (0, COUNT)
    assert (counted["open"], counted["read"]) == (0, 0)
    assert counted["getattr_file"] + counted["lookup_file"] <= 2 * COUNT


def test_a_part_of_what_the_job_covers(jobs, data, place):
    source, mount, _ = data
    (source / "below").mkdir()
    (source / "below" / "one").write_bytes(b"1" * 5000)
    settle()
    assert warm(jobs, "--path", mount, mount / "below").filled == 1
    assert warm(jobs, mount / "file0003", f"--path={mount}").filled == 1
    assert warm(jobs, mount / "file0004", env={"STOKER_PATHS": mount}).filled == 1
    files = [mount / name for name in ("below/one", "file0003", "file0004")]
    ran = jobs.run(reading(files, 1), path=mount)
    assert (ran.hits, ran.fills) == (3, 0)
    assert warm(jobs, env={"STOKER_PATHS": mount}).filled == COUNT + 1 - 3


def test_one_file_and_several_directories(jobs, origin, data):
    _, mount, files = data
    other = origin.files("warm", 3, 100)[1]
    assert warm(jobs, files[0], other).filled == 4
    assert jobs.run(reading([files[0]], 1), path=files[0]).hits == 1
    assert jobs.run(reading([other / "file0002"], 1), path=other).hits == 1


def test_a_file_that_was_replaced(jobs, data):
    source, mount, files = data
    warm(jobs, mount)
    (source / "new").write_bytes(b"new" * 1000)
    os.replace(source / "new", source / "file0000")
    (source / "file0001").write_bytes(b"longer" * 7000)
    settle()
    ran = jobs.run(["sh", "-c", "cat $0 $1 | md5sum; cat $2 $3 | md5sum", *files[:2],
                    source / "file0000", source / "file0001"], path=mount)
    first, second = ran.stdout.splitlines()
    assert first == second and ran.fills == 2
    (source / "file0002").write_bytes(b"again" * 7000)
    settle()
    warmed = warm(jobs, mount)
    assert (warmed.filled, warmed.present) == (1, COUNT - 1)


def test_names_and_links(jobs, origin, place):
    source, mount = origin.directory("odd")
    names = [b"-dash", b"new\nline", b" space ", b"co:lon", b"semi;colon", b"\xff\xfe", b"back\\",
             b"x" * 242]
    for name in names:
        with open(os.path.join(os.fsencode(source), name), "wb") as file:
            file.write(name)
    (source / "very" / "deep").mkdir(parents=True)
    (source / "very" / "deep" / "file").write_bytes(b"deep")
    os.symlink("very/deep/file", source / "link")
    os.symlink("very", source / "linked")
    os.symlink("nothing", source / "dangling")
    os.link(source / "-dash", source / "hard")
    os.mkfifo(source / "pipe")
    os.symlink("pipe", source / "to-pipe")
    os.symlink("/dev/zero", source / "to-device")
    settle()
    warmed = warm(jobs, mount)
    expected = {*names, b"very/deep/file", b"link", b"hard"}
    assert entries(place) == expected and warmed.filled == len(expected)
    assert warmed.said("links led to directories") == 3 and warmed.said("name led to no file") == 1
    files = [os.path.join(os.fsencode(mount), name) for name in expected]
    ran = jobs.run(["cat", *map(os.fsdecode, files)], path=mount)
    assert (ran.hits, ran.fills) == (len(files), 0)


def test_what_is_not_to_be_cached(jobs, origin, place):
    source, mount = origin.directory("bypassed")
    (source / "large").write_bytes(bytes(range(256)) * 512)
    (source / "empty").touch()
    (source / "some.sqlite").write_bytes(b"x")
    (source / ("y" * 250)).write_bytes(b"x")
    (source / "good").write_bytes(b"x")
    settle()
    warmed = warm(jobs, mount, env={"STOKER_MAX_FILE": "100K"})
    assert entries(place) == {b"good", b"large"} and warmed.filled == 2
    for why in ("empty", "database", "name"):
        assert warmed.said(why) == 1, warmed.stderr


def test_files_that_cannot_be_opened(jobs, origin, data):
    _, mount, _ = data
    with origin.fs.faults(open=errno.EACCES, spared=10):
        warmed = warm(jobs, mount, "--jobs=1")
    assert warmed.filled == 10 and warmed.said("files could not be opened") == COUNT - 10
    assert f"opened, the first: {mount}/" in warmed.stderr and ": Permission denied\n" in warmed.stderr
    with origin.fs.faults(read=errno.EIO, spared=5):
        warmed = warm(jobs, mount, "--jobs=1")
    assert warmed.filled == 5 and warmed.said("changed") == COUNT - 15
    warmed = warm(jobs, mount)
    assert (warmed.filled, warmed.present) == (COUNT - 15, 15)


def test_a_directory_that_is_closed(place, build, scratch, origin, as_root):
    source, mount = origin.files("closed", 2, 100)
    (source / "closed").mkdir(mode=0)
    scratch.chmod(0o755)
    os.chown(scratch, 1000, 1000)
    line = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", build / "stoker", "warm",
            "--tier", scratch, source]
    done = place.run(line, env={"STOKER_MIN_AGE": "0.05"})
    warmed = Warmed(done.returncode, done.stderr)
    assert warmed.filled == 2 and warmed.said("directory could not be read") == 1
    assert f"could not be read: {source}/closed: Permission denied" in warmed.stderr
    assert mount


def test_what_was_cleared_is_filled_again(jobs, data):
    """The catalogue may still say that it is there."""
    _, mount, _ = data
    with jobs.started(jobs.command_line(["cat"], path=mount), stdin=subprocess.PIPE):
        assert warm(jobs, mount).filled == COUNT
        assert f"{COUNT}" in jobs.stoker("clear", mount).stdout
        assert warm(jobs, mount).filled == COUNT


def place_on_disk(path):
    """Where the first byte of a file lies (FS_IOC_FIEMAP)."""
    asked = bytearray(struct.pack("=QQLLLL", 0, 1, 0, 0, 1, 0) + bytes(56))
    with open(path, "rb") as file:
        fcntl.ioctl(file, 0xC020660B, asked)
    assert struct.unpack_from("=L", asked, 20)[0] == 1
    return struct.unpack_from("=Q", asked, 40)[0]


def rotates(path):
    """Returns true if the kernel says that the disk of a file rotates."""
    device = os.stat(path).st_dev
    disk = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    kinds = [above / "queue/rotational" for above in (disk, disk.parent)]  # a partition has none
    return [kind.read_text(encoding="ascii") for kind in kinds if kind.exists()][:1] == ["1\n"]


def inode_of(path):
    return path.stat().st_ino


def write_through(path, data):
    """Writes a file that has its place on the disk then."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def test_a_disk_is_read_in_the_order_of_inodes(jobs, place, scratch):
    source = scratch / "source"
    for number in range(200):
        directory = source / f"{number * 37 % 10}"
        directory.mkdir(parents=True, exist_ok=True)
        write_through(directory / f"{number}", b"x")
    settle()
    assert warm(jobs, source, "--jobs=1").filled == 200
    # Not by the copies' own inode numbers: each processor takes these from a batch of its own.
    filled_at = {path.name.split(";", 1)[-1]: path.stat().st_ctime_ns
                 for path in pathlib.Path(place.path(f"/dev/shm/{HOME}/tree")).rglob("*;*")}
    files = [path for path in source.rglob("*") if path.is_file()]
    by = place_on_disk if rotates(source) else inode_of
    in_order = [path.name for path in sorted(files, key=by)]
    assert in_order == sorted(in_order, key=filled_at.__getitem__)


def write_backwards(source, count):
    """The file that was made last lies first."""
    names = [source / f"{number:03}" for number in range(count)]
    for name in names:
        name.touch()
    for name in reversed(names):
        write_through(name, b"x" * 8192)
    return names


@pytest.mark.parametrize("rotating", [True, False])
def test_a_rotating_disk_is_read_in_the_order_of_places(jobs, place, scratch, as_root, rotating):
    source = scratch / "source"
    source.mkdir()
    mount_ext4(place, source, scratch)
    device = os.stat(place.path(str(source))).st_dev
    try:
        pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/queue/rotational").write_text(
            "1" if rotating else "0", encoding="ascii")
    except OSError as error:
        raise Lacking(f"the kind of a disk cannot be set here: {error}") from error
    inside = pathlib.Path(place.path(str(source)))
    names = [name.name for name in write_backwards(inside, 60)]
    settle()
    by_place = sorted(names, key=lambda name: place_on_disk(inside / name))
    assert by_place != names
    assert warm(jobs, source, "--jobs=1").filled == 60
    # Not by the copies' own inode numbers: each processor takes these from a batch of its own.
    filled_at = {path.name.split(";", 1)[-1]: path.stat().st_ctime_ns
                 for path in pathlib.Path(place.path(f"/dev/shm/{HOME}/tree")).rglob("*;*")}
    filled = sorted(names, key=filled_at.__getitem__)
    assert filled == (by_place if rotating else names)


# ---- a part for each node ----

def parts(jobs, place, mount, nodes):
    """Returns the entries that each of so many nodes fills."""
    found = []
    for node in range(1, nodes + 1):
        warmed = warm(jobs, mount, f"--shard={node}/{nodes}")
        found.append(entries(place))
        assert warmed.filled == len(found[-1])
        jobs.stoker("clear")
    return found


def test_shares_are_disjoint_and_cover(jobs, origin, place):
    source, mount = origin.files("share", 90, 100)
    (source / "below").mkdir()
    for number in range(30):
        (source / "below" / f"file{number:04}").write_bytes(b"x")
    settle()
    three, four = parts(jobs, place, mount, 3), parts(jobs, place, mount, 4)
    for found in three, four:
        assert sum(map(len, found)) == len(set().union(*found)) == 120
        assert min(map(len, found)) > 10
    # Where a node comes, files move to it and nowhere else.
    for before, after in zip(three, four):
        assert after <= before
    assert parts(jobs, place, mount, 1)[0] == set().union(*three)


# ---- without filling ----

def everything(directory):
    """All that lies there, with its times."""
    return sorted((path, os.lstat(path).st_mtime_ns) for top, names, files in os.walk(directory)
                  for path in [top, *(os.path.join(top, name) for name in names + files)])


def dry_run(jobs, *arguments, status=0):
    done = jobs.stoker("warm", "--dry-run", *arguments)
    assert done.returncode == status and done.stdout == "", done.stderr
    told = re.search(r"^stoker: would fill (\d+) files? .*; (\d+) .* (?:is|are) there$", done.stderr, re.M)
    assert told, done.stderr
    return int(told[1]), int(told[2]), done.stderr


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_dry_run_changes_nothing(jobs, origin, data, place, scratch, on_disk):
    source, mount, _ = data
    (source / "empty").touch()
    settle()
    tier = ["--tier", scratch] if on_disk else []
    with origin.fs.counting() as counted:
        filled, present, told = dry_run(jobs, mount, *tier)
    assert (filled, present) == (COUNT, 0) and "all of it fits" in told
    assert "not cached: 1 empty" in told
    assert (counted["open"], counted["read"]) == (0, 0)
    assert os.listdir(place.path("/dev/shm")) == os.listdir(scratch) == []
    warm(jobs, mount, "--share=1/2", *tier)
    before = everything(place.path("/dev/shm")), everything(scratch)
    filled, present, _ = dry_run(jobs, mount, *tier)
    assert (everything(place.path("/dev/shm")), everything(scratch)) == before
    assert filled + present == COUNT and filled > 10 and present > 10
    assert warm(jobs, mount, *tier).filled == filled
    assert dry_run(jobs, mount, *tier)[:2] == (0, COUNT)


def test_a_dry_run_says_what_does_not_fit(jobs, origin):
    mount = origin.files("budget", 200, 100_000)[1]

    def room(*tier):
        told = dry_run(jobs, mount, *tier)[2]
        found = re.search(r"has room for (.*): (.*) too little: name a larger budget", told)
        return in_bytes(found[1]), in_bytes(found[2])

    left, lack = room("--tier=/dev/shm:12M")
    assert 11.7e6 < left <= 12 << 20 and abs(left + lack - 200 * 102_400) < 200_000
    # Four at a time: what others hold for a moment can end it that much early.
    warmed = warm(jobs, mount, "--tier=/dev/shm:12M", "--jobs=4")
    left, lack = room()
    assert left < 1 << 20 and abs(left + lack - (200 - warmed.filled) * 102_400) < 200_000


# ---- ended early ----

def started_warm(jobs, *arguments):
    return jobs.started([jobs.build / "stoker", "warm", *arguments])


def flags_of_open_files(mount):
    """{the name of a file there that a process has open: the open's flags}."""
    flags = {}
    for link in map(pathlib.Path, glob.glob("/proc/[0-9]*/fd/*")):  # pathlib's fails where a process ends
        with contextlib.suppress(OSError):
            path = pathlib.Path(os.readlink(link))
            if path.parent == mount and path.name.startswith("file"):
                told = (link.parent.parent / "fdinfo" / link.name).read_text()
                flags[path.name] = int(re.search(r"^flags:\s*(\d+)", told, re.M)[1], 8)
    return flags


def test_what_one_request_reads_goes_past_the_kernels_cache(jobs, origin, data):
    source, mount, _ = data
    (source / "file0001").write_bytes(b"long" * 50_000)
    settle()
    seen = {}

    def is_seen():
        seen.update(flags_of_open_files(mount))
        return seen.get("file0000", 0) & os.O_DIRECT and "file0001" in seen

    origin.fs.latency_ms = 10 * SLOWLY  # a file is open for two operations and more
    with started_warm(jobs, "--jobs=64", mount) as process:
        wait_for(is_seen)
        process.communicate(timeout=60)
    origin.fs.latency_ms = 0
    assert not seen["file0001"] & os.O_DIRECT


@pytest.mark.parametrize("error", [errno.EINVAL, errno.EIO])
def test_a_server_that_refuses_direct_reads(jobs, origin, data, error):
    _, mount, files = data
    with origin.fs.faults(direct=error):
        fd = os.open(files[0], os.O_RDONLY | os.O_DIRECT)
        with pytest.raises(OSError, match=os.strerror(error)):
            os.read(fd, 10)
        os.close(fd)
        assert warm(jobs, mount).filled == COUNT
    assert jobs.run(reading(files, 1), path=mount).hits == COUNT


def test_interrupted(jobs, origin, data, place):
    _, mount, files = data
    origin.fs.latency_ms = SLOWLY
    with origin.fs.counting() as counted:
        with started_warm(jobs, "--jobs=3", mount) as process:
            wait_for(lambda: len(entries(place)) >= 5)
            process.send_signal(signal.SIGINT)
            stderr = process.communicate(timeout=60)[1]
        first = Warmed(process.returncode, stderr)
        origin.fs.latency_ms = 0
        assert first.status == 128 + signal.SIGINT and "goes on from here" in stderr
        assert 5 <= first.filled < COUNT and len(entries(place)) == first.filled
        second = warm(jobs, mount)
    assert (second.filled, second.present) == (COUNT - first.filled, first.filled)
    assert counted["read_bytes"] == COUNT * SIZE and counted["open"] == COUNT
    assert drafts(place) == []
    assert jobs.run(reading(files, 1), path=mount).hits == COUNT


def test_killed(jobs, origin, data, place):
    _, mount, files = data
    origin.fs.latency_ms = SLOWLY
    with started_warm(jobs, "--jobs=3", mount) as process:
        wait_for(lambda: len(entries(place)) >= 5)
        process.kill()
        process.wait()
    there = len(entries(place))
    origin.fs.latency_ms = 0
    with origin.fs.counting() as counted:
        warmed = warm(jobs, mount)
    assert (warmed.filled, warmed.present) == (COUNT - there, there)
    assert counted["read_bytes"] == (COUNT - there) * SIZE
    assert drafts(place) == []
    assert jobs.run(reading(files, 1), path=mount).hits == COUNT


def test_interrupted_in_a_large_file(jobs, origin, place):
    """It is not read to its end, and nothing of it is left."""
    size = 7 << 20
    source, mount = origin.directory("large")
    (source / "file").write_bytes(os.urandom(size))
    settle()
    origin.fs.latency_ms = 10 * SLOWLY
    with origin.fs.counting() as counted, started_warm(jobs, mount) as process:
        wait_for(lambda: counted["read_bytes"] > 0)
        process.send_signal(signal.SIGTERM)
        stderr = process.communicate(timeout=60)[1]
        warmed = Warmed(process.returncode, stderr)
    assert warmed.status == 128 + signal.SIGTERM and warmed.filled == 0
    assert "not cached" not in stderr
    assert counted["read_bytes"] < size / 2
    assert entries(place) == set() and drafts(place) == []
    origin.fs.latency_ms = 0
    assert warm(jobs, mount).filled == 1


# ---- beside a job, within a budget ----

def test_beside_a_running_job(jobs, origin, data):
    """Each file is filled once, by the one or the other, and the job misses none."""
    _, mount, files = data
    origin.fs.latency_ms = 2
    line = jobs.command_line(reading(reversed(files), 1), path=mount,
                             flags=["--keep", f"--json={jobs.scratch}/beside.json"])
    with jobs.started(line) as job:
        warmed = warm(jobs, mount, "--jobs=4")
        job.communicate(timeout=60)
    assert job.returncode == 0
    ran = jobs.run(["true"], path=mount)
    assert ran.opens == 0
    told = (jobs.scratch / "beside.json").read_text()
    fills = int(re.search(r'"fills": (\d+)', told)[1])
    assert warmed.filled + fills == COUNT and warmed.filled > 0
    assert warmed.filled + warmed.present == COUNT


def nices(pid):
    """The nice values of a process's threads, and how long the kernel lets one of them run (where it says so)."""
    found, slices = {}, {}
    for each in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            found[int(each.name)] = int((each / "stat").read_text().rsplit(")", 1)[1].split()[16])
            slices[int(each.name)] = re.search(r"^se\.slice +: +(\d+)", (each / "sched").read_text(), re.M)
    return found, {thread: int(told[1]) for thread, told in slices.items() if told}


@pytest.mark.parametrize("steps", [0, 4, 15])
def test_the_job_has_most_of_a_busy_processor(jobs, origin, data, steps):
    """But not so nearly all of it that a job would wait for seconds for a file that a thread is about to fill."""
    _, mount, _ = data
    origin.fs.latency_ms = 200
    nice = min(os.nice(0) + steps, 19)
    lower = min(nice + 10, 19)
    with jobs.started(["nice", "-n", str(steps), jobs.build / "stoker", "warm", "--jobs=3", mount]) as process:
        wait_for(lambda: list(nices(process.pid)[0].values()).count(lower) >= 3)
        found, slices = nices(process.pid)
        process.kill()
    assert set(found.values()) == {nice, lower} and found[process.pid] == nice
    usual = slices.get(process.pid)
    assert usual is None or any(each < usual for each in slices.values())


WAIT_FOR_ALL = """
import pathlib, sys, time
tree, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
deadline = time.monotonic() + 60
while sum(1 for _ in tree.rglob("????????????;*")) < count and time.monotonic() < deadline:
    time.sleep(0.02)
for name in sys.argv[3:]:
    open(name, "rb").read()
"""


def test_a_run_fills_ahead(jobs, origin, data):
    """Its job asks for nothing that is filled, and finds all of it."""
    _, mount, files = data
    job = ["python3", "-c", WAIT_FOR_ALL, f"/dev/shm/{HOME}/tree", COUNT, *files]
    with origin.fs.counting() as counted:
        ran = jobs.run(job, path=mount, flags=["--warm"])
    assert (ran.hits, ran.fills, ran.opens) == (COUNT, 0, COUNT)
    assert counted["read_bytes"] == COUNT * SIZE and counted["open"] == COUNT
    assert (ran.ahead["filled"], ran.ahead["found"], ran.ahead["done"]) == (COUNT, COUNT, COUNT)
    assert f"--warm: {COUNT} files (1.7 MiB) filled, 0 were there, of {COUNT} in all" in ran.stderr
    assert ran.stats_asked == 0  # what is counted is what the job did
    assert jobs.stoker("ls").stdout == "nothing is cached\n"  # as after any run


def test_a_run_fills_ahead_of_a_job_that_reads(jobs, origin, data):
    _, mount, files = data
    origin.fs.latency_ms = 3
    with origin.fs.counting() as counted:
        ran = jobs.run(reading(reversed(files), 3), path=mount, flags=["--warm", "--jobs=4"])
    assert ran.hits + ran.fills == 3 * COUNT and ran.ahead["filled"] > 0
    assert ran.fills + ran.ahead["filled"] == COUNT
    assert counted["read_bytes"] <= (COUNT + 2) * SIZE  # an open may have the kernel read anew


def test_filling_ahead_ends_with_the_command(jobs, origin, place):
    """Also in the middle of a large file, of which nothing is left."""
    size = 50 << 20
    source, mount = origin.directory("ends")
    (source / "file").write_bytes(os.urandom(size))
    settle()
    origin.fs.latency_ms = SLOWLY
    begun = f'for i in $(seq 400); do [ -z "$(find /dev/shm/{HOME}/fill -type f)" ] || break; sleep 0.05; done'
    with origin.fs.counting() as counted:
        ran = jobs.run(["sh", "-c", begun], path=mount, flags=["--warm", "--keep"],
                       env={"STOKER_MAX_FILE": "64M"})
    assert counted["open"] > 0 and counted["read_bytes"] < size / 2
    assert ran.ahead["filled"] == 0 and "the command ended first" in ran.said
    assert entries(place) == set() and drafts(place) == []


def test_the_budget_holds(jobs, place, origin):
    """And is used to its end, though many fills at a time reserve for a moment what others want."""
    mount = origin.files("budget", 200, 100_000)[1]
    warmed = warm(jobs, mount, "--tier=/dev/shm:12M")
    used = walk_used(place.path(f"/dev/shm/{HOME}"))[0]
    assert 10 << 20 < used <= 12 << 20 and warmed.filled > 80
    assert sum(map(warmed.said, ("budget", "catalogue", "tier"))) == 200 - warmed.filled
    ran = jobs.run(reading(sorted(mount.iterdir()), 1), path=mount, tier="/dev/shm:12M")
    assert warmed.filled <= ran.hits < 120


def test_a_full_tier_ends_it(jobs, origin):
    """No further file will fit: the command does not ask the origin for all of a large set in
    vain."""
    mount = origin.files("many", 900, 4096)[1]
    with origin.fs.counting() as counted:
        warmed = warm(jobs, mount, "--tier=/dev/shm:3M", "--jobs=4")
    assert "Nothing more fitted" in warmed.stderr
    assert warmed.filled > 100 and counted["open"] < 880


# ---- what it says ----

def test_progress_on_a_terminal(jobs, origin, data):
    _, mount, _ = data
    origin.fs.latency_ms = SLOWLY
    seen = jobs.on_terminal("warm", "--jobs=2", mount)
    line = rb"\rstoker: \d+/60 files, .*, \d+ files/s, .*/s, 0:00:\d\d left\x1b"
    assert re.search(line, seen), seen
    assert b"\x1b[K\r\x1b[Kstoker: 60 files" in seen, seen


def test_no_progress_in_a_file(jobs, data):
    assert "\r" not in warm(jobs, data[1]).stderr


def test_the_paths_of_a_list(jobs, origin, data, scratch):
    """More of them than there may be roots; each is a part of the data set, which is named."""
    _, mount, _ = data
    names = sorted(str(path) for path in mount.rglob("*") if path.is_file())[:30]
    (scratch / "list").write_text("\n".join(names) + "\n\n")
    assert warm(jobs, "--path", mount, "-f", scratch / "list").filled == 30
    done = jobs.stoker("warm", "-f", scratch / "list")
    assert done.returncode == 2 and "name that with --path DIR" in done.stderr
    done = jobs.stoker("warm", "--path", mount, "-f", scratch / "none")
    assert done.returncode == 2 and "none: No such file" in done.stderr
