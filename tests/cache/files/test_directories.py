"""Directories that are listed: what it costs the origin, and that everybody sees the same."""

import contextlib
import itertools
import os
import pathlib
import shlex
import sys
import tempfile

import pytest
import slowfs

from isolated import Isolated
from jobs import YOUNG, Jobs, read_line, wait_for
from origin import settle

CLASSES, FILES = 4, 6
LISTED = ("opendir", "readdir")
BELIEVED = {"STOKER_LISTINGS": "mtime"}


def make_tree(origin, name):
    """Classes of images as ImageFolder wants them, and a few things beside them."""
    source, mount = origin.directory(name)
    for number in range(CLASSES):
        (source / f"c{number}/deep").mkdir(parents=True)
        for file in range(FILES):
            (source / f"c{number}/{file}.jpg").write_bytes(b"not a JPEG")
        (source / f"c{number}/deep/x.jpg").write_bytes(b"neither")
    (source / "c1/link").symlink_to("../c0/deep")
    (source / "c1/empty").mkdir()
    settle()
    return source, mount


def scan(programs, mount, *ways):
    return [sys.executable, programs / "scan.py", mount, *ways]


def twice(argv):
    """Runs a command line in two processes, one after the other, and prints only once."""
    return ["sh", "-c", '"$@" >/dev/null && exec "$@"', "sh", *argv]


def test_all_ways_of_listing_give_the_same(jobs, origin, programs):
    """Torchvision's has a test of its own, below."""
    _, mount = make_tree(origin, "ways")
    plain = jobs.place.run(scan(programs, mount))
    assert jobs.run(scan(programs, mount), path=mount, flags=["--keep"]).stdout == plain.stdout
    assert jobs.run(twice(scan(programs, mount)), path=mount).stdout == plain.stdout


def test_a_descriptor_is_listed_twice(jobs, origin, programs):
    """Python makes another one of the same offset each time, and goes back to the start behind it."""
    _, mount = make_tree(origin, "descriptor")
    argv = scan(programs, mount, "descriptor", "shared")
    plain = jobs.place.run(argv)
    for _ in range(2):
        assert jobs.run(twice(argv), path=mount, flags=["--keep"]).stdout == plain.stdout
        assert jobs.run(argv, path=mount).stdout == plain.stdout


REWOUND = """
import ctypes, os, sys, time
top, libc = sys.argv[1], ctypes.CDLL(None)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.readdir.argtypes = libc.rewinddir.argtypes = [ctypes.c_void_p]
directory = libc.opendir(top.encode())
for _ in range(3):
    last = libc.readdir(directory)
name = ctypes.string_at(last + 19)
os.mkdir(top + "/made")
time.sleep(0.2)
os.listdir(top)
libc.rewinddir(directory)
print(ctypes.string_at(last + 19) == name)
"""


def test_a_name_that_was_read_stays_readable(jobs, origin):
    """Going back to the start brings another listing, as the directory has changed."""
    _, mount = make_tree(origin, "rewound")
    argv = [sys.executable, "-S", "-c", REWOUND, mount]
    assert jobs.run(argv, path=mount).stdout == "True\n"


TOOLS = ['find "$1"', 'find "$1" -type f -name "*.jpg" -printf "%p %i %s\\n"', 'ls -aR "$1"',
         'ls -lU "$1/c1"', 'ls -f "$1"', 'du -a "$1"', 'cd "$1" && find . -depth', 'grep -r a "$1"',
         'tar -cf - -C "$1" . | tar -tf -', 'cd "$1/c0" && echo * .* ../c1/*']


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_find_the_same(jobs, origin, tool):
    _, mount = make_tree(origin, "tools")
    argv = ["sh", "-c", tool, "sh", mount]
    plain = jobs.place.run(argv, check=False)
    for _ in range(2):
        ran = jobs.run(twice(argv), path=mount, flags=["--keep"], check=False)
        assert ran.stdout == plain.stdout


@pytest.mark.parametrize("way", ["walk links", "fwalk"])
def test_the_next_process_of_a_run_asks_nobody(jobs, origin, programs, way):
    """But for what leads to the directories: the root itself is looked at."""
    _, mount = make_tree(origin, "next")
    with jobs.started(jobs.command_line(["sh"], mount)) as shell:
        counted = []
        for one in way, "walk":
            with origin.fs.counting() as counting:
                shell.stdin.write(shlex.join(map(str, scan(programs, mount, one))) +
                                  " >/dev/null; echo done\n")
                shell.stdin.flush()
                assert shell.stdout.readline() == "done\n"
            counted.append(counting)
            origin.fs._control.settled_counts()
    directories = 1 + 2 * CLASSES + 2  # one of them twice, by a link
    assert directories <= counted[0]["opendir"] <= 2 * directories  # the command lists ahead
    assert counted[0]["readdir"] <= 2 * directories
    for operation in LISTED:
        assert counted[1][operation] == 0, operation


