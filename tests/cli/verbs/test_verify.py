"""verify: what is cached is what its origin says, or goes."""

import errno
import json
import os
import pathlib
import pty
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest

from jobs import HOME, in_bytes, reading, wait_for
from origin import settle
from slices import ALL

SIZE = 2000
BIG = {"STOKER_MAX_FILE": "1M", "STOKER_WHOLE": "1M", "STOKER_BLOCK": "256K"}
MB = 1 << 20


@pytest.fixture
def data(origin):
    return origin.files("verify", 3, SIZE)[1]


def files(data, count=3):
    return [data / f"file{number:04}" for number in range(count)]


@pytest.fixture
def cached(jobs, data):
    """Three files whose entries stay in memory."""
    jobs.run(reading(files(data), 1), path=data, flags=["--keep"], tier="/dev/shm:64M")
    return data


def entries(home):
    """The entries of a tier, by the names of their files."""
    found = pathlib.Path(home, "tree").glob("*/**/*;*")
    return {path.name.split(";")[1]: path for path in found if path.name[0] != ";" != path.name[-1]}


def in_memory(jobs):
    return entries(jobs.place.path(f"/dev/shm/{HOME}"))


def spoil(path, at=17):
    """Changes a byte, and nothing else that could show it."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x40]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def verify(jobs, *arguments, status=0, **more):
    done = jobs.stoker("verify", *arguments, **more)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout


def assert_good_again(jobs, data, hits, fills, tier="/dev/shm:64M", flags=("--keep",)):
    """The next run gets what differed from the origin, and every byte is right."""
    ran = jobs.run(["sh", "-c", 'cat "$0"/* | md5sum', data], path=data, tier=tier, flags=flags)
    plain = subprocess.run(["sh", "-c", 'cat "$0"/* | md5sum', data], capture_output=True,
                           text=True, check=True)
    assert (ran.stdout, ran.hits, ran.fills) == (plain.stdout, hits, fills), ran.stderr


def assert_budget_is_right(jobs, home=f"/dev/shm/{HOME}"):
    said = jobs.place.run([jobs.build / "tests/cache/kills/accounts", home]).stdout
    assert json.loads(said)["used"] == json.loads(said)["there"], said


# ---- entries ----

NOTHING = """0 copies right (0 B), 0 differed
  nothing is cached there: `stoker ls` shows what is, and where
