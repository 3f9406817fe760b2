"""A confined process (Landlock, no_new_privs, seccomp, fewer capabilities) learns no more from the
cache than from the kernel, whatever unconfined processes have seen."""

import hashlib
import os
import pathlib
import platform
import struct
import sys

import pytest

import landlock
import matrix
import tree
from origin import settle

LANDLOCK = pathlib.Path(landlock.__file__)
DENIED = 13

HOW = {
    "no_new_privs": True,
    "capability": pytest.param(
        False, marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs CAP_SYS_ADMIN")),
}

needs_landlock = pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")
both_ways = pytest.mark.parametrize("no_new_privs", HOW.values(), ids=HOW)


@pytest.fixture
def file(scratch):
    tree.write(scratch / "data/sub/file", 5000)
    settle()
    return scratch / "data/sub/file"


def away_from(file, no_new_privs):
    return [sys.executable, "-S", "-E", "-B", LANDLOCK, file.parents[1],
            "with" if no_new_privs else "without"]


def know(agents, file):
    """Looks at the file until the cache knows and serves all about it."""
    for agent in agents:
        for _ in range(3):
            agent.see(file)


@needs_landlock
@both_ways
@pytest.mark.parametrize("how", ["run", "preload"])
def test_a_process_that_confines_itself(agents, file, how, no_new_privs):
    make = agents.shim if how == "run" else agents.preloaded
    with make(file.parents[1]) as shim, agents.plain() as plain:
        know([shim, plain], file)
        assert shim.see(file).served["open"]
        for agent in shim, plain:
            agent.confine(file.parents[1], no_new_privs)
        for _ in range(2):
            assert shim.see(file) == plain.see(file)
        assert shim.errno_of("text", file) == shim.errno_of("names", file.parent) == DENIED
        assert shim.in_child("look", os.fsencode(file)) == \
            plain.in_child("look", os.fsencode(file))
    matrix.record("Paths", "Landlock: a process that confines itself, or was by its parent", "",
                  "open, stat, access of what others have seen", "same")


@needs_landlock
@both_ways
def test_a_process_that_its_parent_has_confined(agents, file, no_new_privs):
    """An unconfined process looks at the file before and after the confined one begins."""
    wrapper = away_from(file, no_new_privs)
    with agents.preloaded(file.parents[1]) as other:
        know([other], file)
        with agents.preloaded(file.parents[1], wrapper=wrapper) as shim, \
                agents.plain(wrapper) as plain:
            for _ in range(2):
                know([other], file)
                assert shim.see(file) == plain.see(file)
            assert shim.errno_of("text", file) == shim.errno_of("names", file.parent) == DENIED


@needs_landlock
@both_ways
def test_a_program_that_a_confined_one_executes(jobs, file, no_new_privs):
    """In one run the first step is served, and the confined second step is denied."""
    script = 'cat "$0" >/dev/null; cat "$0" | md5sum; exec "$@" cat "$0"'
    ran = jobs.run(["sh", "-c", script, file, *away_from(file, no_new_privs)],
                   path=file.parents[1], check=False)
    assert ran.status == 1 and "Permission denied" in ran.stderr
    assert ran.stdout.split() == [hashlib.md5(file.read_bytes()).hexdigest(), "-"]


def test_a_process_that_sets_no_new_privs(agents, file):
    """The process reads the origin from then on: after that call the kernel may deny it files, or deny
    them to programs that it executes. A process that had no_new_privs already changes nothing."""
    with agents.shim(file.parents[1]) as shim, agents.plain() as plain:
        know([shim, plain], file)
        shim.libc("prctl", landlock.SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        assert shim.see(file) == plain.see(file)
        assert not shim.see(file).served["open"]


def test_where_all_have_no_new_privs(agents, file):
    """As in many containers: the processes share what they have seen, and may set no_new_privs again."""
    wrapper = ["setpriv", "--no-new-privs"]
    with agents.preloaded(file.parents[1], wrapper=wrapper) as one:
        know([one], file)
        with agents.preloaded(file.parents[1], wrapper=wrapper) as other:
            other.libc("prctl", landlock.SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            assert other.see(file).served["open"]
            other.libc("prctl", landlock.SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            assert other.see(file).served["open"]


# ---- capabilities ----

NOBODY = 65534
NO_CAPABILITIES = struct.pack("<6I", 0, 0, 0, 0, 0, 0)
VERSION_3 = struct.pack("<Ii", 0x20080522, 0)  # of this thread
BY = {
    "libc": ["capset"],
    "syscall": ["syscall", {"x86_64": 126, "aarch64": 91}.get(platform.machine(), -1)],
}

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to drop")


@pytest.fixture
def closed(file):
    """A file in another user's closed directory, which a capability alone opens."""
    os.chown(file.parent, NOBODY, NOBODY)
    file.parent.chmod(0o700)
    return file


@as_root
@pytest.mark.parametrize("by", BY)
def test_a_process_that_drops_its_capabilities(agents, closed, by):
    with agents.shim(closed.parents[1]) as shim, agents.plain() as plain:
        know([shim, plain], closed)
        assert shim.see(closed).served["open"]
        for agent in shim, plain:
            agent.libc(*BY[by], VERSION_3, NO_CAPABILITIES)
        for _ in range(2):
            assert shim.see(closed) == plain.see(closed)
        assert shim.errno_of("text", closed) == shim.errno_of("times_of", closed) == DENIED


@as_root
def test_a_capset_that_changes_nothing(agents, closed):
    status = pathlib.Path("/proc/self/status").read_text()
    held = [int(status.split(f"{key}:")[1].split()[0], 16) for key in ("CapEff", "CapPrm", "CapInh")]
    same = struct.pack("<6I", *(word & 0xffffffff for word in held), *(word >> 32 for word in held))
    with agents.shim(closed.parents[1]) as shim:
        know([shim], closed)
        shim.libc("capset", VERSION_3, same)
        assert shim.errno_of("libc", "capset", VERSION_3, None) == 14
        assert shim.see(closed).served["open"]
