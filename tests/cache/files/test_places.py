"""One file has one entry, however a program gets there: by nested directories, links, other
spellings, bind mounts. Two files never have one."""

import json
import os
import pathlib
import platform
import subprocess

import pytest

from jobs import HOME, reading
from origin import settle

COUNT, SIZE = 20, 3000
NO_AHEAD = {"STOKER_AHEAD": "off"}  # which fills, too


@pytest.fixture
def data(origin):
    """(the directory at the origin, the files of its directory `train`)."""
    source, mount = origin.directory("places")
    (source / "train" / "n01").mkdir(parents=True)
    names = [f"train/n01/file{number:03}" for number in range(COUNT)]
    for number, name in enumerate(names):
        (source / name).write_bytes(bytes([number]) * SIZE)
    settle()
    return mount, names


@pytest.fixture
def bound(jobs, scratch, place):
    """(a directory of the disk, a bind mount of it, the files of its directory `train`)."""
    data, mount = scratch / "data", scratch / "bound"
    (data / "train").mkdir(parents=True)
    mount.mkdir()
    for number in range(COUNT):
        (data / f"train/file{number}").write_bytes(bytes([number]) * SIZE)
    settle()
    place.run(["mount", "--bind", data, mount])
    yield data, mount, [f"train/file{number}" for number in range(COUNT)]
    place.run(["umount", mount])


def warm(jobs, path):
    done = jobs.stoker("warm", path)
    assert done.returncode == 0, done.stderr


# ---- one file, one entry ----

@pytest.mark.parametrize("warmed, covered", [
    ("{data}/train", "{data}"), ("{data}", "{data}/train"), ("{data}", "{link}"),
    ("{link}/train", "{data}"), ("{link}", "{data}/train"), ("{data}//./train/", "{link}"),
    ("{data}/train/n01", "{link}/train"), ("{inner}", "{data}"), ("{data}", "{inner}"),
])
def test_nested_and_linked(jobs, origin, scratch, data, warmed, covered):
    mount, names = data
    link, inner = scratch / "link", scratch / "inner"
    link.symlink_to(mount)
    inner.symlink_to(mount / "train")
    places = {"data": mount, "link": link, "inner": inner}
    warm(jobs, warmed.format(**places))
    path = pathlib.Path(covered.format(**places))
    below = [name.removeprefix("train/") if path.name in ("train", "inner") else name
             for name in names]
    with origin.fs.counting() as counted:
        ran = jobs.run(reading([path / name for name in below], 2), path=path)
    assert (ran.hits, ran.fills) == (2 * COUNT, 0)
    assert (counted["open"], counted["read_bytes"]) == (0, 0)


def test_records_are_shared_within_a_run(jobs, origin, data):
    """The origin is asked once for a file that two roots lead to, and its directory is read once."""
    mount, names = data
    program = ("import os, sys\n"
               "for root in sys.argv[1:]:\n"
               "    for name in sorted(os.listdir(root + '/n01')):\n"
               "        open(root + '/n01/' + name, 'rb').read()\n")
    asked = []
    for second in mount / "train", mount:
        with origin.fs.counting() as counted:
            ran = jobs.run(["sh", "-c", '/usr/bin/python3 -c "$1" "$2"; STOKER_PATHS=$3 '
                            '/usr/bin/python3 -c "$1" "$2"', "sh", program, mount / "train", second],
                           path=mount / "train", env=NO_AHEAD)
        assert (ran.fills, ran.hits, counted["open"]) == (COUNT, COUNT, COUNT)
        asked.append(counted["getattr_file"] + counted["lookup_file"])
    assert asked[1] < asked[0] + COUNT / 2


@pytest.mark.parametrize("first, second", [("{data}", "{mount}"), ("{mount}", "{data}"),
                                           ("{data}/train", "{mount}"), ("{mount}/train", "{data}"),
                                           ("{data}", "{mount}/train")])
def test_bind_mounts(jobs, bound, first, second):
    data, mount, names = bound
    places = {"data": data, "mount": mount}
    warm(jobs, first.format(**places))
    path = pathlib.Path(second.format(**places))
    below = [name.removeprefix("train/") if path.name == "train" else name for name in names]
    ran = jobs.run(reading([path / name for name in below], 1), path=path, env=NO_AHEAD)
    assert (ran.hits, ran.fills, ran.bytes_origin) == (COUNT, 0, 0)


# ---- two places at once ----