"""


def test_nothing_is_cached(jobs):
    assert verify(jobs) == NOTHING


def test_all_is_right(jobs, cached, origin):
    used = jobs.used()
    with origin.fs.counting() as counted:
        assert verify(jobs) == "3 copies right (5.9 KiB), 0 differed\n"
    assert counted["read_bytes"] == 3 * SIZE
    assert jobs.used() == used
    assert_good_again(jobs, cached, hits=3, fills=0)


@pytest.mark.parametrize("at", [0, 1024, SIZE - 1])
def test_a_wrong_byte(jobs, cached, at):
    used = jobs.used()
    spoil(in_memory(jobs)["file0001"], at)
    assert verify(jobs, status=1) == \
        f"{cached}/file0001: the copy differs at byte {at}\n" \
        "2 copies right (3.9 KiB), 1 differed: dropped\n"
    assert sorted(in_memory(jobs)) == ["file0000", "file0002"]
    assert jobs.used()[2] == used[2] - 1  # its inode was given back
    assert verify(jobs) == "2 copies right (3.9 KiB), 0 differed\n"
    assert_good_again(jobs, cached, hits=2, fills=1)


def test_the_budget_is_right_afterwards(jobs, data):
    jobs.preloaded(reading(files(data), 1), data)
    spoil(in_memory(jobs)["file0001"])
    verify(jobs, status=1)
    jobs.preloaded(reading(files(data), 1), data)
    assert_budget_is_right(jobs)


def test_a_wrong_byte_far_behind(jobs, origin):
    """Files of many pieces, of which the last is a small one."""
    source, mount = origin.directory("long")
    (source / "file").write_bytes(random.Random(1).randbytes(3 * MB + 11))
    settle()
    jobs.run(["cksum", mount / "file"], path=mount, flags=["--keep"])
    for at in (3 * MB + 10, 2 * MB, 256 * 1024 - 1):
        spoil(in_memory(jobs)["file"], at)
        assert f"differs at byte {at}\n" in verify(jobs, status=1)
        jobs.run(["cksum", mount / "file"], path=mount, flags=["--keep"])
    assert "1 copy right" in verify(jobs)


def cut(path):
    os.truncate(path, SIZE - 1)


def lengthen(path):
    with open(path, "ab") as file:
        file.write(b"x")


def make_link(path):
    path.rename(path.parent / "away")
    path.symlink_to("away")


def make_fifo(path):
    path.unlink()
    os.mkfifo(path)


def make_device(path):
    path.unlink()
    os.mknod(path, 0o600 | 0o20000, os.makedev(1, 5))


def replace(path):
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(bytes(len(content)))


def add_name(path):
    os.link(path, path.parent / "away")


def open_up(path):
    path.chmod(0o666)


@pytest.mark.parametrize("harm", [cut, lengthen, make_link, make_fifo, make_device, replace,
                                  add_name, open_up])
def test_another_file_in_its_place(jobs, cached, harm):
    harm(in_memory(jobs)["file0002"])
    assert f"{cached}/file0002: the copy " in verify(jobs, status=1)
    assert sorted(in_memory(jobs)) == ["file0000", "file0001"]
    assert_good_again(jobs, cached, hits=2, fills=1)


# ---- origins ----

def test_what_changed_since_is_no_error(jobs, cached, origin):
    (origin.source / cached.name / "file0000").write_bytes(b"another version")
    said = verify(jobs)
    assert said == "2 copies right (3.9 KiB), 0 differed\n" \
                   "  1 of versions that storage has no more\n"
    assert "file0000" in in_memory(jobs)


def test_what_is_gone_is_no_error(jobs, cached, origin):
    (origin.source / cached.name / "file0000").unlink()
    assert "  1 of files that are gone, or not mounted here\n" in verify(jobs)
    (origin.source / cached.name).rename(origin.source / "renamed-verify")
    assert "  3 of files that are gone, or not mounted here\n" in verify(jobs)
    assert len(in_memory(jobs)) == 3


@pytest.mark.parametrize("fault", [{"open": errno.EACCES}, {"read": errno.EIO},
                                   {"open": errno.ESTALE}])
def test_what_cannot_be_read_is_no_error(jobs, cached, origin, fault):
    spoil(in_memory(jobs)["file0001"])
    with origin.fs.faults(**fault):
        assert "  3 whose original could not be read\n" in verify(jobs)
    assert len(in_memory(jobs)) == 3


def test_an_origin_that_gives_less_than_it_says(jobs, cached, origin):
    """Nothing is known of the copy then."""
    with origin.fs.faults(read_from=1000, read=errno.EIO, read_most=1000):
        assert verify(jobs).startswith("0 copies right (0 B), 0 differed\n")
    assert len(in_memory(jobs)) == 3


def test_what_changes_meanwhile_is_no_error(jobs, cached, origin):
    """Between the look at the origin and the last byte of it: then nothing was compared."""
    origin.fs.latency_ms = 150
    before = origin.fs.counts()["read"]
    with jobs.started([jobs.build / "stoker", "verify", cached / "file0001"]) as process:
        wait_for(lambda: origin.fs.counts()["read"] > before)
        (origin.source / cached.name / "file0001").write_bytes(bytes(SIZE))
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 0 and "  1 of versions that storage has no more" in said
    assert len(in_memory(jobs)) == 3


# ---- which ones ----

def test_a_sample(jobs, origin):
    _, data = origin.files("sample", 20, 500)
    jobs.run(reading(files(data, 20), 1), path=data, flags=["--keep"])
    for sample, count in (("5", 5), ("10%", 2), ("1%", 1), ("100%", 20), ("400", 20)):
        said = verify(jobs, "--sample", sample)
        assert said.startswith(f"{count} {'copy' if count == 1 else 'copies'} right ")
        assert (f"  {20 - count} copies were not looked at (--sample)\n" in said) == (count < 20)


def test_a_sample_is_another_each_time(jobs, origin):
    """If one of twenty is wrong, one of 30 random halves finds it."""
    _, data = origin.files("chance", 20, 500)
    jobs.run(reading(files(data, 20), 1), path=data, flags=["--keep"])
    spoil(in_memory(jobs)["file0007"])
    statuses = [jobs.stoker("verify", "--sample", "50%").returncode for _ in range(30)]
    assert statuses.count(1) == 1 and statuses.count(0) == 29
    assert statuses[0] == 0 or statuses[1:].count(0) == 29


@pytest.mark.parametrize("sample", ["0", "-1", "x", "101%", "0%", "1.5", "3x", "nan"])
def test_a_sample_that_is_none(jobs, sample):
    done = jobs.stoker("verify", f"--sample={sample}")
    assert done.returncode == 2 and "write how many copies" in done.stderr


def test_of_a_path(jobs, cached, origin):
    _, other = origin.files("others", 3, SIZE)
    jobs.run(reading(files(other), 1), path=other, flags=["--keep"])
    assert verify(jobs).startswith("6 copies right")
    assert verify(jobs, other).startswith("3 copies right")
    assert verify(jobs, other / "file0001", cached).startswith("4 copies right")
    assert verify(jobs, "/no/such").startswith("0 copies right")
    spoil(in_memory(jobs)["file0001"])  # of either
    assert jobs.stoker("verify", "no/such").returncode == 2
    assert jobs.stoker("verify", "--wrong").returncode == 2
    assert jobs.stoker("verify", "--json").returncode == 2


def test_json(jobs, cached, origin, scratch):
    (origin.source / cached.name / "file0000").unlink()
    spoil(in_memory(jobs)["file0001"])
    verify(jobs, "--json", scratch / "found", status=1)
    found = json.loads((scratch / "found").read_text())
    none = {"right": 0, "differ": 0, "changed": 0, "gone": 0, "unreadable": 0}
    files_there, decoded = {**none, "right": 1, "differ": 1, "gone": 1}, {"right": 0, "differ": 0}
    assert found == {"cached_files": files_there, "entries": files_there, "listings": none,
                     "decoded_copies": decoded, "samples": decoded, "blocks": none, "bytes": SIZE,
                     "not_looked_at": 0, "not_dropped": 0,
                     "differing": [f"{cached}/file0001"]}


# ---- tiers ----

def test_a_tier_that_no_catalogue_knows(jobs, data, scratch):
    (scratch / "disk").mkdir()
    jobs.run(reading(files(data), 1), path=data, tier=scratch / "disk")
    home = scratch / "disk" / HOME
    spoil(entries(home)["file0001"])
    assert verify(jobs, "--tier", scratch / "disk", status=1).endswith(
        "2 copies right (3.9 KiB), 1 differed: dropped\n")
    assert sorted(entries(home)) == ["file0000", "file0002"]
    assert_good_again(jobs, data, hits=2, fills=1, tier=scratch / "disk", flags=())
    assert verify(jobs, f"--tier={scratch}/disk").startswith("3 copies right")


def test_what_lies_in_the_place_of_a_tier(jobs, scratch, as_root):
    """Another user's directory is not looked into, a link not followed."""
    home = scratch / HOME
    (home / "tree/root-0123456789abcdef").mkdir(parents=True)
    (home / "tree/root-0123456789abcdef/0123456789ab;file").write_text("theirs")
    os.chown(home, 65534, 65534)
    assert verify(jobs, "--tier", scratch) == NOTHING
    assert (home / "tree/root-0123456789abcdef/0123456789ab;file").read_text() == "theirs"
    home.chmod(0o777)
    os.chown(home, 0, 0)
    done = jobs.stoker("verify", "--tier", scratch)
    assert done.returncode == 2 and "others can write to it" in done.stderr
    shutil.rmtree(home)
    home.symlink_to("/")
    assert jobs.stoker("verify", "--tier", scratch).returncode == 2
    assert verify(jobs, "--tier", scratch.parent).startswith("0 copies")
    assert jobs.stoker("verify", "--tier", "/no/such").returncode == 2


