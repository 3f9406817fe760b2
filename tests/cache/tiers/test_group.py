"""A shared tier that the members of a group use together: a copy serves those members that may read
the original, and no other user."""

import os
import pathlib
import re

import pytest

import slowfs
from jobs import YOUNG
from origin import CONTENT, settle, truth_in
from slices import ALL

ANN, BOB, EVE = 15001, 15002, 15003  # Eve is in no group
LAB, OTHERS = 15100, 15200
TIER = "/dev/shm/lab"
READ = 'cat "$1/file" "$1/file"'
SEAL = 64

pytestmark = pytest.mark.usefixtures("as_root")


def some(cases, *others):
    """The cases' names, without those that go another way to the same place, unless all are wanted."""
    return [case for case in cases if ALL or case not in others]


class User:
    """Runs programs as a user, in the place of the test."""

    def __init__(self, jobs, number, *groups):
        self._jobs, self.number, self.groups = jobs, number, groups

    def line(self, argv):
        groups = [f"--groups={','.join(map(str, self.groups))}"] if self.groups else [
            "--clear-groups"]
        return ["setpriv", f"--reuid={self.number}", f"--regid={self.number}", *groups, *argv]

    def do(self, *argv, env=None, timeout=60):
        return self._jobs.place.run(self.line(argv), env={**YOUNG, **(env or {})}, check=False,
                                    timeout=timeout)

    def stoker(self, *arguments, **more):
        return self.do(self._jobs.build / "stoker", *arguments, **more)

    def run(self, data, *flags, script=READ, tier=TIER, share="lab", **more):
        """Keeps what it fills."""
        sharing = ["--share", share] if share else []
        return self.stoker("run", "--keep", *sharing, "--tier", tier, "--path", data, *flags,
                           "--", "sh", "-c", script, "sh", data, **more)

    def home(self, tier=TIER):
        return pathlib.Path(self._jobs.place.path(f"{tier}/stoker-{self.number}"))

    def entries(self, name="file"):
        return list(self.home().glob(f"shared/*/**/*;{name}"))

    def forget(self):
        """Empties the user's own cache in memory, and leaves what is shared."""
        assert self.stoker("clear", "--tier", "/dev/shm").returncode == 0


@pytest.fixture
def names(jobs, scratch):
    """Writes the lists of users and groups in the place. set_members(...) sets the group's
    members."""
    scratch.chmod(0o755)
    users = scratch / "passwd"
    users.write_text("root:x:0:0::/:/bin/sh\n" + "".join(
        f"{name}:x:{number}:{number}::/nonexistent:/bin/sh\n"
        for name, number in (("ann", ANN), ("bob", BOB), ("eve", EVE))))
    groups = scratch / "group"

    def set_members(*members):
        groups.write_text(f"root:x:0:\nlab:x:{LAB}:{','.join(members)}\nothers:x:{OTHERS}:\n")
    set_members("ann", "bob")
    jobs.place.run(["mount", "--bind", users, "/etc/passwd"])
    jobs.place.run(["mount", "--bind", groups, "/etc/group"])
    return set_members


@pytest.fixture
def ann(jobs, names):
    return User(jobs, ANN, LAB)


@pytest.fixture
def bob(jobs, names):
    return User(jobs, BOB, LAB)


@pytest.fixture
def eve(jobs, names):
    return User(jobs, EVE)


@pytest.fixture
def shared(jobs, names):
    jobs.place.run(["install", "-d", "-g", "lab", "-m", "3770", TIER])
    return pathlib.Path(jobs.place.path(TIER))


@pytest.fixture
def data(scratch):
    return truth_in(scratch)


def fetched(done):
    """How many files came from the shared tier."""
    said = re.search(r"shared: (\d+) files? \(.*\) came from", done.stderr)
    assert said is not None, done.stderr
    return int(said.group(1))


def damaged(done):
    return " read from the originals" in done.stderr


# ---- what is served ----

def test_what_one_has_filled_serves_the_other(far, shared, ann, bob):
    """One open of the original, which is the right to it, and no read."""
    done = ann.run(far.mountpoint)
    assert done.stdout == 2 * CONTENT and fetched(done) == 0
    assert f"shared with group lab: {TIER}/stoker-{ANN}; taken" in done.stderr
    with far.counting() as counted:
        done = bob.run(far.mountpoint)
    assert done.stdout == 2 * CONTENT and fetched(done) == 1
    assert counted["open"] == 1 and counted["read"] == 0
    assert len(ann.entries()) == 1 and bob.entries() == []  # nothing is there twice