def test_a_descriptor_leads_back_to_the_path_that_was_opened(jobs, bound):
    data, mount, names = bound
    program = ("import json, os, sys\n"
               "fds = [os.open(path, os.O_RDONLY) for path in sys.argv[1:] * 2]\n"
               "print(json.dumps([[os.readlink(f'/proc/self/fd/{fd}') for fd in fds],\n"
               "                  [os.fstat(fd).st_ino for fd in fds]]))\n")
    files = [str(root / name) for root in (data, mount) for name in names]
    ran = jobs.run(["/usr/bin/python3", "-c", program, *files], path=[data, mount], env=NO_AHEAD)
    names_seen, inodes = json.loads(ran.stdout)
    assert names_seen == files * 2
    assert inodes == [os.stat(data / name).st_ino for name in names] * 4


def test_a_mount_that_allows_less(jobs, place, bound):
    """A look at a file by one mount says nothing about its rights on another."""
    data, mount, names = bound
    place.run(["mount", "-o", "remount,bind,ro", mount])
    program = ("import os, sys\n"
               "for path in sys.argv[1:] * 2:\n"
               "    open(path, 'rb').read()\n"
               "    print(os.access(path, os.W_OK))\n")
    files = [root / names[0] for root in (data, mount)]
    ran = jobs.run(["/usr/bin/python3", "-c", program, *files], path=[data, mount], env=NO_AHEAD)
    assert ran.stdout.split() == ["True", "False"] * 2


@pytest.mark.parametrize("change", ["write", "replace", "remove", "rename"])
@pytest.mark.parametrize("roots", ["nested", "linked", "bound"])
def test_a_change_by_one_path_is_seen_by_the_other(jobs, bound, roots, change):
    data, mount, names = bound
    (data.parent / "link").symlink_to(data)
    other = {"nested": data, "linked": data.parent / "link", "bound": mount}[roots]
    paths = [data / "train", data] if roots == "nested" else [data, other]
    program = """if True:
        import os, sys
        one, other, change = sys.argv[1:]
        def see(path):
            try:
                return open(path, "rb").read(5), os.stat(path).st_size
            except FileNotFoundError:
                return None
        for _ in range(2):
            see(one), see(other)
        if change == "write":
            with open(one, "r+b") as file:
                file.write(b"other")
        elif change == "replace":
            with open(one + "2", "wb") as file:
                file.write(b"other file")
            os.rename(one + "2", one)
        elif change == "remove":
            os.unlink(one)
        else:
            os.rename(os.path.dirname(one), os.path.dirname(one) + "2")
        print(see(one) == see(other), see(other))
        """
    one = data / names[3]
    ran = jobs.run(["/usr/bin/python3", "-c", program, one, other / names[3], change],
                   path=paths, env=NO_AHEAD)
    seen = {"write": (b"other", SIZE), "replace": (b"other", 10), "remove": None, "rename": None}
    assert ran.stdout == f"True {seen[change]}\n"


def test_a_mount_over_a_directory_of_the_data_set(jobs, place, scratch, bound):
    """Below the bind mount lies what the mount hides elsewhere, at the same path of the volume."""
    data, mount, names = bound
    hiding = scratch / "hiding"
    hiding.mkdir()
    for name in names:
        (hiding / os.path.basename(name)).write_bytes(b"hides" * 600)
    settle()
    place.run(["mount", "--bind", hiding, data / "train"])
    try:
        for _ in range(2):
            ran = jobs.run(["sh", "-c", "cat $1 $2 $1 $2 | md5sum; STOKER_PATHS= LD_PRELOAD= sh -c "
                            '"cat $1 $2 $1 $2 | md5sum"', "sh", data / names[1], mount / names[1]],
                           path=[data, mount], env=NO_AHEAD, flags=["--keep"])
            assert len(set(ran.stdout.splitlines())) == 1 and ran.hits + ran.fills == 4
    finally:
        place.run(["umount", data / "train"])
    for _ in range(2):
        ran = jobs.run(["cat", data / names[1]], path=data, env=NO_AHEAD, flags=["--keep"])
        assert ran.stdout == "\1" * SIZE