def test_what_cannot_be_dropped(jobs, data, scratch, as_root):
    """It is said so, and is not taken for a success."""
    (scratch / "disk").mkdir()
    jobs.run(reading(files(data), 1), path=data, tier=scratch / "disk")
    entry = entries(scratch / "disk" / HOME)["file0001"]
    spoil(entry)
    if subprocess.run(["chattr", "+i", entry], capture_output=True, check=False).returncode != 0:
        pytest.skip("no immutable files here")
    try:
        done = jobs.stoker("verify", "--tier", scratch / "disk")
    finally:
        subprocess.run(["chattr", "-i", entry], check=True)
    assert done.returncode == 2 and "1 could not be dropped" in done.stderr


# ---- listings ----

TIMES = {"STOKER_LISTINGS": "mtime"}  # by default, times of the test's file system do not count


@pytest.fixture
def listed(jobs, origin):
    """A directory, and one in it, whose listings are kept: (its path behind the origin, at it)."""
    source, mount = origin.directory("listed")
    (source / "inner").mkdir()
    for name in ("a", "b", "inner/c"):
        (source / name).touch()
    settle()
    with origin.fs.faults(whole_seconds=1):
        time.sleep(1.05 - time.time() % 1)
        for directory in (source, source / "inner"):
            (directory / "late").touch()
        settle()
        jobs.run(["ls", "-R", mount], path=mount, flags=["--keep"], env=TIMES)
        yield source, mount


