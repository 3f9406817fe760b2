"""Time namespaces: processes with different CLOCK_BOOTTIMEs use one cache. Each process sees the true
age of the others' looks and changes."""

import ctypes
import os
import pathlib
import subprocess

import pytest

import matrix
import tree
from agent import Child
from origin import settle

NEW_TIME = 0x80


def uptime_s():
    return int(float(pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0]))


def apart(offset_s):
    """Returns a wrapper that runs a command in a time namespace of its own."""
    return ["unshare", "-T", "--boottime", str(offset_s), "--fork"]


def obstacle():
    if os.geteuid() != 0:
        return "needs root"
    try:
        made = subprocess.run([*apart(1), "true"], capture_output=True, check=False)
    except OSError as error:
        return f"no unshare: {error}"
    return f"no time namespaces: {made.stderr.decode()}" if made.returncode else None


OBSTACLE = obstacle()
pytestmark = pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))


@pytest.fixture(params=["ahead", "behind"])
def wrapper(request):
    return apart(10_000_000 if request.param == "ahead" else -uptime_s() + 1)


@pytest.fixture
def file(scratch):
    tree.write(scratch / "data/sub/file", 5000)
    settle()
    return scratch / "data/sub/file"


def rewrite(file, seed):
    """Writes another version with as many bytes, by a process without the library."""
    tree.write(file, 5000, seed=seed)
    settle()


def replace(agent, file, seed):
    """Makes an agent rename another file over this one."""
    tree.write(file.parents[2] / "new", 5000, seed=seed)
    settle()
    agent.rename(file.parents[2] / "new", file)


@pytest.mark.parametrize("there_first", [True, False])
def test_one_run_after_another(agents, file, wrapper, there_first):
    """A run sees no version older than its start, whichever clock an earlier run had."""
    wrappers = [wrapper, ()] if there_first else [(), wrapper]
    with agents.plain() as plain:
        for seed, clock in enumerate(wrappers):
            with agents.shim(file.parents[1], wrapper=clock) as shim:
                for _ in range(2):
                    assert shim.see(file) == plain.see(file)
                assert shim.see(file).served["open"]
                assert shim.see_all([file.parent]) == plain.see_all([file.parent])
            rewrite(file, seed)
    matrix.record("Paths", "runs in time namespaces, ahead and behind", "",
                  "one run after another, and a change by one of two at once", "same")


@pytest.mark.parametrize("there", [True, False])
def test_a_change_from_another_namespace(agents, file, wrapper, there):
    """A process with another clock finds the change, at the right time by its own clock."""
    wrappers = [(), wrapper] if there else [wrapper, ()]
    with agents.preloaded(file.parents[1], wrapper=wrappers[0]) as reader, \
            agents.preloaded(file.parents[1], wrapper=wrappers[1]) as writer, \
            agents.plain() as plain:
        for _ in range(2):
            assert reader.see(file) == plain.see(file)
        assert reader.see(file).served["open"]
        replace(writer, file, 1)
        assert reader.see(file) == plain.see(file)
        for byte in b"a", b"b":
            writer.write(file, byte * 5000)
            assert reader.see(file) == plain.see(file)
            assert writer.see(file) == plain.see(file)


def test_what_is_known_there_is_known_here(agents, file, wrapper):
    """Both share one catalogue: a file that one process has just seen is served to the other."""
    with agents.preloaded(file.parents[1]) as here, \
            agents.preloaded(file.parents[1], wrapper=wrapper) as there:
        for agent in there, here, there:
            assert agent.see(file).served["open"] or agent.see(file).served["open"]


def test_a_process_that_makes_its_children_another_clock(agents, file):
    with agents.preloaded(file.parents[1]) as reader, agents.preloaded(file.parents[1]) as parent, \
            agents.plain() as plain:
        for _ in range(2):
            reader.see(file)
            parent.see(file)
        parent.libc("unshare", ctypes.c_int(NEW_TIME).value)
        parent.write(b"/proc/self/timens_offsets", b"boottime %d 0" % (1 - uptime_s()), os.O_WRONLY)
        for seed, agent in enumerate([Child(parent), parent]):
            replace(agent, file, seed)
            assert reader.see(file) == plain.see(file)