def test_a_cache_that_is_full(shared, ann, bob, data):
    """A file for which a member's own tiers have no room comes from there at each open. The helper compares meanwhile, and
    puts nothing there that another member has."""
    for number in range(99):
        (data / f"f{number:02}").write_bytes(os.urandom(128 << 10))
    settle()
    script = 'cat "$1"/f?? | sha1sum; sleep 2; cat "$1"/f?? | sha1sum'
    assert ann.stoker("warm", "--share", "lab", "--tier", TIER, data).returncode == 0
    right = ann.do("sh", "-c", script, "sh", data).stdout
    done = bob.run(data, script=script, tier=f"{TIER},/dev/shm:8M")
    assert done.stdout == right and fetched(done) > 99
    assert "were not kept here, for want of room" in done.stderr and bob.entries("f??") == []


def test_an_older_spelling_of_the_group(shared, ann, bob, data):
    """A job that is started by an older version's environment has the members there, too."""
    ann.run(data)
    env = {"STOKER_SHARE": f"{LAB}:{ANN},{BOB}"}
    assert fetched(bob.run(data, share=None, env=env)) == 1


# ---- who may read what ----

@pytest.mark.parametrize("mask", some(["077", "000"], "000"))
def test_the_modes(jobs, shared, ann, bob, eve, data, mask):
    """Members open a name that they know, and list nothing; further users enter nothing."""
    jobs.place.run(["setfacl", "-m", f"u:{EVE}:x,d:u:{EVE}:rwx", TIER])
    line = ann.line([jobs.build / "stoker", "run", "--share", "lab", "--tier", TIER, "--path", data,
                     "--", "sh", "-c", READ, "sh", data])
    jobs.place.run(["sh", "-c", f'umask {mask}; exec "$@"', "sh", *line], env=YOUNG)
    ways = [ann.home(), *ann.home().rglob("*")]
    for path in ways:
        open_ = path == ann.home() or path.relative_to(ann.home()).parts[0] == "shared"
        mode = path.lstat().st_mode & 0o7777
        assert mode in ((0o2710, 0o640) if open_ else (0o2700, 0o600)), (path, oct(mode))
        assert path.stat().st_gid == LAB
    entry, = ann.entries()
    path = f"{TIER}/{entry.relative_to(shared)}"
    assert bob.do("cat", path).stdout.startswith(CONTENT)
    assert bob.do("ls", f"{TIER}/stoker-{ANN}").returncode != 0
    assert eve.do("cat", path).stdout == "" and fetched(bob.run(data)) == 1


def test_a_home_from_before_the_group(jobs, shared, ann, bob, data):
    """A file that Ann puts there when she shares serves Bob, also in a directory made before."""
    for line in (["mount", "-t", "ramfs", "ramfs", TIER], ["chgrp", "lab", TIER], ["chmod", "3770", TIER]):
        jobs.place.run(line)
    ann.run(data, share=None)
    first, = ann.entries()
    assert [path.stat().st_mode & 0o777 for path in (first, first.parent)] == [0o600, 0o700]
    (data / "later").write_text(CONTENT)
    settle()
    ann.forget()
    script = 'cat "$1/file" "$1/later"'
    assert ann.run(data, script=script).stdout == 2 * CONTENT
    done = bob.run(data, script=script)
    assert done.stdout == 2 * CONTENT and fetched(done) == 1
    assert first.stat().st_mode & 0o777 == 0o600 and len(bob.entries()) == 1


def test_a_file_that_the_group_may_not_read(shared, ann, bob, data):
    """Its owner's nodes share it, and no member gets it, by Stoker or by its path."""
    secret = data / "file"
    os.chown(secret, ANN, ANN)
    secret.chmod(0o640)
    settle()
    assert ann.run(data).stdout == 2 * CONTENT
    entry, = ann.entries()
    assert entry.stat().st_mode & 0o777 == 0o600
    assert bob.do("cat", f"{TIER}/{entry.relative_to(shared)}").stdout == ""
    assert CONTENT not in bob.run(data).stdout
    ann.forget()
    assert fetched(ann.run(data)) == 1