@pytest.mark.parametrize("over", ["", "train"])
def test_a_working_directory_that_a_mount_hides(jobs, bound, over):
    """Relative names lead below what is hidden, the same names as paths to what hides it."""
    data, mount, names = bound
    hiding = data.parent / "hiding"
    (hiding / "train").mkdir(parents=True)
    for place in hiding, hiding / "train":
        (place / "file1").write_bytes(b"hides" * 600)
    settle()
    program = ("import os, sys\n"
               "path, held = sys.argv[1], os.open('.', os.O_RDONLY)\n"
               "for _ in range(2):\n"
               "    for name, fd in (path, None), ('file1', None), ('file1', held):\n"
               "        with open(os.open(name, os.O_RDONLY, dir_fd=fd), 'rb') as file:\n"
               "            read = file.read(5)\n"
               "        print(read, os.stat(name, dir_fd=fd).st_ino)\n")
    expected = [f"{b'hides'} {os.stat(hiding / 'train/file1').st_ino}",
                *[f"{bytes([1]) * 5} {os.stat(data / names[1]).st_ino}"] * 2] * 2
    script = 'cd $1/train && mount --bind $2 $1/$3 && exec /usr/bin/python3 -c "$4" $1/train/file1'
    ran = jobs.run(["unshare", "-m", "sh", "-c", script, "sh", data,
                    hiding / over, over, program], path=data, env=NO_AHEAD)
    assert ran.stdout.splitlines() == expected
    assert ran.hits + ran.fills == 2


CLONES = {"clone": 56 if platform.machine() == "x86_64" else 220, "clone3": 435}


@pytest.mark.parametrize("how", ["libc", *CLONES])
def test_a_child_that_begins_with_a_view_of_its_own(jobs, bound, how):
    data, mount, names = bound
    hiding = data.parent / "hiding"
    hiding.mkdir()
    (hiding / "file1").write_bytes(b"hides" * 600)
    settle()
    program = """if True:
        import ctypes, os, sys
        path, hiding, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
        libc = ctypes.CDLL(None, use_errno=True)
        NEWNS, CHILD, PRIVATE, BIND = 0x20000, 17, 0x44000, 0x1000
        def look():
            print(open(path, "rb").read(5), os.stat(path).st_ino, flush=True)
        def begin(_=None):
            assert libc.mount(b"none", b"/", None, PRIVATE, None) == 0
            assert libc.mount(hiding.encode(), os.path.dirname(path).encode(), None, BIND, None) == 0
            look()
            look()
            os._exit(0)
        look()
        look()
        if number == 0:
            stack = ctypes.create_string_buffer(1 << 20)
            top = ctypes.c_void_p((ctypes.addressof(stack) + (1 << 20)) & ~15)
            kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(begin)
            child = libc.clone(kind, top, NEWNS | CHILD, None)
        elif number == 435:
            child = libc.syscall(number, (ctypes.c_uint64 * 8)(NEWNS, 0, 0, 0, CHILD, 0, 0, 0), 64)
        else:
            child = libc.syscall(number, NEWNS | CHILD, None, None, None, None)
        if child == 0:
            begin()
        assert os.waitpid(child, 0)[1] == 0
        look()
        """
    ran = jobs.run(["/usr/bin/python3", "-c", program, data / names[1], hiding,
                    CLONES.get(how, 0)], path=data, env=NO_AHEAD)
    here = f"{bytes([1]) * 5} {os.stat(data / names[1]).st_ino}"
    there = f"{b'hides'} {os.stat(hiding / 'file1').st_ino}"
    assert ran.stdout.splitlines() == [here, here, there, there, here]
    assert ran.hits == 2


# ---- one volume after another on one mount point ----