def listings(jobs):
    return sorted(pathlib.Path(jobs.place.path(f"/dev/shm/{HOME}/tree")).rglob("*;"))


def test_listings_are_compared(jobs, listed):
    assert verify(jobs, env=TIMES) == "2 copies right (0 B), 0 differed\n"
    assert verify(jobs, listed[1] / "inner", env=TIMES).startswith("1 copy right")
    assert verify(jobs) == "0 copies right (0 B), 0 differed\n"  # their times say nothing


@pytest.mark.parametrize("change", ["add", "remove", "swap"] if ALL else ["add", "swap"])
def test_a_listing_that_its_times_do_not_tell(jobs, listed, change):
    """A second change within a second leaves whole seconds as they are."""
    source, mount = listed
    if change == "add":
        (source / "inner/new").touch()
    elif change == "remove":
        (source / "inner/c").unlink()
    else:
        (source / "inner/c").rename(source / "inner/d")
    os.utime(source / "inner", (0, int(os.stat(mount / "inner").st_mtime)))
    if os.stat(mount / "inner").st_ctime != os.stat(mount).st_ctime:
        pytest.skip("the second was over")
    assert verify(jobs, env=TIMES, status=1) == \
        f"{mount}/inner: the copy has other names\n1 copy right (0 B), 1 differed: dropped\n"
    ran = jobs.run(["ls", mount / "inner"], path=mount, flags=["--keep"], env=TIMES)
    assert ran.stdout.split() == sorted(os.listdir(source / "inner"))
    assert verify(jobs, env=TIMES).startswith("2 copies right")


def test_a_listing_of_another_version(jobs, listed):
    source, mount = listed
    time.sleep(1.05 - time.time() % 1)
    (source / "inner/new").touch()
    assert verify(jobs, env=TIMES) == "1 copy right (0 B), 0 differed\n" \
                                      "  1 of versions that storage has no more\n"
    assert len(listings(jobs)) == 2


# ---- blocks ----

@pytest.fixture
def big(jobs, origin):
    """A file of 5 MB of which the first and last 100 KB have been read."""
    source, mount = origin.directory("blocks")
    (source / "file").write_bytes(random.Random(2).randbytes(5 * MB + 77))
    os.sync()
    settle()
    read = '(head -c 100000 "$0"; tail -c 100000 "$0") >/dev/null'
    jobs.preloaded(["sh", "-c", read, mount / "file"], mount, env=BIG)
    return mount / "file"


def block_file(jobs):
    home = pathlib.Path(jobs.place.path(f"/dev/shm/{HOME}"))
    found = [path for path in (home / "fill").iterdir() if ";" in path.name]
    assert len(found) == 1
    return found[0]


def test_blocks_are_compared(jobs, big):
    said = verify(jobs)
    assert said.startswith("1 copy right (") and said.endswith(", 0 differed\n")
    size = in_bytes(said.split("(")[1].split(")")[0])
    assert 200_000 < size < 3 * MB  # those that are there
    assert verify(jobs, big).startswith("1 copy") and verify(jobs, "/etc").startswith("0 copies")


@pytest.mark.parametrize("at", [1000, 5 * MB + 70])
def test_a_wrong_byte_in_a_block(jobs, big, at, scratch):
    spoil(block_file(jobs), at)
    said = verify(jobs, "--json", scratch / "found", status=1)
    assert f"{big}: the copy differs at byte {at}\n" in said
    assert json.loads((scratch / "found").read_text())["blocks"]["differ"] == 1
    home = pathlib.Path(jobs.place.path(f"/dev/shm/{HOME}"))
    assert not [path for path in (home / "fill").iterdir() if ";" in path.name]
    assert list((home / "big").iterdir()) == []
    assert_budget_is_right(jobs)
    read = ["sh", "-c", 'head -c 100000 "$0" | md5sum; tail -c 100000 "$0" | md5sum', big]
    plain = subprocess.run(read, capture_output=True, text=True, check=True)
    assert jobs.preloaded(read, big.parent, env=BIG).stdout == plain.stdout
    assert verify(jobs).startswith("1 copy right")