def test_a_file_of_the_group(shared, ann, bob, data):
    os.chown(data / "file", ANN, LAB)
    (data / "file").chmod(0o640)
    settle()
    ann.run(data)
    assert fetched(bob.run(data)) == 1


def test_a_right_that_is_taken_away(shared, ann, bob, data):
    """The original is opened before anything comes from a member."""
    os.chown(data, ANN, ANN)
    ann.run(data)
    data.chmod(0o700)
    done = bob.run(data)
    assert CONTENT not in done.stdout and "Permission denied" in done.stderr
    data.chmod(0o755)
    assert bob.run(data).stdout == 2 * CONTENT


@pytest.fixture
def anns(data, scratch, build):
    """The data by a mount of Ann's, which the kernel keeps to her, whatever the modes there say."""
    binary = scratch / "slowfs"
    binary.write_text(f'#!/bin/sh\nexec setpriv --ruid={ANN} --rgid={ANN} --keep-groups {build}/slowfs "$@"\n')
    binary.chmod(0o755)
    with slowfs.SlowFS(data, binary=str(binary)) as fs:
        os.chmod(fs._directory, 0o755)
        yield fs.mountpoint


def test_a_mount_for_one_alone(anns, shared, ann):
    assert ann.run(anns).stdout == 2 * CONTENT
    assert ann.entries()[0].stat().st_mode & 0o777 == 0o600


def test_a_user_outside_the_group(shared, ann, eve, data):
    ann.run(data)
    done = eve.run(data)
    assert done.stdout == 2 * CONTENT and "came from" not in done.stderr
    assert list(shared.iterdir()) == [ann.home()]


def test_root_shares_nothing(jobs, shared, ann, data):
    ann.run(data)
    done = jobs.stoker("run", "--share", "lab", "--tier", TIER, "--path", data, "--", "true")
    assert done.returncode == 2 and "root's cache is not shared" in done.stderr


# ---- who is trusted ----

def lie(entry, change):
    """Ann changes her own entry, which no other user can."""
    held = bytearray(entry.read_bytes())
    entry.write_bytes(change(held))


def replace(shared, ann, entry, by):
    """Something else in the place of Ann's entry."""
    held = entry.read_bytes()
    entry.unlink()
    if by == "a pipe":
        os.mkfifo(entry, 0o640)
    elif by == "a link":
        target = shared / "elsewhere"
        target.write_bytes(held)
        os.chown(target, ANN, LAB)
        entry.symlink_to(os.path.relpath(target, entry.parent))
    elif by == "a link above":
        entry.write_bytes(held)
        os.chown(entry, ANN, LAB)
        away = entry.parent.with_name("away")
        entry.parent.rename(away)
        entry.parent.symlink_to(away.name)
    elif by == "another user's":
        entry.write_bytes(held)
        os.chown(entry, EVE, LAB)
    elif by == "one that others may write to":
        entry.write_bytes(held)
        entry.chmod(0o666)
        os.chown(entry, ANN, LAB)
    else:
        assert by == "a home that others may write to"
        entry.write_bytes(held)
        os.chown(entry, ANN, LAB)
        ann.home().chmod(0o2730)


HARM = ["a pipe", "a link", "a link above", "another user's", "one that others may write to",
        "a home that others may write to"]


@pytest.mark.parametrize("by", some(HARM, "a link"))
def test_what_is_not_a_member_s_plain_file(shared, ann, bob, data, by):
    """Never opened, never waited for: the original is read, and the right bytes come."""
    ann.run(data)
    entry, = ann.entries()
    replace(shared, ann, entry, by)
    done = bob.run(data, timeout=30)
    assert done.stdout == 2 * CONTENT and fetched(done) == 0
    assert len(bob.entries()) == 1  # and Bob's own copy is there now


@pytest.mark.parametrize("how", ["a byte", "cut short"])
def test_an_entry_that_is_damaged(shared, ann, bob, data, how):
    """It is noticed, and the reader puts a right one into a home of its own, for all members."""
    ann.run(data)
    entry, = ann.entries()
    lie(entry, lambda held: bytes([held[0] ^ 1]) + held[1:] if how == "a byte" else held[:-1])
    done = bob.run(data)
    assert done.stdout == 2 * CONTENT and fetched(done) == 0
    assert damaged(done) == (how == "a byte") and len(bob.entries()) == 1
    ann.forget()
    assert ann.run(data).stdout == 2 * CONTENT