@pytest.fixture
def copies(scratch, place):
    """Two images with one number. Files with the same names differ in content, size and times."""
    source, mount = scratch / "source", scratch / "mount"
    (source / "train").mkdir(parents=True)
    mount.mkdir()
    (source / "train/file").write_bytes(b"one")
    images = [scratch / "one.img", scratch / "other.img"]
    try:
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", source, images[0], "4096"], check=True,
                       capture_output=True)
        images[1].write_bytes(images[0].read_bytes())
        place.run(["sh", "-c", "mount -o loop $1 $2 && echo other > $2/train/file; umount $2",
                   "sh", images[1], mount])
        assert images[0].read_bytes() != images[1].read_bytes()
    except (OSError, AssertionError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no loop mounts: {error}")
    settle()
    return mount, images


@pytest.mark.parametrize("apart", [[], ["unshare", "-m"]], ids=["", "in namespaces"])
def test_a_copy_of_a_volume_after_it_in_one_run(jobs, copies, apart):
    mount, images = copies
    script = ("mount -o loop,ro $1 $2; for i in 1 2; do cat $2/train/file; stat -c ' %s' "
              "$2/train/file; ls $2/train; done; umount $2")
    one = " ".join(map(str, [*apart, "sh", "-c", '"$0"', "sh"]))
    ran = jobs.run(["sh", "-c", f"{one} $1 $3; {one} $2 $3; {one} $1 $3", script, *images, mount],
                   path=mount, env=NO_AHEAD)
    expected = {"one": "one 3\nfile\n" * 2, "other": "other\n 6\nfile\n" * 2}
    assert ran.stdout == expected["one"] + expected["other"] + expected["one"]


# ---- what the command does with them ----

def listed(jobs, tier):
    return [line.split()[-1] for line in jobs.stoker("ls", "--tier", tier).stdout.splitlines()
            if " file" in line]


def test_clear_finds_them_by_any_path(jobs, scratch, bound):
    data, mount, names = bound
    tier = scratch / "tier"
    tier.mkdir()
    (data / "val").write_bytes(b"val" * 100)
    settle()
    for path in mount / "train", mount / "val", data:
        assert jobs.stoker("warm", data, "--tier", tier).returncode == 0
        assert listed(jobs, tier) == [str(data)]
        said = jobs.stoker("clear", "--tier", tier, path).stdout
        count = {mount / "train": COUNT, mount / "val": 1, data: COUNT + 1}[path]
        assert said.startswith(f"removed {count} cached file"), said
    assert listed(jobs, tier) == []
    assert os.listdir(tier / HOME / "tree") == []


def test_nested_data_sets_are_listed_and_verified_once(jobs, scratch, bound):
    data, _, names = bound
    tier = scratch / "tier"
    tier.mkdir()
    (data / "val").write_bytes(b"val" * 100)
    settle()
    for path in data / "train", data:
        assert jobs.stoker("warm", path, "--tier", tier).returncode == 0
    assert listed(jobs, tier) == [str(data)]
    assert jobs.stoker("verify", "--tier", tier).stdout.startswith(f"{COUNT + 1} copies right")


def test_entries_of_older_names_are_removed(jobs, scratch, bound):
    """No process finds them any more; the room they took is given back."""
    data, _, names = bound
    tier = scratch / "tier"
    old = tier / HOME / "tree" / "data-0123456789abcdef"
    (old / "train").mkdir(parents=True)
    for path in tier / HOME, tier / HOME / "tree", old:
        path.chmod(0o700)
    (old / "train/0123456789ab;file0").write_bytes(b"old" * 1_000_000)
    wait = 'while test -e "$1"; do sleep 0.05; done; cat "$2"'
    jobs.run(["sh", "-c", wait, "sh", old, data / names[0]], path=data, tier=tier, env=NO_AHEAD)
    assert len(os.listdir(tier / HOME / "tree")) == 1
    usage = jobs.stoker("ls", "--tier", tier).stdout.splitlines()[0]
    assert "KiB" in usage.split(" used")[0], usage


def test_a_data_set_below_a_hidden_directory(jobs, scratch, bound):
    data, _, names = bound
    tier = scratch / "tier"
    tier.mkdir()
    hidden = scratch / ".cache/set"
    (hidden / "0123456789ab;x/y").mkdir(parents=True)
    for name in "file", "0123456789ab;x/y/file":
        (hidden / name).write_bytes(b"hidden")
    settle()
    assert jobs.stoker("warm", hidden / "0123456789ab;x/y", "--tier", tier).returncode == 0
    assert listed(jobs, tier) == [str(hidden / "0123456789ab;x/y")]
    assert jobs.stoker("warm", hidden, "--tier", tier).returncode == 0
    assert listed(jobs, tier) == [str(hidden)]
    assert jobs.stoker("verify", "--tier", tier).stdout.startswith("2 copies right")
    hidden.rename(scratch / "gone")
    assert jobs.stoker("clear", "--tier", tier, hidden).stdout.startswith("removed 2 cached files")


def test_what_is_mounted_in_a_tier_is_not_removed(jobs, scratch, place, bound):
    data, mount, names = bound
    tier = scratch / "tier"
    old = tier / HOME / "tree" / "data-0123456789abcdef"
    (old / "mounted").mkdir(parents=True)
    (old / "other").mkdir()
    for path in tier / HOME, tier / HOME / "tree", old:
        path.chmod(0o700)
    place.run(["mount", "--bind", data, old / "mounted"])
    try:
        wait = 'while test -e "$1"; do sleep 0.05; done; cat "$2"'
        jobs.run(["sh", "-c", wait, "sh", old / "other", data / names[0]], path=data, tier=tier,
                 env=NO_AHEAD)
        jobs.stoker("clear", "--tier", tier)
        assert len(os.listdir(data / "train")) == COUNT
    finally:
        place.run(["umount", old / "mounted"])