def test_blocks_that_are_not_there_are_not_compared(jobs, big):
    with open(block_file(jobs), "r+b") as file:
        file.seek(2 * MB + 500_000)
        file.write(b"never served")
    assert verify(jobs).startswith("1 copy right")


def test_a_block_file_that_was_cut(jobs, big):
    os.truncate(block_file(jobs), 50_000)
    assert "is cut short" in verify(jobs, status=1)


def test_who_reads_blocks_that_are_dropped_goes_on(jobs, big):
    """By a descriptor that was opened before, with a process that had mapped the table."""
    script = ("import os, sys; fd = os.open(sys.argv[1], os.O_RDONLY)\n"
              "for line in sys.stdin: print(os.pread(fd, 50, int(line)).hex(), flush=True)\n")
    line = ["/usr/bin/python3", "-S", "-c", script, big]
    plain = big.read_bytes()
    with jobs.started(line, env={**jobs.preload_env(big.parent), **BIG}) as process:
        def ask(at):
            process.stdin.write(f"{at}\n")
            process.stdin.flush()
            return bytes.fromhex(process.stdout.readline())
        assert ask(1000) == plain[1000:1050]
        spoil(block_file(jobs), 1000)
        assert ask(1000) != plain[1000:1050]  # so it is the blocks that are read
        verify(jobs, status=1)
        assert ask(1000) == plain[1000:1050]
        assert ask(3 * MB) == plain[3 * MB:3 * MB + 50]
    assert_budget_is_right(jobs)


# ---- beside others ----

def test_beside_a_job(jobs, data, scratch):
    """It compares and drops under a job that reads all the time, and gets the right bytes as soon
    as that is done."""
    script = ('until test -e "$1"; do cat "$0"/* | md5sum; sleep 0.02; done; '
              'cat "$0"/* | md5sum')
    line = jobs.command_line(["sh", "-c", script, data, scratch / "end"], path=data)
    plain = subprocess.run(["sh", "-c", 'cat "$0"/* | md5sum', data], capture_output=True,
                           text=True, check=True).stdout
    with jobs.started(line) as job:
        try:
            wait_for(lambda: len(in_memory(jobs)) == 3)
            for name in files(data):
                spoil(wait_for(lambda: in_memory(jobs).get(name.name)))
                verify(jobs, status=1)
            verify(jobs)
        finally:
            (scratch / "end").touch()  # or it would read on for ever
        said = job.communicate(timeout=60)[0].splitlines(keepends=True)
    assert job.returncode == 0 and said[0] == said[-1] == plain


def move_again_and_again(path, over):
    away = path.with_name("away")
    while not over.is_set():
        for there, then in [(path, away), (away, path)]:
            there.rename(then)
            time.sleep(0.0003)


def test_copies_that_come_and_go(jobs, cached):
    """Another copy comes and goes while it counts and compares: none is passed over for it. The
    walk may meet the newest copy first, so the wrong one is older than the others."""
    copies, over = in_memory(jobs), threading.Event()
    restless, wrong, right = (copies[name] for name in sorted(copies))
    spoil(wrong)
    spoiled, good = wrong.read_bytes(), right.read_bytes()
    mover = threading.Thread(target=move_again_and_again, args=(restless, over))
    mover.start()
    try:
        for _ in range(40):
            for path, content in [(wrong, spoiled), (right, good)]:
                path.unlink(missing_ok=True)
                path.write_bytes(content)
            verify(jobs, status=1)
    finally:
        over.set()
        mover.join()


def test_progress_on_a_terminal(jobs, cached, origin):
    origin.fs.latency_ms = 100
    ours, theirs = pty.openpty()
    with jobs.started([jobs.build / "stoker", "verify"], stderr=theirs) as process:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait(60) == 0
        assert process.stdout.read().startswith("3 copies right")
    assert b"/3 files" in said and said.endswith(b"\r\033[K")


def test_no_progress_elsewhere(jobs, cached):
    assert jobs.stoker("verify").stderr == ""


def test_interrupted(jobs, cached, origin):
    """A kill leaves nothing wrong, and the next goes through."""
    origin.fs.latency_ms = 100
    before = origin.fs.counts()["open"]
    with jobs.started([jobs.build / "stoker", "verify"]) as process:
        wait_for(lambda: origin.fs.counts()["open"] > before)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
    origin.fs.latency_ms = 0
    assert verify(jobs).startswith("3 copies right")


# ---- samples of images ----