def test_members_change_nothing_of_each_other_s(shared, ann, bob, data):
    ann.run(data)
    entry, = ann.entries()
    path = f"{TIER}/{entry.relative_to(shared)}"
    for line in (["rm", "-f", path], ["mv", path, f"{path}.away"], ["sh", "-c", f'echo > "{path}"'],
                 ["rm", "-rf", f"{TIER}/stoker-{ANN}"], ["mv", f"{TIER}/stoker-{ANN}", f"{TIER}/x"]):
        assert bob.do(*line).returncode != 0
    assert fetched(bob.run(data)) == 1


def test_a_home_under_another_s_name(shared, ann, bob, data):
    """A home in which Bob can write serves no member under Eve's name, even with a file of hers."""
    bob.run(data)
    entry, = bob.entries()
    os.chown(entry, EVE, LAB)
    bob.home().rename(shared / f"stoker-{EVE}")
    assert fetched(ann.run(data)) == 0


@pytest.mark.parametrize("kind", some(["directories", "links"], "links"))
def test_a_home_whose_names_are_taken(shared, ann, bob, data, kind):
    """Bob has every name that Ann's home may have. Her job goes on without the group's tier."""
    make = {"directories": ["mkdir"], "links": ["ln", "-s", "/nowhere"]}[kind]
    for number in range(10):
        name = f"{TIER}/stoker-{ANN}{f'.{number}' if number else ''}"
        assert bob.do(*make, name).returncode == 0
    done = ann.run(data)
    assert done.returncode == 0 and done.stdout == 2 * CONTENT, done.stderr
    assert f"shared: --tier {TIER}: " in done.stderr and "going on without it" in done.stderr
    assert ann.run(data, "--require-cache").returncode == 2


# ---- what is refused ----

@pytest.mark.parametrize("mode", ["3775", "2770", "0770"])
def test_a_directory_that_is_not_the_group_s_alone(jobs, shared, ann, data, mode):
    """A flag that shares nothing is an error; a variable is not."""
    jobs.place.run(["chmod", mode, TIER])
    done = ann.run(data)
    assert done.returncode == 2 and "install -d -g lab -m 3770 DIR" in done.stderr
    done = ann.run(data, share=None, tier="/dev/shm", env={"STOKER_SHARE": "lab"})
    assert done.stdout == 2 * CONTENT and "STOKER_SHARE=lab: no tier is" in done.stderr


def test_a_group_that_is_not_there(shared, ann, data):
    for name in ("nobody-knows", f" {LAB}", str(LAB - (1 << 64))):
        done = ann.run(data, share=name)
        assert done.returncode == 2 and "no such group" in done.stderr
    done = ann.stoker("run", "--share", "", "--tier", TIER, "--path", data, "--", "true")
    assert done.returncode == 2 and "--share names no group" in done.stderr
    done = ann.run(data, share=None, tier="/dev/shm", env={"STOKER_SHARE": "nobody-knows"})
    assert done.stdout == 2 * CONTENT and "no such group" in done.stderr


def test_the_verb_of_before(jobs):
    done = jobs.stoker("share", TIER, "lab")
    assert done.returncode == 2 and "install -d -g GROUP -m 3770 DIR" in done.stderr


def test_what_an_older_version_left(shared, ann, data):
    """Homes that the group may pass, and entries that it may read, are their owner's as before."""
    disk = ann.run(data, share=None)
    assert disk.stdout == 2 * CONTENT
    for path in [ann.home(), *ann.home().glob("tree/**/*")]:
        if path.is_dir():
            path.chmod(0o2710)
    entry, = ann.home().glob("tree/**/*;file")
    entry.chmod(0o440)
    seen = ann.run(data, share=None, script='stat -c "%a %s" "$1/file"; cat "$1/file"')
    assert seen.stdout == f"644 {len(CONTENT)}\n{CONTENT}" and " 100.0% from" in seen.stderr
    assert str(data) in ann.stoker("ls").stdout
    assert "1 copy right" in ann.stoker("verify", "--tier", TIER).stdout
    assert ann.stoker("clear", "--tier", TIER).returncode == 0 and not ann.home().exists()


def test_litter(shared, ann, bob, data):
    """Names that are no home hide no home, and cost each file nothing."""
    ann.run(data)
    for number in range(1000):
        (shared / f"stoker-{number}x").touch()
    assert fetched(bob.run(data)) == 1