def test_a_first_scan_costs_no_more_listing_than_a_plain_one(jobs, origin, programs):
    _, mount = make_tree(origin, "first")
    argv = scan(programs, mount, "walk")
    with origin.fs.counting() as plain:
        jobs.place.run(argv)
    with origin.fs.counting() as cold:
        jobs.run(argv, path=mount, env={"STOKER_AHEAD": "off"})
    for operation in LISTED:
        assert 0 < cold[operation] <= plain[operation], operation


MANY = 40


@pytest.fixture
def remembering(session_scratch, build):
    """Two mounts of one source with MANY directories. The kernel keeps their names and attributes
    for long, so each look-up counts once. It mounts them before the place, which must see them."""
    source = pathlib.Path(tempfile.mkdtemp(dir=session_scratch))
    source.chmod(0o755)
    for number in range(MANY):
        (source / f"c{number}").mkdir()
        (source / f"c{number}/x.jpg").touch()
    settle()
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(slowfs.SlowFS(source, binary=str(build / "slowfs"),
                                                 attr_timeout=600, entry_timeout=600))
               for _ in range(2)]


def asked(fs, run):
    """How much a run has asked for, once the command has, too."""
    before = fs._control.settled_counts()
    run()
    after = fs._control.settled_counts()
    return sum((after - before)[operation] for operation in
               ("getattr_other", "lookup_other", "lookup_negative", "opendir", "readdir"))


@pytest.mark.parametrize("ahead", ["on", "off"])
@pytest.mark.parametrize("way", ["walk links", "classes", "fwalk"])
@pytest.mark.parametrize("env, each", [({}, 0), (BELIEVED, 1)], ids=["auto", "mtime"])
def test_a_first_scan_asks_what_a_plain_one_does(remembering, jobs, programs, way, env, each, ahead):
    """But for one look at each directory, where its times count, or its descriptor may be old. A
    directory that the command lists ahead may be opened by the program, too."""
    first, other = remembering
    plain = asked(first, lambda: jobs.place.run(scan(programs, first.mountpoint, way)))
    cold = asked(other, lambda: jobs.run(scan(programs, other.mountpoint, way), path=other.mountpoint,
                                         env={**env, "STOKER_AHEAD": ahead}))
    each = max(each, way == "fwalk") + (ahead == "on") * (1 + (way == "fwalk"))
    assert plain >= 4 * MANY
    assert cold <= plain + each * (MANY + 1) + 6  # what it takes to know a root


LOOK = """
import os, sys
for line in sys.stdin:
    print(os.path.isdir(line[:-1]) and os.listdir(line[:-1]), flush=True)
"""


def test_what_lies_beside_is_looked_at_ahead(jobs, origin):
    """By the command, once a process had to ask for one directory; and not for all there are."""
    source, mount = origin.directory("beside")
    for number in range(MANY):
        (source / f"c{number}").mkdir()
        (source / f"c{number}/x.jpg").touch()
    settle()
    jobs.run(["find", mount], path=mount, flags=["--keep"], env=BELIEVED)
    names = os.listdir(mount)
    argv = [sys.executable, "-S", "-c", LOOK]
    with jobs.started(jobs.command_line(argv, mount, flags=["--keep"]), env=BELIEVED) as process:
        def look(name):
            with origin.fs.counting() as counted:
                process.stdin.write(f"{mount}/{name}\n")
                process.stdin.flush()
                assert process.stdout.readline() == ("['x.jpg']\n" if name else f"{names}\n")
            origin.fs._control.settled_counts()
            return sum(counted.counts().values())
        look("")
        assert look(names[0]) > 0
        by_name = sorted(names)
        at = by_name.index(names[0])
        ahead = {*names[1:9], *by_name[at + 1:at + 9]}
        assert [look(name) for name in ahead] == [0] * len(ahead)
        assert look(next(name for name in names[1:] if name not in ahead)) > 0