DECODING = """
import hashlib, sys
import stoker
for _ in range(2):
    for path in sys.argv[1:]:
        print(hashlib.sha1(stoker.decode(path)).hexdigest()[:12])
"""
WRONG = """
import sys
from stoker._store.samples import Store, _setting
store = Store(_setting(sys.argv[1])[0], 1 << 26)
names = sys.argv[2:]
bytes_of = [open(name, "rb").read() for name in names]
form = bytes(store.get(store.key(bytes_of[0], 1)))
for data in bytes_of[1:]:
    assert store.get(store.key(data, 1)) is None
    assert store.put(store.key(data, 1), form)
assert store.flush()
"""


@pytest.fixture
def photographs(origin):
    """JPEGs of all kinds that have a form."""
    image = pytest.importorskip("PIL.Image")
    source, mount = origin.directory("photographs")
    dice = random.Random(5)
    for number in range(8):
        mode = "L" if number == 2 else "RGB"
        size = 60, 40
        made = image.frombytes(mode, size, dice.randbytes(size[0] * size[1] * len(mode)))
        made.save(source / f"{number}.jpg", quality=80, progressive=number == 3,
                  subsampling=number % 3 if mode == "RGB" else 0)
    image.new("RGB", (1, 1)).save(source / "tiny.jpg")
    settle()
    return [mount / name for name in sorted(os.listdir(source))]


def decode(jobs, build, files):
    """Returns the decoded pixels of each of them, by a run that keeps its store."""
    ran = jobs.run(["python3", "-c", DECODING, *files], path=files[0].parent,
                   tier="/dev/shm:64M", flags=["--keep", "--decoded=20M"],
                   env={"PYTHONPATH": f"{build}/python", "PATH": "/usr/bin:/bin"})
    return ran.stdout.split()[len(files):]  # by what their identity leads to


def spoil_forms(jobs, build, files):
    """The later ones' forms are the first one's from now on."""
    jobs.place.run(["python3", "-c", WRONG, f"/dev/shm/{HOME}/samples:0", *files],
                   env={"PYTHONPATH": f"{build}/python", "PATH": "/usr/bin:/bin"})


def test_forms_that_are_right(jobs, build, photographs):
    decode(jobs, build, photographs)
    said = verify(jobs)
    assert f"{len(photographs)} decoded copies right" in said and " 0 differed" in said
    assert "1 decoded copy right" in verify(jobs, photographs[4])
    assert "samples" not in verify(jobs, photographs[0].parent.parent / "nothing")


@pytest.mark.parametrize("is_all", [True, False])
def test_a_form_that_is_another_image_s(jobs, build, photographs, scratch, is_all):
    """It is found and named, and no process decodes from it any more."""
    right = decode(jobs, build, photographs[:5])
    spoil_forms(jobs, build, [photographs[0], *photographs[5:]])
    assert set(decode(jobs, build, photographs[5:])) == {right[0]}
    said = verify(jobs, f"--json={scratch}/told", *[photographs[0].parent][is_all:], status=1)
    assert "5 decoded copies right" in said and f", {len(photographs) - 5} differed" in said
    for path in photographs[5:]:
        assert f"{path}: the copy that is kept decoded is another image's" in said
    told = json.loads((scratch / "told").read_text())
    assert told["samples"] == {"right": 5, "differ": len(photographs) - 5}
    assert sorted(told["differing"]) == list(map(str, photographs[5:]))
    again = decode(jobs, build, photographs)
    assert again[:5] == right and right[0] not in again[1:]
    assert "5 decoded copies right" in verify(jobs)


def test_no_python_to_compare_forms_with(jobs, build, photographs):
    decode(jobs, build, photographs)
    done = jobs.stoker("verify", env={"PATH": "/nonexistent"})
    assert done.returncode == 2 and "decoded copies are not compared: python3" in done.stderr
    assert "could not be looked into" not in done.stderr
    assert "9 copies right" in done.stdout


def test_forms_of_a_store_that_is_named(jobs, build, photographs, scratch):
    named = f"{scratch}/samples:20M"
    jobs.run(["python3", "-c", DECODING, *photographs], path=photographs[0].parent,
             tier="/dev/shm:64M", flags=["--keep", f"--decoded={named}"],
             env={"PYTHONPATH": f"{build}/python", "PATH": "/usr/bin:/bin"})
    said = verify(jobs, env={"STOKER_DECODED": named})
    assert f"{len(photographs)} decoded copies right" in said
    assert "samples" not in verify(jobs, "--tier=/dev/shm", env={"STOKER_DECODED": named})
