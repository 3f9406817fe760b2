"""A process that becomes another user learns no more than that user may know."""

import fcntl
import hashlib
import os
import pathlib
import platform
import shutil

import pytest

import matrix
import tree
from origin import settle

NOBODY, GROUP = 65534, 4242
IDS = (NOBODY, NOBODY, NOBODY)
SYS_FCNTL = {"x86_64": 72, "aarch64": 25}[platform.machine()]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def files(scratch):
    """One in a directory of root's, one in a group's, one in everybody's."""
    for name, mode in ("closed", 0o700), ("group", 0o750), ("open", 0o755):
        tree.write(scratch / "data" / name / "file", 5000)
        (scratch / "data" / name).chmod(mode)
        os.chown(scratch / "data" / name, 0, GROUP if name == "group" else 0)
    (scratch / "data").chmod(0o755)
    settle()
    return [scratch / "data" / name / "file" for name in ("closed", "group", "open")]


def groups_of(agent, *groups):
    return agent.setgroups(groups)


CHANGES = {
    "setuid": lambda agent: agent.setuid(NOBODY),
    "seteuid": lambda agent: agent.seteuid(NOBODY),
    "setreuid": lambda agent: agent.setreuid(NOBODY, NOBODY),
    "setresuid": lambda agent: agent.setresuid(*IDS),
    "setfsuid": lambda agent: agent.libc("setfsuid", NOBODY),
    "unshare": lambda agent: agent.libc("unshare", 0x10000000),
}


def know_them(agents, files):
    """All that can be known of them is known, and used."""
    for agent in agents:
        for _ in range(3):
            for path in files:
                agent.see(path)


@pytest.mark.parametrize("how", ["run", "preload"])
@pytest.mark.parametrize("change", CHANGES)
def test_another_user(agents, files, change, how):
    make = agents.shim if how == "run" else agents.preloaded
    with make(files[0].parents[1]) as shim, agents.plain() as plain:
        know_them([shim, plain], files)
        assert all(shim.see(path).served["open"] for path in files)
        held = [agent.open(files[0], os.O_RDONLY) for agent in (shim, plain)]
        for agent in shim, plain:
            CHANGES[change](agent)
        for _ in range(2):
            for path in files:
                assert shim.see(path) == plain.see(path)
        if change != "unshare":  # unshare leaves the files their owner, with another number
            assert shim.errno_of("times_of", files[0]) == shim.errno_of("text", files[0]) == 13
            assert shim.fd_facts(held[0]) == plain.fd_facts(held[1])
        assert shim.in_child("look", os.fsencode(files[0])) == \
            plain.in_child("look", os.fsencode(files[0]))
        assert shim.read_some(held[0], 100) == plain.read_some(held[1], 100)
    matrix.record("Paths", "setuid and its kin, of a process that knows files in a closed directory",
                  "", "open, stat, access", "same")


GROUP_CHANGES = {
    "setgroups": lambda agent: agent.setgroups([]),
    "initgroups": lambda agent: agent.initgroups("nobody", NOBODY),
    "setgid": lambda agent: agent.setgid(NOBODY),
    "setegid": lambda agent: agent.setegid(NOBODY),
    "setregid": lambda agent: agent.setregid(NOBODY, NOBODY),
    "setresgid": lambda agent: agent.setresgid(*IDS),
    "setfsgid": lambda agent: agent.libc("setfsgid", NOBODY),
}


@pytest.mark.parametrize("change", GROUP_CHANGES)
def test_another_group(agents, files, change):
    """The user is in the group by the one way or the other, and may leave it."""
    by_list = change in ("setgroups", "initgroups")
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY if by_list else GROUP}",
              f"--groups={GROUP}" if by_list else "--clear-groups",
              "--inh-caps=+setgid", "--ambient-caps=+setgid"]
    with agents.preloaded(files[0].parents[1], wrapper=become) as shim, \
            agents.plain(become) as plain:
        know_them([shim, plain], files)
        assert shim.see(files[1]).served["open"]
        for agent in shim, plain:
            GROUP_CHANGES[change](agent)
        for path in files:
            assert shim.see(path) == plain.see(path)
        assert shim.errno_of("times_of", files[1]) == 13


def test_calls_that_change_nothing(agents, files):
    with agents.shim(files[0].parents[1]) as shim:
        know_them([shim], files)
        shim.setuid(0)
        shim.setresuid(0, -1, 0)
        shim.setegid(0)
        shim.setgroups(shim.getgroups())
        shim.libc("setfsuid", 0)
        shim.libc("setfsgid", -1)
        assert shim.errno_of("libc", "setgroups", 1 << 20, None) == 22
        assert shim.see(files[0]).served["open"]