@pytest.mark.parametrize("believed", [False, True])
def test_a_new_run_lists_anew_where_times_tell_nothing(jobs, origin, programs, believed):
    """slowfs is of FUSE, which may not keep a directory's times, unless the user vouches for
    them."""
    _, mount = make_tree(origin, "anew")
    argv, env = scan(programs, mount, "walk links"), BELIEVED if believed else {}
    first = jobs.run(argv, path=mount, flags=["--keep"], env=env)
    with origin.fs.counting() as counted:
        second = jobs.run(argv, path=mount, flags=["--keep"], env=env)
    assert first.stdout == second.stdout
    for operation in LISTED:
        assert (counted[operation] == 0) == believed, operation


@pytest.mark.torch
def test_an_image_folder_is_found_without_the_origin(origin, programs, build, scratch):
    """Counted where the kernel forgets nothing, however long a program takes."""
    pytest.importorskip("torchvision")
    source, _ = make_tree(origin, "folder")

    @contextlib.contextmanager
    def mounted():
        """A mount, jobs that see it, and their program."""
        with slowfs.SlowFS(source, binary=str(build / "slowfs"), attr_timeout=3600, entry_timeout=3600) as fs, \
                Isolated() as own:
            yield fs, Jobs(own, build, scratch), scan(programs, fs.mountpoint, "folder")

    def found(ran, fs):
        return ran.stdout.replace(fs.mountpoint, "")

    with mounted() as (fs, jobs, argv), fs.counting() as plain:
        without = found(jobs.place.run(argv), fs)
    with mounted() as (fs, jobs, argv):
        jobs.run(scan(programs, fs.mountpoint, "walk links"), path=fs.mountpoint, flags=["--keep"], env=BELIEVED)
        with fs.counting() as counted:  # without the looks of the command, which reads ahead
            ran = jobs.run(argv, path=fs.mountpoint, flags=["--keep"], env={**BELIEVED, "STOKER_AHEAD": "off"})
        assert found(ran, fs) == without
    assert [counted[operation] for operation in LISTED] == [0, 0]
    assert counted["getattr_other"] <= plain["opendir"] + 3  # each directory once
    assert counted["lookup_other"] <= 3


ABSENT = """
import os, sys
top = sys.argv[1]
os.listdir(top)
print("listed", flush=True)
for line in sys.stdin:
    names = [f"{top}/absent{number}" for number in range(*map(int, line.split()))]
    found = [*map(os.path.exists, names), *(os.access(name, os.R_OK) for name in names)]
    print(any(found), os.path.exists(top + "/c0"), flush=True)
"""


@contextlib.contextmanager
def asking(jobs, origin, mount, env):
    """cost(first, last): how many names the origin is asked for when these are, twice each."""
    line = jobs.command_line([sys.executable, "-c", ABSENT, mount], path=mount)
    with jobs.started(line, env=env) as process:
        def cost(first, last):
            with origin.fs.counting() as counted:
                process.stdin.write(f"{first} {last}\n")
                process.stdin.flush()
                assert read_line(process) == "False True"
            return counted["lookup_negative"]
        assert read_line(process) == "listed"
        yield cost


def test_names_that_are_absent_are_not_asked_for_each(jobs, origin):
    """Once the command has looked at the directory."""
    _, mount = make_tree(origin, "absent")
    numbers = itertools.count()
    with asking(jobs, origin, mount, BELIEVED) as cost:
        wait_for(lambda: cost(number := next(numbers), number + 1) == 0)
        assert cost(10_000, 10_200) == 0
    with asking(jobs, origin, mount, {}) as cost:
        origin.fs._control.settled_counts()
        assert cost(10_000, 10_200) == 400  # the user has not vouched for its times


# ---- versions ----

LOOP = """
import os, sys
for line in sys.stdin:
    print(sorted(os.listdir(sys.argv[1])), flush=True)
"""


class Looker:
    """A process that lists a directory whenever it is asked."""

    def __init__(self, process):
        self._process = process

    def see(self):
        self._process.stdin.write("look\n")
        self._process.stdin.flush()
        return eval(self._process.stdout.readline())


def looking(jobs, mount, **env):
    argv = [sys.executable, "-c", LOOP, mount]
    return jobs.started(jobs.command_line(argv, mount, flags=["--keep"]), env=env)


@pytest.mark.parametrize("env", [{}, BELIEVED], ids=["auto", "mtime"])
def test_what_others_change_is_seen_in_the_next_run(jobs, origin, env):
    source, mount = make_tree(origin, "others")
    before = sorted(os.listdir(source))
    with looking(jobs, mount, **env) as process:
        looker = Looker(process)
        assert looker.see() == before
        origin.fs._control.settled_counts()
        (source / "new").touch()
        settle()
        assert looker.see() == before
        with looking(jobs, mount, **env) as other:
            assert Looker(other).see() == sorted([*before, "new"])
        os.rename(source / "new", source / "newer")
        settle()
        with looking(jobs, mount, **env) as other:
            assert Looker(other).see() == sorted([*before, "newer"])


