"""Directories that the command lists ahead of a scan."""

import os
import sys

import pytest

from origin import settle

COUNT = 120
LIST = """
import os, sys
for line in sys.stdin:
    print(*sorted(os.listdir(line[:-1])), flush=True)
"""


@pytest.fixture
def tree(origin):
    """Directories with a directory in each."""
    source, mount = origin.directory("scan")
    for number in range(COUNT):
        (source / f"c{number:03}/deep").mkdir(parents=True)
        (source / f"c{number:03}/deep/file").touch()
    settle()
    return mount


class Program:
    """A job that lists a directory when it is asked to."""

    def __init__(self, process, origin, mount):
        self._process, self._origin, self._mount = process, origin, mount
        self.list()

    def list(self, name=""):
        """Returns the names in the directory, once the command has listed what it lists for that."""
        if self._answer(name):
            self._origin.fs._control.settled_counts()
        return self._names

    def waits_for(self, name):
        """Lists the directory. Returns true if the origin was asked for it."""
        asked = self._answer(name)
        if asked:
            self._origin.fs._control.settled_counts()
        return asked

    def _answer(self, name):
        with self._origin.fs.counting() as counted:
            self._process.stdin.write(f"{self._mount}/{name}\n")
            self._process.stdin.flush()
            self._names = self._process.stdout.readline().split()
        return counted["readdir"] > 0


def lists(fs, run):
    """Returns how many directories the origin has listed."""
    before = fs._control.settled_counts()
    run()
    return (fs._control.settled_counts() - before)["readdir"] // 2


@pytest.fixture
def program(jobs, origin, tree):
    command = jobs.command_line([sys.executable, "-S", "-c", LIST], path=tree)
    with jobs.started(command) as process:
        yield Program(process, origin, tree)


@pytest.mark.parametrize("order", ["by name", "listed"])
def test_the_next_directories_are_there(program, origin, tree, order):
    """In either order. Where a scan has come to the end of these, it gets more each time."""
    names = os.listdir(tree) if order == "listed" else sorted(os.listdir(tree))
    asked = []
    assert lists(origin.fs, lambda: asked.extend(map(program.waits_for, names))) == COUNT
    at = [number for number, was_asked in enumerate(asked) if was_asked]
    gaps = [later - earlier for earlier, later in zip(at, at[1:])]
    assert at[0] == 0 and 2 <= len(at) <= 7 and min(gaps) > 8
    assert program.list(names[-1]) == ["deep"]


def test_a_scan_in_no_order(program, origin, tree):
    """Gets a few in vain."""
    names = sorted(os.listdir(tree))
    chosen = [names[number * 37 % COUNT] for number in range(20)]
    assert 20 < lists(origin.fs, lambda: [program.list(name) for name in chosen]) <= 20 + 64 + 16


def test_a_scan_that_goes_deeper(program, tree):
    names = sorted(os.listdir(tree))
    program.list(names[0])
    program.list(f"{names[0]}/deep")
    for name in names[1:10]:
        program.list(name)  # the last one asks, so the next are listed, with those below
    assert not any(program.waits_for(f"{name}/deep") for name in names[10:20])


def test_switched_off(jobs, origin, tree):
    command = jobs.command_line([sys.executable, "-S", "-c", LIST], path=tree)
    with jobs.started(command, env={"STOKER_AHEAD": "off"}) as process:
        program = Program(process, origin, tree)
        assert all(map(program.waits_for, sorted(os.listdir(tree))[:5]))