def take_home(place, home, user):
    """Root removes the home, as a cleaner of old files does. Another user makes one with files of the same names."""
    gone, taken = pathlib.Path(place.path(home + ".gone")), pathlib.Path(place.path(home))
    taken.rename(gone)
    shutil.copytree(gone / "tree", taken / "tree")
    for path in [taken, *taken.rglob("*")]:
        if path.is_file():
            path.unlink()
            path.write_bytes(b"foreign" * 700)
        path.chmod(0o755 if path.is_dir() else 0o444)
        os.chown(path, user, user)


def test_a_home_that_another_user_has_taken(agents, files, place):
    """A running process reads nothing that another user has put in the place of its cache."""
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    path = files[2]
    with agents.preloaded(path.parents[1], wrapper=become) as shim, agents.plain(become) as plain:
        know_them([shim, plain], [path])
        assert shim.see(path).served["open"]
        take_home(place, f"/dev/shm/stoker-{NOBODY}", GROUP)
        for _ in range(2):
            assert shim.see(path) == plain.see(path)
            assert not shim.see(path).served["open"]


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_home_that_another_user_has_made_anew(agents, files, place, scratch, where):
    """A running process puts no entry into another user's directory. That user could rename entries there."""
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    tier = pathlib.Path("/dev/shm") if where == "memory" else scratch / "tier"
    home = pathlib.Path(place.path(f"{tier}/stoker-{NOBODY}"))
    home.parent.mkdir(exist_ok=True)
    home.parent.chmod(0o1777)
    with agents.preloaded(files[2].parents[1], env={"STOKER_TIERS": f"{tier}:1G"}, wrapper=become) as shim, \
            agents.plain(become) as plain:
        know_them([shim, plain], [files[2]])
        assert shim.see(files[2]).served["open"]
        home.rename(home.with_suffix(".gone"))
        for path in home, home / "tree", home / "fill":
            path.mkdir()
            path.chmod(0o777)
            os.chown(path, GROUP, GROUP)
        for _ in range(2):
            assert shim.see(files[2]) == plain.see(files[2])
        assert [path for path in home.rglob("*") if path.name not in ("tree", "fill")] == []


def test_a_served_descriptor_has_the_flags_of_its_open(agents, files):
    with agents.shim(files[0].parents[1]) as shim, agents.plain() as plain:
        know_them([shim, plain], files)
        for flags in os.O_RDONLY, os.O_RDONLY | os.O_NONBLOCK:
            fds = [agent.open(files[0], flags) for agent in (shim, plain)]
            assert shim.served(fds[0])
            assert shim.libc("fcntl", fds[0], fcntl.F_GETFL) == plain.libc("fcntl", fds[1], fcntl.F_GETFL)
            assert shim.libc("syscall", SYS_FCNTL, fds[0], fcntl.F_GETFL) == \
                plain.libc("syscall", SYS_FCNTL, fds[1], fcntl.F_GETFL)


def test_a_user_before_anything_is_covered(agents, files, place):
    """A server starts as root and becomes another user: it has that user's cache."""
    with agents.preloaded(files[0].parents[1]) as shim, agents.plain() as plain:
        for agent in shim, plain:
            agent.setgroups([])
            agent.setresgid(*IDS)
            agent.setresuid(*IDS)
        for _ in range(3):
            for path in files:
                assert shim.see(path) == plain.see(path)
        assert shim.see(files[2]).served["open"]
        assert pathlib.Path(place.path(f"/dev/shm/stoker-{NOBODY}/tree")).is_dir()


def test_a_program_executed_as_another_user(jobs, files):
    """It begins anew; under the command it finds a cache that is not its own, and reads on."""
    script = 'cat "$0" "$1" >/dev/null; exec setpriv --reuid=65534 --clear-groups md5sum "$0" "$1"'
    ran = jobs.run(["sh", "-c", script, files[0], files[2]], path=files[0].parents[1], check=False)
    assert ran.status == 1 and "Permission denied" in ran.stderr
    assert ran.stdout.split() == [hashlib.md5(files[2].read_bytes()).hexdigest(), str(files[2])]


def test_a_user_who_comes_back(agents, files):
    """It cannot be known what was found out meanwhile, and by which thread: all stays with the
    origin."""
    with agents.shim(files[0].parents[1]) as shim, agents.plain() as plain:
        know_them([shim], files)
        for user in NOBODY, 0:
            shim.seteuid(user)
            plain.seteuid(user)
            for path in files:
                assert shim.see(path) == plain.see(path)
                assert not shim.see(path).served["open"]
