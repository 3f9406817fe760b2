"""A disk tier that fails while it is in use: the job gets the origin's bytes, and never dies."""

import hashlib
import os
import sys

import pytest

from jobs import read_line
from origin import settle
from volumes import fail_disk, mount_ext4

COUNT, SIZE = 12, 200_000

# For each line of its input: all files, in the ways that Python reads. Prints the sum of their bytes.
READER = """
import hashlib, os, pathlib, sys

def whole(path):
    return path.read_bytes()

def pieces(path):
    with open(path, "rb", buffering=0) as file:
        return b"".join(iter(lambda: file.read(4096), b""))

def at_offsets(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        return b"".join(os.pread(fd, 7000, at) for at in range(0, size, 7000))
    finally:
        os.close(fd)

def scattered(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        parts = [bytearray(1000), bytearray(os.fstat(fd).st_size - 1000)]
        assert os.readv(fd, parts) == sum(map(len, parts))
        return b"".join(parts)
    finally:
        os.close(fd)

def copied(path):
    with open(path, "rb") as source, open(sys.argv[2], "w+b") as target:
        while os.copy_file_range(source.fileno(), target.fileno(), 1 << 20):
            pass
        target.seek(0)
        return target.read()

def sent(path):
    with open(path, "rb") as source, open(sys.argv[2], "w+b") as target:
        while os.sendfile(target.fileno(), source.fileno(), None, 7000):
            pass
        target.seek(0)
        return target.read()

WAYS = whole, pieces, at_offsets, scattered, copied, sent
files = sorted(pathlib.Path(sys.argv[1]).iterdir())
kept = [open(file, "rb", buffering=0) for file in files[:2]]
print("ready", flush=True)
for line in sys.stdin:
    total = hashlib.sha1()
    for number, file in enumerate(files):
        total.update(WAYS[number % len(WAYS)](file))
    for file in kept:
        file.seek(0)
        total.update(file.readall())
    print(total.hexdigest(), flush=True)
"""


FORGET = """
import pathlib, sys
sys.path.append(sys.argv[2])
import resident
every = pathlib.Path(sys.argv[1]).rglob("*")
resident.drop([each for each in every if ";" in each.name or each.suffix == ".mdb"])
"""


class Disk:
    """A tier on a disk of its own, which fails on order."""

    def __init__(self, place, scratch, tests):
        self._place, self._image, self._tests = place, scratch / "disk.ext4", tests
        self.path = scratch / "disk"
        self.path.mkdir()
        mount_ext4(place, self.path, scratch, "64M")

    def fail(self):
        """Memory holds no page of entries, blocks and samples any more, and the disk cannot read
        its blocks."""
        self._place.run([sys.executable, "-c", FORGET, self.path, self._tests / "lib/storage"])
        fail_disk(self._image)


@pytest.fixture
def disk(place, scratch, repository):
    return Disk(place, scratch, repository / "tests")


@pytest.fixture
def data(scratch):
    directory = scratch / "data"
    directory.mkdir()
    for number in range(COUNT):
        (directory / f"{number:02}").write_bytes(os.urandom(SIZE))
    settle()
    return directory


def right(data):
    files = sorted(data.iterdir())
    total = hashlib.sha1()
    for file in files + files[:2]:
        total.update(file.read_bytes())
    return total.hexdigest()


def read_four_times(job, disk, expected):
    """Reads twice before the disk fails and twice after it. Returns what the job printed at its
    end."""
    assert read_line(job) == "ready"
    for each in range(4):
        if each == 2:
            disk.fail()
        job.stdin.write("\n")
        job.stdin.flush()
        assert read_line(job) == expected, f"{each}: {job.stderr.read()}"
    return job.communicate(timeout=60)[1]


def test_what_the_disk_cannot_read_comes_from_the_origin(jobs, disk, data, scratch):
    line = jobs.command_line([sys.executable, "-c", READER, data, scratch / "copy"], path=data,
                             tier=f"{disk.path}:40M", flags=[f"--json={scratch}/summary.json"])
    with jobs.started(line) as job:
        said = read_four_times(job, disk, right(data))
    assert job.returncode == 0, said


AT_ONCE = """
import concurrent.futures, hashlib, os, sys, threading
files = [os.open(path, os.O_RDONLY) for path in sys.argv[2:]]
sizes = [os.fstat(file).st_size for file in files]

def sums():
    def part(file, begin, gate):
        gate.wait()
        return os.pread(file, 25000, begin)
    for file, size in zip(files, sizes):
        starts = range(0, size, 25000)
        gate = threading.Barrier(len(starts))
        run = (lambda begin: part(file, begin, gate))
        with concurrent.futures.ThreadPoolExecutor(len(starts)) as pool:
            yield hashlib.sha1(b"".join(pool.map(run, starts))).hexdigest()

def whole():
    for file, size in zip(files, sizes):
        yield hashlib.sha1(b"".join(os.pread(file, 7000, at) for at in range(0, size, 7000))).hexdigest()

print("ready", flush=True)
sys.stdin.readline()
if sys.argv[1] == "threads":
    print(*sums(), flush=True)
else:
    for _ in range(3):
        sys.stdout.flush()
        if os.fork() == 0:
            try:
                print(*whole(), flush=True)
            except OSError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
"""