@pytest.mark.parametrize("env", [{}, BELIEVED], ids=["auto", "mtime"])
def test_what_others_change_is_seen_at_once_if_asked_for(jobs, origin, env):
    source, mount = make_tree(origin, "once")
    before = sorted(os.listdir(source))
    with looking(jobs, mount, **env, STOKER_FRESH="open") as process:
        looker = Looker(process)
        for _ in range(2):
            assert looker.see() == before
        (source / "new").touch()
        for _ in range(2):
            assert looker.see() == sorted([*before, "new"])
        settle()
        for _ in range(2):
            assert looker.see() == sorted([*before, "new"])
        os.unlink(source / "new")
        assert looker.see() == before


def test_a_young_directory_is_not_kept(jobs, origin):
    """Two changes within one tick of the origin's clock would look like one."""
    source, mount = make_tree(origin, "young")
    with looking(jobs, mount, STOKER_MIN_AGE="100") as process:
        looker = Looker(process)
        before = looker.see()
        (source / "new").touch()
        assert looker.see() == sorted([*before, "new"])


# ---- the tier ----

def listings(jobs):
    tree = pathlib.Path(jobs.place.path("/dev/shm/stoker-0/tree"))
    return [path for path in tree.rglob("*") if path.name.endswith(";")]


def test_listings_are_counted_and_cleared(jobs, origin, programs):
    _, mount = make_tree(origin, "counted")
    jobs.run(scan(programs, mount, "walk"), path=mount, flags=["--keep"])
    kept = listings(jobs)
    assert len(kept) == 1 + 2 * CLASSES + 1
    assert {path.stat().st_mode & 0o7777 for path in kept} == {0o400}
    used = jobs.used()
    assert used[0] >= sum(path.stat().st_blocks * 512 for path in kept) * 0.99
    assert used[2] >= len(kept)
    home = pathlib.Path(jobs.place.path("/dev/shm/stoker-0"))
    taken = sum(path.lstat().st_blocks * 512 for path in home.rglob("*"))
    assert taken * 0.98 <= used[0] <= taken * 1.05 + (560 << 10)  # a run's own file is announced ahead
    jobs.stoker("clear", mount)
    assert listings(jobs) == []
    assert jobs.used()[2] <= used[2] - len(kept)


def test_nothing_is_kept_beyond_the_budget(jobs, origin, programs):
    source, mount = make_tree(origin, "full")
    for number in range(60):
        (source / "c0" / ("n" * 200 + str(number))).touch()
    for number in range(300):
        (source / f"more/{number}/d").mkdir(parents=True)
        (source / f"more/{number}/{'n' * 240}").touch()
    settle()
    plain = jobs.place.run(scan(programs, mount, "walk"))
    for _ in range(2):
        ran = jobs.run(scan(programs, mount, "walk"), path=mount, tier="/dev/shm:4M",
                       flags=["--keep"])
        assert ran.stdout == plain.stdout
        assert 0 < len(listings(jobs)) < 600
        assert sum(path.stat().st_blocks * 512 for path in listings(jobs)) < 4 << 20


@pytest.mark.parametrize("damage", ["cut", "written", "empty", "gone", "foreign"])
def test_a_damaged_listing_is_made_again(jobs, origin, programs, damage):
    _, mount = make_tree(origin, "damaged")
    argv = scan(programs, mount, "walk")
    plain = jobs.place.run(argv)
    jobs.run(argv, path=mount, flags=["--keep"], env=BELIEVED)
    kept = listings(jobs)
    other = kept[0].read_bytes()
    for path in kept:
        data = path.read_bytes()
        path.chmod(0o600)
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes({"cut": data[:-20], "written": data[:60] + b"x" + data[61:],
                              "empty": b"", "foreign": other if path != kept[0] else b"x" * 100
                              }[damage])
    for _ in range(2):
        assert jobs.run(argv, path=mount, flags=["--keep"], env=BELIEVED).stdout == plain.stdout
    assert len(listings(jobs)) == len(kept)


def test_off_is_off(jobs, origin, programs):
    _, mount = make_tree(origin, "off")
    for _ in range(2):
        jobs.run(scan(programs, mount, "walk"), path=mount, flags=["--keep"],
                 env={"STOKER_LISTINGS": "off", **YOUNG})
    assert listings(jobs) == []
