"""Forms in the sample store, whatever the images come from, and whatever happens to the files and
to the store."""

import hashlib
import importlib.util
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import time

import pytest
from PIL import Image, JpegImagePlugin

import images
from conftest import HERE, ROOT
from forked import forked
from lacking import is_administrator

COUNT = 12


def record(number):
    """One of the JPEGs: colours, none, large, small, EXIF, restart markers."""
    picture = images.picture(60 + 31 * (number % 5), 50 + 17 * (number % 7), number)
    options = {"quality": 60 + 3 * number, "subsampling": number % 3}
    if number % 4 == 3:
        options["exif"] = images.exif(number % 8 + 1)
    return images.jpeg(picture, **options)


def digest_of(data):
    return hashlib.sha1(Image.open(io.BytesIO(data)).convert("RGB").tobytes()).hexdigest()


@pytest.fixture(scope="module")
def data_set(tmp_path_factory):
    """A directory of JPEGs, and the same as records of other files; as Pillow decodes them."""
    directory = tmp_path_factory.mktemp("data")
    records = {f"{number:03}.jpg": record(number) for number in range(COUNT)}
    images.write(directory, records)
    with tarfile.open(directory / "all.tar", "w") as tar:
        for name in records:
            tar.add(directory / name, name)
    try:
        import h5py
        import numpy
        with h5py.File(directory / "all.h5", "w") as file:
            for name, data in records.items():
                file[name] = numpy.frombuffer(data, "u1")
    except ImportError:
        pass
    try:
        import lmdb
        with lmdb.open(str(directory / "all.lmdb"), map_size=1 << 26) as env:
            with env.begin(write=True) as transaction:
                for name, data in records.items():
                    transaction.put(name.encode(), data)
    except ImportError:
        pass
    time.sleep(0.1)
    return directory, [digest_of(data) for data in records.values()]


@pytest.fixture
def touch(environment, store):
    """touch(way, directory, ...): the digests and counts of one process."""
    def run(*arguments, env=None):
        done = subprocess.run([sys.executable, HERE / "programs/touches.py", *map(str, arguments)],
                              env={**environment, **store, **(env or {})}, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)
    return run


# The module that each needs, and whether files are known by their identity.
WAYS = {"image": ("PIL", True), "file": ("PIL", True), "bytes": ("PIL", False),
        "tar": ("PIL", False), "hdf5": ("h5py", False), "lmdb": ("lmdb", False),
        "direct": ("numpy", True), "direct-bytes": ("numpy", False), "batch": ("numpy", True)}


def touch_twice(touch, way, data_set, unread):
    directory, expected = data_set
    for again in 0, COUNT:
        found, counts = touch(way, directory)
        assert found == expected
        assert counts["images"] == COUNT and counts["forms"] == COUNT - again
        assert counts["from_forms"] == again and counts["unread"] == (unread if again else 0)


@pytest.mark.parametrize("way", WAYS)
def test_two_touches(touch, data_set, way):
    module, has_files = WAYS[way]
    pytest.importorskip(module)
    touch_twice(touch, way, data_set, COUNT * has_files)


