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


def test_below_a_short_root(agents, base):
    """The entry's path is longer than the file's: the longest cannot be cached."""
    longer = len("/dev/shm/stoker-0/tree/data-0123456789abcdef") + len("0123456789ab;") - len(base)
    limit = PATH_MAX - 1 - longer
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
    """There the longest path fits, as an entry's path does not hold the root's."""
    root = os.path.dirname(lengthen(base, 3000))
    path = lengthen(root, PATH_MAX - 1)
    make(path, 3000)
    settle()
    assert len(path) == PATH_MAX - 1
    check(agents, root, [path, path + b"x"], [path])


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
