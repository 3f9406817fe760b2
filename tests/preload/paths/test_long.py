"""Paths as long as the kernel takes them, longer, and deeper than that by chdir."""

import os

import pytest

import matrix
from origin import settle

PATH_MAX = 4096  # with the zero at the end
ENAMETOOLONG = 36


def lengthen(path, length):
    """The path of exactly so many bytes below `path`: directories of 200, a leaf of the rest."""
    left = length - len(path)
    while left > 255:
        step = 201 if left - 201 > 1 else 101
        path, left = path + b"/" + b"d" * (step - 1), left - step
    return path + b"/" + b"f" * (left - 1)


def make(path, size):
    """Makes a file whose path may be too long for the kernel, step by step."""
    os.chdir("/")
    *directories, leaf = path.strip(b"/").split(b"/")
    for name in directories:
        if not os.path.isdir(name):
            os.mkdir(name)
        os.chdir(name)
    with open(leaf, "wb") as file:
        file.write(os.urandom(size))
    os.chdir("/")


@pytest.fixture
def base(scratch):
    (scratch / "data").mkdir()
    return os.fsencode(scratch / "data")


def check(agents, root, paths, cached):
    """Each cold, warm, and in the next run."""
    for _ in range(2):
        with agents.shim(os.fsdecode(root)) as shim, agents.plain() as plain:
            for path in paths:
                for _ in range(2):
                    seen, expected = shim.see(path), plain.see(path)
                    assert seen == expected
                    assert seen.served["open"] == (path in cached), len(path)
    assert shim.summary["hits"] >= len(cached)


def on_volume(path):
    """The type of a directory's file system, and its path there: from the mount table."""
    found = b"", b"", b""
    for line in open("/proc/self/mountinfo", "rb"):
        before, behind = line.split(b" - ")
        top, point = before.split()[3:5]
        point = point.rstrip(b"/")
        if path.startswith(point + b"/") and len(point) >= len(found[0]):
            found = point, top.rstrip(b"/"), behind.split()[0]
    point, top, kind = found
    return kind, top + path[len(point):]


def longest(base):
    """The length of the longest path below `base` whose entry's path fits."""
    kind, below = on_volume(base)
    name = kind + b"@0123456789abcdef" + below
    longer = len(b"/dev/shm/stoker-0/tree/" + name + b"0123456789ab;") - len(base)
    return PATH_MAX - 1 - longer


def test_below_a_short_root(agents, base):
    """The entry's path is longer than the file's: the longest cannot be cached."""
    limit = longest(base)
    lengths = [1000, 2000, 3900, limit, limit + 1, 4094, 4095]
    paths = [lengthen(base, length) for length in lengths]
    for path in paths:
        make(path, 3000)
    settle()
    assert [len(path) for path in paths] == lengths
    too_long = [lengthen(base, 4095) + b"x", lengthen(base, 4095) + b"/", base + b"/" * 4096]
    check(agents, base, paths + too_long, [path for path in paths if len(path) <= limit])
    with agents.shim(os.fsdecode(base)) as shim:
        assert shim.see(too_long[0])["open"] == ("errno", ENAMETOOLONG)
    matrix.record("Paths", "paths of up to 4,095 bytes, and longer", "",
                  f"{len(paths) + len(too_long)} lengths", "same")


def test_below_a_long_root(agents, base):
    """An entry's path holds the root's: the same paths fit as below the directories above it."""
    root = os.path.dirname(lengthen(base, 3000))
    limit = longest(base)
    fits, too_long, last = (lengthen(root, length) for length in (limit, limit + 1, PATH_MAX - 1))
    for path in fits, too_long, last:
        make(path, 3000)
    settle()
    check(agents, root, [fits, too_long, last, last + b"x"], [fits])


def test_deeper_than_any_path(agents, base):
    """A directory 6,000 bytes down, reached by chdir and by descriptors."""
    path = lengthen(base, 6000)
    make(path, 3000)
    settle()
    *directories, leaf = path[len(base) + 1:].split(b"/")
    with agents.shim(os.fsdecode(base)) as shim, agents.plain() as plain:
        for agent in shim, plain:
            agent.chdir(base)
        for depth, name in enumerate(directories):
            for agent in shim, plain:
                agent.chdir(name)
            if depth % 5 == 0:
                assert shim.see(b".") == plain.see(b".")
        expected = plain.see(leaf)
        assert expected.content[:2] == ("file", 3000)
        for agent in shim, plain:
            agent.fd = agent.open(b".", os.O_RDONLY | os.O_DIRECTORY)
            assert agent.see(leaf) == agent.see(leaf, agent.fd) == expected
            agent.chdir(b"/")
            assert agent.see(leaf, agent.fd) == expected
        # It can be changed there, too.
        shim.fchdir(shim.fd)
        shim.write(leaf, b"changed")
        assert shim.see(leaf) == plain.see(leaf, plain.fd) != expected
        shim.unlink(leaf)
        assert shim.see(leaf) == plain.see(leaf, plain.fd)
    matrix.record("Paths", "a directory 6,000 bytes deep, by chdir and descriptors", "",
                  "read, written, removed", "same")


def test_long_links(agents, base):
    """Links as long as they may be, forty of them in a row, and one too many."""
    target = lengthen(base, 4095)
    make(target, 3000)
    os.symlink(target, base + b"/long")
    os.symlink(b"./" * 2000 + b"short", base + b"/dots")
    make(base + b"/short", 2000)
    previous = b"short"
    for number in range(41):
        os.symlink(previous, base + b"/chain%d" % number)
        previous = b"chain%d" % number
    settle()
    cached = [base + b"/" + name for name in (b"long", b"dots", b"short", b"chain38")]
    check(agents, base, [*cached, base + b"/chain39", base + b"/chain40"],
          [*cached, base + b"/chain39"])
    with agents.shim(os.fsdecode(base)) as shim:
        assert shim.see(base + b"/chain40")["open"] == ("errno", 40)  # ELOOP