@pytest.mark.skipif(importlib.util.find_spec("torchvision") is None, reason="no torchvision")
def test_two_touches_by_transforms(environment, store, data_set):
    """Half of them are files. Each touch is made in a child of one process, which has imported torchvision."""
    with forked(["torchvision"], environment) as run:
        def touch(*arguments):
            return json.loads(run(HERE / "programs/touches.py", *arguments, env=store))
        touch_twice(touch, "transforms", data_set, COUNT // 2)


@pytest.mark.parametrize("first", ["image", "bytes", "batch"])
def test_each_way_finds_what_another_made(touch, data_set, first):
    pytest.importorskip("numpy")
    directory, expected = data_set
    touch(first, directory)
    for way in ("file", "bytes", "tar", "direct", "direct-bytes"):
        found, counts = touch(way, directory)
        assert found == expected and counts["from_forms"] == COUNT and counts["forms"] == 0


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers(touch, data_set, method):
    directory, expected = data_set
    found, counts = touch("image", directory, 3, method)
    assert found == expected and counts["images"] >= COUNT
    found, counts = touch("image", directory, 3, method)
    assert found == expected
    assert counts["unread"] >= COUNT and counts["forms"] == 0


def test_a_full_store(touch, data_set, tmp_path):
    directory, expected = data_set
    env = {"STOKER_DECODED": f"{tmp_path / 'full'}:150K"}
    for _ in range(2):
        found, counts = touch("image", directory, env=env)
        assert found == expected and counts["images"] == COUNT
    assert 0 < counts["from_forms"] < COUNT and counts["forms"] == 0


@pytest.mark.parametrize("setting", ["", "0", "/proc/none:1M", "nonsense:x"])
def test_without_a_store(touch, data_set, setting):
    directory, expected = data_set
    for _ in range(2):
        found, counts = touch("image", directory, env={"STOKER_DECODED": setting})
        assert found == expected
        assert counts["images"] == COUNT and counts["forms"] == counts["from_forms"] == 0


def test_values_that_were_damaged(touch, data_set, store):
    directory, expected = data_set
    touch("image", directory)
    path = store["STOKER_DECODED"].partition(":")[0]
    values = [os.path.join(top, name) for top, _, names in os.walk(path) for name in names
              if name == "data.mdb"]
    data = bytearray(open(values[0], "rb").read())
    at = damaged = 0
    while (at := data.find(b"JFIF\0", at + 1)) > 0:
        if not data[at // 4096 * 4096 + 10] & 4:
            continue  # what a page of the tree held before
        if damaged < 5:
            data[at + 1200] ^= 4
        damaged += 1
    assert damaged == COUNT
    with open(values[0], "r+b") as file:
        file.write(data)
    found, counts = touch("image", directory)
    assert found == expected
    assert counts["images"] == COUNT and counts["from_forms"] == COUNT - 5


# ---- one process, and what happens to it ----

START = """
import hashlib, io, json, os, shutil, sys, time
import stoker
from stoker import Image, _core
from stoker._store import sources

def see(path, pixels=None):
    before = stoker.counts()
    seen = pixels or by_name(path)
    after = stoker.counts()
    return [seen] + [after[name] - before[name] for name in ("forms", "from_forms", "unread")]

def by_name(path):
    with Image.open(path) as image:
        return hashlib.sha1(image.convert("RGB").tobytes()).hexdigest()

def wait():
    time.sleep(0.12)
"""


@pytest.fixture
def run(environment, store):
    def run(code, *arguments, env=None):
        done = subprocess.run([sys.executable, "-c", START + textwrap.dedent(code),
                               *map(str, arguments)],
                              env={**environment, **store, **(env or {})}, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)
    return run


def two_of_a_size():
    """Two JPEGs of as many bytes and pixels, but other ones; each sound to its end."""
    one, two = (images.jpeg(images.picture(90, 70, seed)) for seed in (1, 2))
    size = max(map(len, (one, two))) + 10

    def padded(data):
        comment = bytes(size - len(data) - 4)
        return data[:20] + images.segment(0xfe, comment) + data[20:]
    return padded(one), padded(two)


def test_the_store_goes_while_it_is_used(run, data_set, store):
    directory, expected = data_set
    seen = run("""
        paths = [os.path.join(sys.argv[1], name) for name in sorted(os.listdir(sys.argv[1]))
                 if name.endswith(".jpg")]
        first = [see(path) for path in paths]
        image = Image.open(paths[3])
        shutil.rmtree(os.environ["STOKER_DECODED"].partition(":")[0])
        image.load()
        second = [see(path) for path in paths]
        print(json.dumps([first, second, hashlib.sha1(image.tobytes()).hexdigest()]))
        """, directory)
    assert [each[0] for each in seen[0]] == [each[0] for each in seen[1]] == expected
    assert seen[2] == expected[3]


@pytest.mark.parametrize("how", ["rename", "write"])
def test_a_file_that_is_replaced(run, tmp_path, how):
    """The other file has an equal size, with its mtime put back."""
    one, two = two_of_a_size()
    assert len(one) == len(two) and digest_of(one) != digest_of(two)
    images.write(tmp_path, {"x.jpg": one, "two": two})
    seen = run("""
        path, other, how = sys.argv[1:]
        def replace():
            status = os.stat(path)
            data = open(other, "rb").read()
            if how == "rename":
                open(path + ".new", "wb").write(data)
                os.rename(path + ".new", path)
            else:
                open(path, "r+b").write(data)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            assert os.stat(path).st_size == status.st_size
            assert os.stat(path).st_mtime_ns == status.st_mtime_ns
        wait()
        seen = [see(path), see(path)]
        image = Image.open(path)
        replace()
        seen.append(hashlib.sha1(image.tobytes()).hexdigest())
        seen += [see(path), hashlib.sha1(stoker.decode(path).tobytes()).hexdigest()]
        wait()
        seen += [see(path), see(path), hashlib.sha1(stoker.decode(path).tobytes()).hexdigest()]
        print(json.dumps(seen))
        """, tmp_path / "x.jpg", tmp_path / "two", how)
    old, new = digest_of(one), digest_of(two)
    assert seen[0] == [old, 1, 0, 0] and seen[1] == [old, 0, 1, 1]
    # Under a new name the old file is still there; written over, it is not.
    assert seen[2] == (old if how == "rename" else new)
    assert seen[3] == [new, how == "rename", how == "write", 0] and seen[4] == new
    assert seen[5][:3] == [new, 0, 1] and seen[6] == [new, 0, 1, 1] and seen[7] == new


def test_one_image_after_another(run, tmp_path):
    """On one loop device: files of the same path, device, inode, size and times."""
    one, two = two_of_a_size()
    try:
        for name, data in (("one", one), ("two", two)):
            (tmp_path / name).mkdir()
            images.write(tmp_path / name, {"x.jpg": data})
            subprocess.run(["mksquashfs", tmp_path / name, tmp_path / f"{name}.img", "-noappend",
                            "-all-time", "1000", "-mkfs-time", "1000", "-quiet"], check=True,
                           capture_output=True)
    except FileNotFoundError:
        pytest.skip("no mksquashfs")
    seen = run("""
        import ctypes, subprocess
        def mounted(image):
            at = sys.argv[1] + "/mounted"
            os.makedirs(at, exist_ok=True)
            subprocess.run(["mount", "-o", "loop,ro", f"{sys.argv[1]}/{image}.img", at], check=True)
            known = os.stat(at + "/x.jpg")
            found = [see(at + "/x.jpg"), see(at + "/x.jpg")]
            subprocess.run(["umount", at], check=True)
            return [known.st_dev, known.st_ino, known.st_size, known.st_ctime_ns], found
        if ctypes.CDLL(None).unshare(0x20000) == 0:
            try:
                subprocess.run(["mount", "--make-rprivate", "/"], check=True)
                print(json.dumps([mounted(image) for image in ("one", "two", "one")]))
            except subprocess.CalledProcessError:
                print("[]")
        else:
            print("[]")
        """, tmp_path)
    if not seen:
        pytest.skip("no loop mounts")
    assert [found[1][0] for _, found in seen] == [digest_of(data) for data in (one, two, one)]
    assert seen[0][1][1][3] == 1 and seen[0][0] == seen[1][0] == seen[2][0]


def test_written_over_between_opening_and_loading(run, tmp_path):
    """The bytes in the file's buffer are of before: they must not be remembered of the file."""
    one, two = two_of_a_size()
    images.write(tmp_path, {"x.jpg": one, "two": two})
    seen = run("""
        path, other = sys.argv[1:]
        wait()
        file = open(path, "rb")
        image = Image.open(file)
        open(path, "r+b").write(open(other, "rb").read())
        wait()
        seen = [hashlib.sha1(image.tobytes()).hexdigest(), see(path), see(path)]
        print(json.dumps(seen))
        """, tmp_path / "x.jpg", tmp_path / "two")
    new = digest_of(two)
    assert seen == [new, [new, 0, 1, 1], [new, 0, 1, 1]]


def test_written_over_while_it_is_read(run, tmp_path):
    """The bytes may be of either version, and are not remembered as those of the new one."""
    one, two = two_of_a_size()
    images.write(tmp_path, {"x.jpg": one, "two": two})
    seen = run("""
        path, other = sys.argv[1:]
        wait()
        class Core:
            def __getattr__(self, name):
                return getattr(_core, name)
            def identify(self, fd):
                open(path, "r+b").write(open(other, "rb").read())
                return _core.identify(fd)
        sources._core = Core()
        source = sources.of_path(path)
        plan = ((0, 0, 90, 70), (90, 70), 0, 0, None, 0), 0, (3, 0, 0, None)
        seen = [source.link, hashlib.sha1(source.decode(plan, None)).hexdigest()]
        sources._core = _core
        wait()
        print(json.dumps(seen + [see(path), see(path)]))
        """, tmp_path / "x.jpg", tmp_path / "two")
    new = digest_of(two)
    assert seen == [None, digest_of(one), [new, 1, 0, 0], [new, 0, 1, 1]]


# Each gives the second half of a file, as what it makes of it; fileno() and name are the file's.
HALVES = {
    "raw class": """
        class Half(io.RawIOBase):
            name = sys.argv[1]
            def __init__(self, at, size):
                self.file, self.at, self.size, self.here = open(self.name, "rb", 0), at, size, 0
            def fileno(self): return self.file.fileno()
            def readable(self): return True
            def seekable(self): return True
            def tell(self): return self.here
            def seek(self, offset, whence=0):
                self.here = offset + (0, self.here, self.size)[whence]
                return self.here
            def readinto(self, out):
                self.file.seek(self.at + self.here)
                n = self.file.readinto(memoryview(out)[:max(self.size - self.here, 0)])
                self.here += n
                return n
        def half(at, size):
            return io.BufferedReader(Half(at, size))
        """,
    "kind of FileIO": """
        class Half(io.FileIO):
            def __init__(self, at, size):
                super().__init__(sys.argv[1])
                self.at, self.size = at, size
                self.seek(0)
            def tell(self): return super().tell() - self.at
            def seek(self, offset, whence=0):
                at = (offset, self.tell() + offset, self.size + offset)[whence]
                return super().seek(self.at + at) - self.at
            def readinto(self, out):
                return super().readinto(memoryview(out)[:max(self.size - self.tell(), 0)])
            def readall(self):
                return super().read(self.size - self.tell())
        def half(at, size):
            return io.BufferedReader(Half(at, size))
        """,
    "replaced methods": """
        def half(at, size):
            with open(sys.argv[1], "rb") as whole:
                whole.seek(at)
                part = io.BytesIO(whole.read(size))
            file = open(sys.argv[1], "rb")
            file.read, file.seek, file.tell = part.read, part.seek, part.tell
            return file
        """,
    "replaced descriptor": """
        def half(at, size):
            whole = open(sys.argv[1], "rb")
            with open(sys.argv[1] + str(at), "w+b") as aside:
                whole.seek(at)
                aside.write(whole.read(size))
            file = open(sys.argv[1] + str(at), "rb")
            file.raw.fileno, file.raw.name = whole.fileno, sys.argv[1]
            return file
        """,
}


@pytest.mark.parametrize("kind", HALVES)
def test_members_with_their_archives_descriptor(run, tmp_path, kind):
    """No descriptor shows whose pixels they are."""
    one, two = two_of_a_size()
    images.write(tmp_path, {"archive": one + two})
    seen = run(HALVES[kind] + """
        wait()
        size = os.stat(sys.argv[1]).st_size // 2
        print(json.dumps([see(half(at, size)) for _ in range(3) for at in (0, size)]))
        """, tmp_path / "archive")
    assert [each[0] for each in seen] == [digest_of(one), digest_of(two)] * 3
    assert [each[1:] for each in seen] == [[1, 0, 0]] * 2 + [[0, 1, 0]] * 4


def test_files_that_the_program_opens_in_its_own_way(run, tmp_path):
    """Where open() is another's, a path is not a file of ours."""
    one, two = two_of_a_size()
    images.write(tmp_path, {"archive": one + two})
    seen = run(HALVES["raw class"] + """
        import builtins
        wait()
        size, plain = os.stat(sys.argv[1]).st_size // 2, builtins.open
        seen = []
        for at in (0, size) * 2:
            file = half(at, size)
            builtins.open = lambda name, *rest, **named: file
            seen.append(see("x", hashlib.sha1(stoker.decode("x").tobytes()).hexdigest()))
            builtins.open = plain
        print(json.dumps(seen))
        """, tmp_path / "archive")
    assert [each[0] for each in seen] == [digest_of(one), digest_of(two)] * 2


def test_a_value_that_is_no_form(run, tmp_path):
    images.write(tmp_path, {"x.jpg": record(2)})
    header = (ROOT / "decode/common/decode_types.h").read_text()
    version = re.search(r"^#define STK_FORM_VERSION (\d+)$", header, re.M)[1]
    seen = run("""
        from stoker._store import samples
        data = open(sys.argv[1], "rb").read()
        wait()
        store = samples.store()
        store.put(store.key(data, int(sys.argv[2])), b"no form at all")
        print(json.dumps([see(sys.argv[1]), see(sys.argv[1])]))
        """, tmp_path / "x.jpg", version)
    assert [each[0] for each in seen] == [digest_of(record(2))] * 2
    assert [each[2:] for each in seen] == [[0, 0]] * 2


def test_what_stands_for_a_file(run, tmp_path):
    """Its name, too: some mounts give the inode number of one file to another later."""
    images.write(tmp_path, {"x.jpg": record(2), "y.jpg": record(2)})
    os.link(tmp_path / "x.jpg", tmp_path / "z.jpg")
    seen = run("""
        wait()
        os.chdir(sys.argv[1])
        assert sources.is_ready()
        def link(name):
            with open(name, "rb") as file:
                return _core.identify(file.fileno())
        print(json.dumps([len({link("x.jpg"), link("./x.jpg")}),
                          len({link("x.jpg"), link("y.jpg"), link("z.jpg")}),
                          [_core.identify(os.open(path, os.O_RDONLY))
                           for path in (".", "/dev/null", "/proc/self/maps")],
                          _core.identify(os.pipe()[0]), _core.identify(12345)]))
        """, tmp_path)
    assert seen == [1, 3, [None] * 3, None, None]


MAPPED = """
import mmap
path, other, age = sys.argv[1], sys.argv[2], float(sys.argv[3])
with open(path, "r+b") as file:
    there = mmap.mmap(file.fileno(), 0)
there[:] = there[:]  # from now on its pages are written to without the kernel's knowing

time.sleep(age * 1.1 + 0.05)
seen = [see(path), see(path)]
there[:] = open(other, "rb").read()
seen += [see(path), hashlib.sha1(stoker.decode(path).tobytes()).hexdigest(), see(path)]
print(json.dumps(seen))
"""


@pytest.fixture(params=["disk", "memory"])
def place(request, tmp_path):
    """A directory on a file system of this kind."""
    if request.param == "disk":
        yield tmp_path
    else:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            yield pathlib.Path(directory)


def written_through_a_map(run, place, age, env):
    one, two = two_of_a_size()
    images.write(place, {"x.jpg": one, "two": two})
    first, second, third, direct, fourth = run(
        MAPPED, place / "x.jpg", place / "two", age, env={"STOKER_MIN_AGE": str(age), **env})
    assert first[0] == second[0] == digest_of(one) and first[1] == second[2] == 1
    assert third[0] == direct == fourth[0] == digest_of(two)
    return second, third, fourth


@pytest.mark.parametrize("age", [0.05, 2])
def test_written_through_a_map(run, place, age):
    """A store in place need not change the file's times: in memory never, on a disk not before the
    page is written there."""
    later = written_through_a_map(run, place, age, {})
    if place.is_relative_to("/dev/shm") or age == 2:
        assert [seen[3] for seen in later] == [0] * 3


@pytest.mark.skipif(not is_administrator(), reason="filters system calls, which needs CAP_SYS_ADMIN")
def test_written_through_a_map_after_the_clock_was_stepped(run, build, place, tmp_path):
    """The page still waits when the file already looks old."""
    (tmp_path / "skew").write_bytes(struct.pack("q", 3600 * 10**9))
    written_through_a_map(run, place, 2, {"LD_PRELOAD": str(build / "tests/chaos/skew.so"),
                                          "SKEW": str(tmp_path / "skew")})


def test_young_files_are_read(run, tmp_path):
    images.write(tmp_path, {"x.jpg": record(1)})
    seen = run("""
        path = sys.argv[1]
        os.utime(path)
        seen = [see(path) for _ in range(3)]
        print(json.dumps(seen))
        """, tmp_path / "x.jpg", env={"STOKER_MIN_AGE": "600"})
    right = digest_of(record(1))
    assert seen == [[right, 1, 0, 0], [right, 0, 1, 0], [right, 0, 1, 0]]
    seen = run("""
        path = sys.argv[1]
        os.utime(path, (2 ** 33, 2 ** 33))
        print(json.dumps([see(path) for _ in range(3)]))
        """, tmp_path / "x.jpg")
    assert seen == [[right, 0, 1, 0]] * 3, "a time to come says nothing"


def test_several_plans_of_one_file(run, tmp_path):
    """A form is made once, and serves what follows at once."""
    images.write(tmp_path, {"x.jpg": record(2)})
    seen = run("""
        wait()
        image = Image.open(sys.argv[1]).convert("RGB")
        seen = [see(0, "first") for _ in [image.copy().crop((0, 0, 9, 9)).tobytes()]]
        before = stoker.counts()
        whole = hashlib.sha1(image.tobytes()).hexdigest()
        after = stoker.counts()
        print(json.dumps([whole] + [after[name] for name in ("forms", "from_forms", "images")]))
        """, tmp_path / "x.jpg")
    assert seen[0] == digest_of(record(2)) and seen[1:3] == [1, 1]


FAILING = """
path, status, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
wait()
good = [see(path), see(path)]
calls = []
class Core:
    def __getattr__(self, name):
        return fails if name == "decode_form" else getattr(_core, name)
def fails(*arguments):
    calls.append(1)
    return status
image, other = Image.open(path).copy(), Image.open(path).copy()
sources._core = Core()
if what == "gone":
    os.rename(path, path + ".gone")
elif what == "replaced":
    shutil.copy(sys.argv[4], path)
def attempt(function):
    try:
        return hashlib.sha1(function()).hexdigest()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
seen = [attempt(image.tobytes), attempt(lambda: other.resize((20, 20)).tobytes())]
if what == "there":
    seen.append(attempt(lambda: stoker.decode(path).tobytes()))
print(json.dumps([good, seen, len(calls)]))
"""


@pytest.mark.parametrize("status", [-1, -2, -3])
def test_a_form_that_fails_after_all(run, tmp_path, status):
    """The file is read, if it is there still."""
    images.write(tmp_path, {"x.jpg": record(2), "y": record(3)})
    path, right = tmp_path / "x.jpg", digest_of(record(2))
    small = hashlib.sha1(Image.open(io.BytesIO(record(2))).resize((20, 20)).tobytes()).hexdigest()
    good, seen, calls = run(FAILING, path, status, "there")
    assert good[1] == [right, 0, 1, 1] and seen == [right, small, right] and calls >= 3
    says = "MemoryError: " if status == -3 else \
        "OSError: broken data stream when reading image file"
    for what in ("replaced", "gone"):
        _, seen, _ = run(FAILING, path, status, what, tmp_path / "y")
        assert seen == [says, says]
        images.write(tmp_path, {"x.jpg": record(2)})


# ---- headers that were parsed before ----

PARSED = """
from PIL import JpegImagePlugin
names = json.loads(sys.argv[2])
parsed = []

def notice(frame, event, argument):
    if event == "call" and frame.f_code is JpegImagePlugin.JpegImageFile._open.__code__:
        parsed.append(1)

def epoch(wanted):
    before = len(parsed)
    found = [see(os.path.join(sys.argv[1], name))[0] for name in wanted]
    return found, len(parsed) - before

wait()
see(os.path.join(sys.argv[1], "first.jpg"))  # the comparison with Pillow parses headers, too
sys.setprofile(notice)
print(json.dumps([epoch(names) for _ in range(3)]))
"""


def test_a_header_is_parsed_twice(run, tmp_path):
    """Whatever the sizes and Huffman tables; once more to see that it is right."""
    kinds = {f"{number:03}.jpg": images.jpeg(images.picture(50 + 9 * number, 90 - number, number),
                                             optimize=True) for number in range(COUNT)}
    images.write(tmp_path, {**kinds, "first.jpg": record(3)})
    expected = [digest_of(data) for data in kinds.values()]
    epochs = run(PARSED, tmp_path, json.dumps(list(kinds)))
    assert [found for found, _ in epochs] == [expected] * 3
    assert [parsed for _, parsed in epochs] == [COUNT, 3, 0]


@pytest.mark.skipif(not hasattr(JpegImagePlugin.JpegImageFile, "_read_dpi_from_exif"), reason="this Pillow's parser reads EXIF")
def test_a_header_with_exif_is_parsed_twice(run, tmp_path):
    """Whatever the EXIF data."""
    kinds = {f"{number:03}.jpg": images.with_header(
        images.jpeg(images.picture(50 + 9 * number, 90 - number, number)),
        images.EXIF_PLACES["behind-first"](images.exif(1 + number % 8, "a" * number))) for number in range(COUNT)}
    images.write(tmp_path, {**kinds, "first.jpg": record(3)})
    expected = [digest_of(data) for data in kinds.values()]
    epochs = run(PARSED, tmp_path, json.dumps(list(kinds)))
    assert [found for found, _ in epochs] == [expected] * 3
    assert [parsed for _, parsed in epochs] == [COUNT, 4, 0]


def test_a_header_of_an_mpo_is_parsed_twice(run, tmp_path):
    """Whatever its index, as long as Pillow would not warn of it."""
    kinds = {f"{number:03}.jpg": images.with_header(
        images.jpeg(images.picture(50 + 9 * number, 90 - number, number)),
        lambda segments: segments[:1] + [images.segment(0xe2, images.INDICES[number % 3])] + segments[1:])
        for number in range(COUNT)}
    spoilt = images.with_header(images.jpeg(images.picture(50, 90)), lambda segments: segments[:1] + [
        images.segment(0xe2, images.SPOILT_INDICES[0])] + segments[1:])
    images.write(tmp_path, {**kinds, "000-spoilt.jpg": spoilt, "first.jpg": record(3)})
    names = ["000-spoilt.jpg", *kinds]
    expected = [digest_of(data) for data in (spoilt, *kinds.values())]
    epochs = run(PARSED, tmp_path, json.dumps(names))
    assert [found for found, _ in epochs] == [expected] * 3
    assert [parsed for _, parsed in epochs] == [COUNT + 1, 4, 1]


PARSED_IN_MEMORY = PARSED.replace("see(os.path.join(sys.argv[1], name))", "see(io.BytesIO(data[name]))").replace("wait()", """
import io
data = {name: open(os.path.join(sys.argv[1], name), "rb").read() for name in names}
wait()""")


def test_a_header_in_memory_is_parsed_twice(run, tmp_path):
    kinds = {f"{number:03}.jpg": images.with_header(
        images.jpeg(images.picture(50 + 9 * number, 90 - number, number), optimize=True),
        lambda segments: segments[:1] + [images.segment(0xe2, images.INDICES[number % 3])] + segments[1:])
        for number in range(COUNT)}
    images.write(tmp_path, {**kinds, "first.jpg": record(3)})
    expected = [digest_of(data) for data in kinds.values()]
    epochs = run(PARSED_IN_MEMORY, tmp_path, json.dumps(list(kinds)))
    assert [found for found, _ in epochs] == [expected] * 3
    assert [parsed for _, parsed in epochs] == [3, 0, 0]


def test_many_headers(run, tmp_path):
    """Those that come often are not lost for those that come once."""
    kinds = {f"{number:03}.jpg": images.with_header(
        images.jpeg(images.picture(20, 20)), lambda segments: segments[:1] + [images.segment(
            0xfe, f"comment {number}".encode())] + segments[1:]) for number in range(300)}
    kinds["often.jpg"] = images.jpeg(images.picture(30, 20))
    images.write(tmp_path, {**kinds, "first.jpg": record(3)})
    names = [name for number, name in enumerate(sorted(kinds))
             for name in [name] + ["often.jpg"] * (number % 3 == 0)]
    epochs = run(PARSED, tmp_path, json.dumps(names))
    right = {name: digest_of(data) for name, data in kinds.items()}
    assert [found for found, _ in epochs] == [[right[name] for name in names]] * 3
    assert [parsed for _, parsed in epochs] == [304, 300, 300]