@pytest.mark.parametrize("who", ["threads", "processes"])
def test_several_that_read_one_descriptor_when_the_disk_fails(jobs, disk, data, scratch, who):
    """The second reader finds the descriptor replaced already, or the entry gone."""
    files = sorted(data.iterdir())
    jobs.run(["sh", "-c", 'cat "$@" >/dev/null', "sh", *files], path=data, tier=f"{disk.path}:40M")
    line = jobs.command_line([sys.executable, "-c", AT_ONCE, who, *files], path=data,
                             tier=f"{disk.path}:40M")
    with jobs.started(line) as job:
        assert read_line(job) == "ready"
        disk.fail()
        said, trouble = job.communicate("\n", timeout=60)
    expected = " ".join(hashlib.sha1(file.read_bytes()).hexdigest() for file in files)
    assert said.splitlines() == [expected] * (1 if who == "threads" else 3), trouble


BLOCKS = """
import hashlib, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print("ready", flush=True)
for line in sys.stdin:
    print(hashlib.sha1(b"".join(os.pread(fd, 100_000, at) for at in range(0, 2 << 20, 100_000)))
          .hexdigest(), flush=True)
"""


def test_blocks_that_the_disk_cannot_read_come_from_the_origin(jobs, disk, data):
    content = os.urandom(4 << 20)
    (data / "large").write_bytes(content)
    settle()
    expected = hashlib.sha1(content[:(2 << 20) // 100_000 * 100_000 + 100_000]).hexdigest()
    line = jobs.command_line([sys.executable, "-c", BLOCKS, data / "large"], path=data,
                             tier=f"{disk.path}:40M")
    with jobs.started(line, env={"STOKER_MAX_FILE": "1M", "STOKER_COMPLETE": "off",
                                 "STOKER_READAHEAD": "64K"}) as job:
        said = read_four_times(job, disk, expected)
    assert job.returncode == 0 and "reads answered from blocks" in said, said


IMAGES = """
import hashlib, pathlib, sys
from PIL import Image
for epoch in range(3):
    total = hashlib.sha1()
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.jpg")):
        with Image.open(file) as image:
            total.update(image.convert("RGB").tobytes())
    print(total.hexdigest())
"""


@pytest.fixture
def pictures(data):
    """So many JPEGs; the sum of their pixels."""
    image = pytest.importorskip("PIL.Image")
    total = hashlib.sha1()
    for number in range(COUNT):
        picture = image.effect_mandelbrot((400, 300), (-2, -1.5, 1, 1.5 + number), 90)
        image.merge("RGB", [picture] * 3).save(data / f"{number:02}.jpg", quality=95)
        total.update(image.open(data / f"{number:02}.jpg").convert("RGB").tobytes())
    settle()
    return total.hexdigest()


@pytest.mark.torch
def test_a_run_on_a_disk_that_fails_decodes_the_origin(jobs, disk, data, pictures):
    """Neither entries nor samples of the run before can be read."""
    for fails in False, True:
        if fails:
            disk.fail()
        ran = jobs.run([sys.executable, "-B", "-c", IMAGES, data], data, f"{disk.path}:40M")
        assert ran.stdout == f"{pictures}\n" * 3, ran.stderr


# As the above, three times for each line of its input. Memory drops its pages of the sample store
# first, as under pressure.
IMAGES_AGAIN = """
import ctypes, sys
MADV_PAGEOUT = 21
madvise = ctypes.CDLL(None).madvise
print("ready", flush=True)
for line in sys.stdin:
    for mapped in open("/proc/self/maps"):
        if "data.mdb" in mapped:
            first, last = (int(each, 16) for each in mapped.split()[0].split("-"))
            madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), MADV_PAGEOUT)
    print("out", flush=True)
    sys.stdin.readline()
    exec(IMAGES)
    sys.stdout.flush()
"""


@pytest.mark.torch
def test_samples_that_the_disk_cannot_read_any_more(jobs, disk, data, pictures):
    """Neither values nor the tree that leads to them are in memory any more."""
    script = f"IMAGES = {IMAGES!r}" + IMAGES_AGAIN
    line = jobs.command_line([sys.executable, "-B", "-c", script, data], path=data,
                             tier=f"{disk.path}:40M")
    with jobs.started(line) as job:
        assert read_line(job) == "ready"
        for each in range(4):
            job.stdin.write("\n")
            job.stdin.flush()
            assert read_line(job) == "out"
            if each == 2:
                disk.fail()
            job.stdin.write("\n")
            job.stdin.flush()
            for _ in range(3):
                assert read_line(job) == pictures
        said = job.communicate(timeout=60)[1]
    assert job.returncode == 0, said
