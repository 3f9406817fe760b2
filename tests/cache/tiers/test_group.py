"""Caches that the members of a group share: which user gets which entries of which member, or
none."""

import os
import pathlib

import pytest

import beneath
import slowfs
from jobs import YOUNG, read_line, wait_for
from origin import CONTENT, settle, truth_in
from slices import ALL

ANN, BOB, EVE = 15001, 15002, 15003  # Eve is in no group
LAB, OTHERS = 15100, 15200
TIER = "/dev/shm/lab"
READ = 'cat "$1/file" "$1/file"'

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
        return self.stoker("run", "--keep", "--share", share, "--tier", tier, "--path", data,
                           *flags, "--", "sh", "-c", script, "sh", data, **more)

    def run_line(self, data, script, tier=TIER):
        """The same, to be started."""
        return self.line([self._jobs.build / "stoker", "run", "--keep", "--share", "lab", "--tier",
                          tier, "--path", data, "--", "sh", "-c", script, "sh", data])

    def home(self, tier=TIER):
        return pathlib.Path(self._jobs.place.path(f"{tier}/stoker-{self.number}"))


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
    assert jobs.stoker("share", TIER, "lab").returncode == 0
    return pathlib.Path(jobs.place.path(TIER))


@pytest.fixture
def data(scratch):
    return truth_in(scratch)


def entries(user, name="file"):
    return list(user.home().glob(f"tree/*/**/*;{name}"))


def served(done):
    """How many opens were served from what others have cached."""
    for line in done.stderr.splitlines():
        if "other members of the group" in line:
            return int(line.split()[0])
    return 0


# ---- what is served, and how ----

def test_what_one_has_filled_serves_the_other(shared, ann, bob, data):
    done = ann.run(data)
    assert done.stdout == 2 * CONTENT and served(done) == 0
    assert f"in {TIER}/stoker-{ANN}, " in done.stderr and "shared with group lab" in done.stderr
    done = bob.run(data)
    assert done.stdout == 2 * CONTENT and served(done) == 2
    assert " 100.0% from the cache" in done.stderr
    assert entries(bob) == []  # nothing is there twice
    done = ann.run(data)
    assert served(done) == 0 and " 100.0% from the cache" in done.stderr


def test_what_it_costs_the_origin(far, shared, ann, bob):
    """One open, which is the right to it, and no read."""
    ann.run(far.mountpoint)
    with far.counting() as counted:
        done = bob.run(far.mountpoint, script='cat "$1/file" "$1/file" "$1/file"')
    assert done.stdout == 3 * CONTENT and served(done) == 3
    assert counted["open"] == 3 and counted["read"] == 0


LOOK = beneath.SOURCE + """
import mmap, os, sys
path = sys.argv[1] + "/file"
fd = os.open(path, os.O_RDONLY)
entry = name_of(fd)
seen, right = os.fstat(fd), os.stat(path)
assert seen == right, (seen, right)
assert os.stat(f"/proc/self/fd/{fd}") == right
assert os.get_blocking(fd) and not os.get_inheritable(fd)
print(entry)
print(len(mmap.mmap(fd, 0, prot=mmap.PROT_READ)), os.read(fd, 9).decode())
os.fchmod(fd, 0o604)
assert os.fstat(fd).st_mode == os.stat(path).st_mode == 0o100604
assert os.stat(fd).st_uid == os.getuid()
"""


def test_what_is_seen_by_its_descriptor(shared, ann, bob, data):
    """The origin; and what is done by it is done to that."""
    os.chown(data / "file", BOB, BOB)
    settle()
    ann.run(data)
    done = bob.run(data, script=f"/usr/bin/python3 -c '{LOOK}' \"$1\"")
    entry, *said = done.stdout.splitlines()
    assert entry.startswith(f"{TIER}/stoker-{ANN}/tree/"), done.stderr
    assert said == [f"{len(CONTENT)} the truth"] and served(done) >= 1
    assert entries(ann)[0].stat().st_mode & 0o777 == 0o440
    assert (data / "file").stat().st_mode & 0o777 == 0o604


WHERE = beneath.SOURCE + "import os, sys; print(name_of(os.open(sys.argv[1], 0)))"


def test_without_the_command(jobs, shared, ann, bob, data):
    ann.run(data)
    said = bob.stoker("env", "--share", "lab", "--tier", TIER, "--path", data)
    assert f"export STOKER_SHARE='{LAB}:{ANN},{BOB}'" in said.stdout
    env = {**jobs.preload_env(data, TIER), "STOKER_SHARE": f"{LAB}:{ANN}"}
    assert bob.do("/usr/bin/python3", "-c", WHERE, data / "file",
                  env=env).stdout.startswith(f"{TIER}/stoker-{ANN}/")
    env["STOKER_SHARE"] = "lab"  # only the command knows names
    assert bob.do("cat", data / "file", env=env).stdout == CONTENT


def test_a_big_file(shared, ann, bob, data):
    """Once it is whole."""
    (data / "big").write_bytes(os.urandom(1 << 20))
    settle()
    env = {"STOKER_MAX_FILE": "256K", "STOKER_BLOCK": "64K", "STOKER_COMPLETE": "off"}
    count = 'sha1sum "$1/big"'
    part = 'head -c 9 "$1/big" | wc -c'
    assert ann.run(data, script=part, env=env).stdout == "9\n"
    assert served(bob.run(data, script=part, env=env)) == 0
    right = ann.run(data, script=count, env=env).stdout
    assert entries(ann, "big")[0].stat().st_mode & 0o777 == 0o440
    done = bob.run(data, script=f"{count}; {count}", env=env)
    assert done.stdout == 2 * right and served(done) == 2


@pytest.mark.parametrize("mask", some(["077", "000"], "000"))
def test_whatever_the_umask(jobs, shared, ann, bob, data, mask):
    jobs.place.run(["sh", "-c", f'umask {mask}; exec "$@"', "sh", *ann.run_line(data, READ)],
                   env=YOUNG)
    assert served(bob.run(data)) == 2
    for path in [ann.home(), *ann.home().rglob("*")]:
        mode = path.lstat().st_mode & 0o7777
        way = path == ann.home() or path.relative_to(ann.home()).parts[0] == "tree"
        note = path.name == ";origin"
        assert mode in ((0o2710, 0o440) if way and not note else (0o2700, 0o600, 0o400)), (
            path, oct(mode))


def test_a_tier_that_is_full(jobs, shared, ann, bob, data):
    """A file that does not fit into one's own home may come to lie in another member's, after a
    refusal."""
    (data / "large").write_bytes(os.urandom(3 << 20))
    settle()
    script = 'sha1sum "$1/large"; sha1sum "$1/large"; read go; sha1sum "$1/large" "$1/large"'
    with jobs.started(bob.run_line(data, script, tier=f"{TIER}:2M")) as process:
        right = read_line(process)
        assert read_line(process) == right
        ann.run(data, script='sha1sum "$1/large"')
        said, told = process.communicate("go\n", timeout=60)
    assert said == 2 * f"{right}\n" and "4 opens of 1 file, 50.0% from the cache" in told
    assert "2 opens served from what other members" in told


def test_both_fill_at_the_same_time(jobs, shared, ann, bob, data):
    """All bytes are right, with entries of either maker; and homes that come are found."""
    for number in range(60):
        (data / f"f{number:02}").write_text(f"{number}\n" * 4000)
    settle()
    script = 'for i in 1 2 3; do cat "$1"/f*; done | sha1sum'
    right = jobs.place.run(["sh", "-c", script, "sh", data]).stdout
    with (jobs.started(ann.run_line(data, script)) as one,
          jobs.started(bob.run_line(data, script)) as other):
        for process in (one, other):
            said, told = process.communicate(timeout=60)
            assert said == right and " 0 files" not in told, told
    both = len(entries(ann, "f*")) + len(entries(bob, "f*"))
    assert both >= 60
    again = bob.run(data, script=script)
    assert again.stdout == right and " 100.0% from the cache" in again.stderr


# ---- rights ----

WAIT = 'cat "$1/dir/file"; echo ready; read go; cat "$1/dir/file"'

REVOCATIONS = {
    "of the file": "chmod 600 {0}/dir/file",
    "of its directory": "chmod 700 {0}/dir",
    "of the root": "chmod 700 {0}",
    "of a directory above": "chmod 700 {0}/..",
    "by an access list": f"setfacl -m u:{BOB}:--- {{0}}/dir/file",
    "by one of its directory": f"setfacl -m u:{BOB}:--- {{0}}/dir",
}


@pytest.fixture
def deep(data):
    (data / "dir").mkdir()
    (data / "dir" / "file").write_text(CONTENT)
    settle()
    return data


@pytest.mark.parametrize("what", some(REVOCATIONS, "of the root", "by one of its directory"))
def test_a_right_that_is_taken_away(jobs, shared, ann, bob, deep, what):
    """It is gone at once, in the run that had it."""
    ann.run(deep, script='cat "$1/dir/file"')
    with jobs.started(bob.run_line(deep, WAIT)) as process:
        got = process.stdout.read(len(CONTENT) + 6)
        assert got == CONTENT + "ready\n"
        jobs.place.run(["sh", "-c", REVOCATIONS[what].format(deep)])
        said, told = process.communicate("go\n", timeout=60)
    try:
        assert said == "" and told.count("Permission denied") == 1, (said, told)
        assert "1 opens served" in told
        done = bob.run(deep, script='cat "$1/dir/file"')
        assert CONTENT not in done.stdout and served(done) == 0
    finally:
        (deep / "..").chmod(0o755)


def test_a_group_that_a_session_has_not(jobs, shared, ann, bob, data):
    """As a login has the groups of its time."""
    (data / "file").chmod(0o640)
    os.chown(data / "file", 0, LAB)
    settle()
    ann.run(data)
    assert served(bob.run(data)) == 2
    done = User(jobs, BOB).run(data)
    assert done.returncode == 2 and "you are not in that group" in done.stderr
    env = {**jobs.preload_env(data, TIER), "STOKER_SHARE": f"{LAB}:{ANN}"}
    assert bob.do("cat", data / "file", env=env).stdout == CONTENT
    assert User(jobs, BOB).do("cat", data / "file", env=env).stdout == ""


CLOSED = {
    "a file for its owner": (lambda data: (data / "dir" / "file").chmod(0o600)),
    "a file for another group": (lambda data: (os.chown(data / "dir" / "file", ANN, OTHERS),
                                               (data / "dir" / "file").chmod(0o640))),
    "a file for all but the group": (lambda data: (os.chown(data / "dir" / "file", ANN, LAB),
                                                   (data / "dir" / "file").chmod(0o604))),
    "a file for all but a group": (lambda data: (os.chown(data / "dir" / "file", ANN, OTHERS),
                                                 (data / "dir" / "file").chmod(0o604))),
    "a file for all but its owner": (lambda data: (os.chown(data / "dir" / "file", BOB, BOB),
                                                   (data / "dir" / "file").chmod(0o044))),
    "a directory for all but its owner": (lambda data: (os.chown(data / "dir", BOB, BOB),
                                                        (data / "dir").chmod(0o055))),
    "a directory for its owner": (lambda data: (data / "dir").chmod(0o700)),
    "a root for its owner": (lambda data: data.chmod(0o700)),
    "a directory above": (lambda data: data.parent.chmod(0o700)),
}


def put_away(path):
    """Into a directory that is closed, and a link in its place."""
    away = path.parents[1 if path.is_dir() else 2] / "private"
    away.mkdir()
    path.rename(away / path.name)
    path.symlink_to(away / path.name)
    os.chown(away, ANN, ANN)
    away.chmod(0o700)


CLOSED.update({
    "a link to a file": lambda data: put_away(data / "dir" / "file"),
    "a link to a directory": lambda data: put_away(data / "dir"),
})


@pytest.mark.parametrize("what", some(CLOSED, "a file for another group"))
def test_what_is_not_the_group_s_is_not_open_to_it(shared, ann, bob, deep, what):
    """Not by its entry's path, either, which anybody may guess."""
    for path in (deep.parent, deep, deep / "dir", deep / "dir" / "file"):
        os.chown(path, ANN, ANN)
    CLOSED[what](deep)
    settle()
    try:
        filled = ann.run(deep, script='cat "$1/dir/file"')
        assert filled.stdout == CONTENT and len(entries(ann)) == 1, filled.stderr
        entry, = entries(ann)
        path = f"{TIER}/{entry.relative_to(shared)}"
        assert ann.do("cat", path).stdout == CONTENT
        done = bob.do("cat", path)
        assert done.stdout == "" and "Permission denied" in done.stderr
        assert " 100.0% from the cache" in ann.run(deep, script='cat "$1/dir/file"').stderr
    finally:
        deep.parent.chmod(0o755)


@pytest.fixture
def anns(data, scratch, build):
    """The data by a mount of Ann's, which the kernel keeps to her, whatever the modes there say."""
    binary = scratch / "slowfs"
    binary.write_text(f'#!/bin/sh\nexec setpriv --ruid={ANN} --rgid={ANN} --keep-groups {build}/slowfs "$@"\n')
    binary.chmod(0o755)
    with slowfs.SlowFS(data, binary=str(binary)) as fs:
        os.chmod(fs._directory, 0o755)
        yield fs.mountpoint


def test_a_mount_for_one_alone(anns, shared, ann, bob):
    """sshfs, encrypted directories: another user gets nothing there, not even by a mode."""
    assert ann.run(anns).stdout == 2 * CONTENT
    assert bob.do("cat", f"{anns}/file").stdout == ""
    entry, = entries(ann)
    path = f"{TIER}/{entry.relative_to(shared)}"
    assert ann.do("cat", path).stdout == CONTENT
    assert bob.do("cat", path).stdout == ""
    assert " 100.0% from the cache" in ann.run(anns).stderr


@pytest.fixture
def lured(data):
    """Returns a private file of Ann's, and a directory of Bob's in the data set with a link to that file."""
    private, bobs = data / "private", data / "bobs"
    private.mkdir()
    bobs.mkdir()
    (private / "secret").write_bytes(os.urandom(1 << 20))
    (bobs / "name").symlink_to("../private/secret")
    for path, owner in ((private, ANN), (private / "secret", ANN), (bobs, BOB)):
        os.chown(path, owner, owner)
    private.chmod(0o700)
    settle()
    return private, bobs


def put_another_file(bobs):
    """Replaces the link by a file of Bob's."""
    (bobs / "name").unlink()
    (bobs / "name").write_text(CONTENT)
    os.chown(bobs / "name", BOB, BOB)


def assert_is_anns(shared, ann, bob, size):
    """Checks that the copy made by way of the link is open to Ann alone."""
    copy, = (entry for entry in entries(ann, "name") if entry.stat().st_size == size)
    path = f"{TIER}/{copy.relative_to(shared)}"
    assert copy.stat().st_mode & 0o777 == 0o400
    assert bob.do("wc", "-c", path).stdout == ""
    assert ann.do("wc", "-c", path).stdout.startswith(str(size))


@pytest.fixture
def slow(data, build):
    """The data on a slow file system, whose names the kernel looks up each time."""
    with slowfs.SlowFS(data, binary=str(build / "slowfs"), allow_other=True, entry_timeout=0,
                       attr_timeout=0, latency_ms=20) as fs:
        os.chmod(fs._directory, 0o755)
        yield fs


def test_a_link_that_goes_while_its_file_is_copied(slow, lured, jobs, shared, ann, bob):
    """The file that replaces the link is another file, and open to all."""
    _, bobs = lured
    with jobs.started(ann.run_line(slow.mountpoint, 'cat "$1/bobs/name" | wc -c')) as process:
        wait_for(lambda: slow.counts()["read"] > 0)
        with slow.faults(hang_ns=slowfs.HOUR_NS):
            put_another_file(bobs)
        said, told = process.communicate(timeout=60)
    assert said == f"{1 << 20}\n", told
    assert_is_anns(shared, ann, bob, 1 << 20)


HALVES = """
import sys
with open(sys.argv[1] + "/bobs/name", "rb", 0) as file:
    half = file.read(1 << 19)
    print(len(half), flush=True)
    sys.stdin.readline()
    print(len(half + file.read(1 << 19)), flush=True)
"""


def test_a_link_that_goes_while_a_big_file_is_read(jobs, lured, shared, ann, bob, data):
    """The file is read in blocks, and the link goes in between."""
    _, bobs = lured
    line = ann.run_line(data, f"/usr/bin/python3 -c '{HALVES}' \"$1\"")
    env = {"STOKER_MAX_FILE": "256K", "STOKER_BLOCK": "64K", "STOKER_COMPLETE": "off"}
    with jobs.started(line, env=env) as process:
        assert read_line(process) == str(1 << 19)
        put_another_file(bobs)
        said, told = process.communicate("go\n", timeout=60)
    assert said == f"{1 << 20}\n", told
    assert_is_anns(shared, ann, bob, 1 << 20)


def test_a_directory_that_the_origin_does_not_list(shared, ann, bob, deep):
    """The directory's counterpart in the tier is not listed either, nor is anything else in a member's home."""
    (deep / "dir").chmod(0o711)
    (deep / "listed").mkdir()
    (deep / "listed" / "file").write_text(CONTENT)
    settle()
    ann.run(deep, script='cat "$1/dir/file" "$1/listed/file"')
    modes = {entry.parent.name: entry.stat().st_mode & 0o777 for entry in entries(ann)}
    assert modes == {"dir": 0o400, "listed": 0o440}
    for path in (ann.home(), *ann.home().rglob("*")):
        if path.is_dir():
            assert path.stat().st_mode & 0o044 == 0, path
            name = f"{TIER}/{path.relative_to(shared)}"
            assert bob.do("ls", name).stdout == ""
    assert served(bob.run(deep, script='cat "$1/listed/file"')) == 1
    assert bob.run(deep, script='cat "$1/dir/file"').stdout == CONTENT


def test_a_directory_that_is_closed_later(shared, ann, bob, deep):
    """A new entry in it is not open, and an old one no longer."""
    for path in (deep, deep / "dir", deep / "dir" / "file"):
        os.chown(path, ANN, ANN)
    settle()
    ann.run(deep, script='cat "$1/dir/file"')
    assert served(bob.run(deep, script='cat "$1/dir/file"')) == 1
    (deep / "dir").chmod(0o700)
    (deep / "dir" / "secret").write_text(CONTENT)
    os.chown(deep / "dir" / "secret", ANN, ANN)
    settle()
    ann.run(deep, script='cat "$1/dir/secret"')
    for name in ("file", "secret"):
        entry, = entries(ann, name)
        path = f"{TIER}/{entry.relative_to(shared)}"
        assert ann.do("cat", path).stdout == CONTENT
        assert bob.do("cat", path).stdout == ""
    (deep / "dir").chmod(0o755)
    (deep / "dir" / "third").write_text(CONTENT)
    settle()
    ann.run(deep, script='cat "$1/dir/third"')
    assert served(bob.run(deep, script='cat "$1/dir/third" "$1/dir/file"')) == 2


def test_a_file_for_the_group(shared, ann, bob, eve, deep):
    for path in (deep, deep / "dir", deep / "dir" / "file"):
        os.chown(path, 0, LAB)
        path.chmod(0o750)
    settle()
    ann.run(deep, script='cat "$1/dir/file"')
    assert served(bob.run(deep, script='cat "$1/dir/file"')) == 1
    entry, = entries(ann)
    assert eve.do("cat", f"{TIER}/{entry.relative_to(shared)}").stdout == ""
    assert eve.do("ls", TIER).stdout == ""
    assert eve.do("mkdir", f"{TIER}/stoker-{EVE}").returncode != 0


def give_list(jobs, entries, directory):
    jobs.place.run(["setfacl", "-m", entries, directory])


def lab_data(data):
    """For the group alone."""
    os.chown(data / "file", 0, LAB)
    (data / "file").chmod(0o640)
    settle()


@pytest.mark.parametrize("first", ["a run that shares", "one that does not"])
def test_lists_that_a_directory_hands_down(jobs, shared, ann, bob, eve, data, first):
    """A user outside the group gets nothing; an entry that was made without sharing is no
    exception."""
    lab_data(data)
    give_list(jobs, f"u:{EVE}:rwx,d:u:{EVE}:rwx,d:g:{OTHERS}:rwx", TIER)
    if first == "one that does not":
        ann.stoker("run", "--keep", "--tier", TIER, "--path", data, "--", "true")
    assert ann.run(data).stdout == 2 * CONTENT
    assert served(bob.run(data)) == 2
    entry, = entries(ann)
    path = f"{TIER}/{entry.relative_to(shared)}"
    assert ann.do("cat", path).stdout == CONTENT
    for other in (eve, User(jobs, EVE, OTHERS)):
        assert other.do("cat", path).stdout == ""
        assert other.do("ls", f"{TIER}/stoker-{ANN}").stdout == ""


def test_a_list_where_the_directory_is_made(jobs, names, eve):
    give_list(jobs, f"d:u:{EVE}:rwx", "/dev/shm")
    assert jobs.stoker("share", TIER, "lab").returncode == 0
    assert eve.do("ls", TIER).returncode != 0
    assert eve.do("mkdir", f"{TIER}/x").returncode != 0


def test_members_change_nothing_of_each_other_s(jobs, shared, ann, bob, data):
    ann.run(data, script='ls "$1"; cat "$1/file"')
    entry, = entries(ann)
    listing, = entries(ann, "")
    path, home = f"{TIER}/{entry.relative_to(shared)}", f"{TIER}/stoker-{ANN}"
    for attempt in (f": >'{path}'", f"rm -f '{path}'", f"rm -rf {home}", f"mv {home} {TIER}/mine",
                    f"chmod 777 {home}", f": >{home}/tree/x", f"ls {home}/fill", f"cat {home}/account",
                    f"cat '{TIER}/{listing.relative_to(shared)}'", f"flock -n {home}/account true",
                    f"mkfifo {home}/x", f"mv '{path}' '{path}x'"):
        assert bob.do("sh", "-c", attempt).returncode != 0, attempt
    assert f"stoker-{ANN}" not in bob.stoker("ls").stdout
    bob.stoker("clear", data)
    bob.stoker("clear", "--tier", TIER)
    bob.stoker("clear")
    assert entry.exists() and listing.exists()
    assert " 100.0% from the cache" in ann.run(data).stderr


LITTER = {
    "names": "seq 3000 | sed 's/^/x/' | xargs mkdir",
    "homes of others": f"for n in 1 2 3 4 5 6 7 8 9; do mkdir stoker-{ANN}.$n stoker-{EVE}.$n; done",
}


@pytest.mark.parametrize("what", LITTER)
def test_litter_hides_no_home(jobs, names, shared, ann, bob, data, what):
    """Each member may litter the directory at will."""
    names("ann", "bob", "eve")
    ann.run(data)
    jobs.place.run(User(jobs, EVE, LAB).line(["sh", "-c", f"cd {TIER}; {LITTER[what]}"]))
    done = bob.run(data)
    assert done.stdout == 2 * CONTENT and served(done) == 2


def test_a_run_that_does_not_share(shared, ann, bob, data):
    """In a directory that a group shares: nothing is given, or taken."""
    done = ann.stoker("run", "--keep", "--tier", TIER, "--path", data, "--", "cat", data / "file")
    assert done.stdout == CONTENT and "shared" not in done.stderr
    entry, = entries(ann)
    assert entry.stat().st_mode & 0o777 == 0o400 and ann.home().stat().st_mode & 0o777 == 0o700
    assert served(bob.run(data)) == 0
    done = ann.stoker("run", "--tier", TIER, "--path", data, "--", "cat", data / "file")
    assert " 100.0% from the cache" in done.stderr


def test_a_cache_in_memory_goes_with_its_run(shared, ann, bob, data):
    """And with no other member's entries."""
    bob.run(data)
    done = ann.stoker("run", "--share", "lab", "--tier", TIER, "--path", data, "--", "cat",
                      data / "file")
    assert served(done) == 1 and "removed now" in done.stderr
    assert not ann.home().exists() and len(entries(bob)) == 1
    assert bob.stoker("clear").stdout == "removed\n"
    assert os.listdir(shared) == []


# ---- whose cache is used ----

def lie(entry, owner=ANN):
    """As long as the truth, and not it."""
    entry.unlink()
    entry.write_text(CONTENT.upper())
    os.chown(entry, owner, LAB)
    entry.chmod(0o440)


def rename_to(number):
    def harm(home, entry):
        lie(entry, number)
        for path in (home, *home.rglob("*")):
            os.chown(path, number, LAB, follow_symlinks=False)
        home.rename(home.with_name(f"stoker-{number}"))
    return harm


def replace(make):
    def harm(home, entry):
        entry.unlink()
        make(entry)
        os.chown(entry, ANN, LAB, follow_symlinks=False)
    return harm


HARMS = {
    "a link": lambda home, entry: (entry.rename(home / "x"), lie(home / "x"),
                                   entry.symlink_to("../../x")),
    "a link to elsewhere": lambda home, entry: (lie(entry), entry.rename(home.with_name("x")),
                                                entry.symlink_to(f"{TIER}/x")),
    "a linked directory": lambda home, entry: (
        lie(entry), entry.parent.rename(home / "x"), entry.parent.symlink_to("../x")),
    "a pipe": replace(lambda entry: os.mkfifo(entry, 0o440)),
    "a device": replace(lambda entry: os.mknod(entry, 0o20440, os.makedev(1, 5))),
    "a directory": replace(lambda entry: entry.mkdir()),
    "a socket": replace(lambda entry: os.mknod(entry, 0o140440)),
    "two names": lambda home, entry: (lie(entry), os.link(entry, home / "x")),
    "another's file": lambda home, entry: lie(entry, EVE),
    "one's own file": lambda home, entry: lie(entry, BOB),
    "a file that the group can write": lambda home, entry: (lie(entry), entry.chmod(0o460)),
    "a file that all can write": lambda home, entry: (lie(entry), entry.chmod(0o442)),
    "another length": lambda home, entry: (lie(entry), entry.chmod(0o640), entry.write_text("a lie"),
                                           entry.chmod(0o440)),
    "a home that the group can write": lambda home, entry: (lie(entry), home.chmod(0o2770)),
    "a home that all can write": lambda home, entry: (lie(entry), home.chmod(0o2757)),
    "a home of another group": lambda home, entry: (lie(entry), os.chown(home, ANN, OTHERS),
                                                    home.chmod(0o2755)),
    "a home of another": lambda home, entry: (lie(entry), os.chown(home, EVE, LAB)),
    "a linked home": lambda home, entry: (lie(entry), home.rename(home.with_name("x")),
                                          home.symlink_to("x")),
    "root's home": rename_to(0),
    "a home of nobody in the group": rename_to(EVE),
}


@pytest.mark.parametrize("harm", some(
    HARMS, "a device", "a directory", "a socket", "one's own file", "a file that all can write",
    "a home that all can write", "a link to elsewhere"))
def test_a_home_that_is_not_what_it_should_be(shared, ann, bob, data, harm):
    """A harmed home is not served, nor waited for."""
    ann.run(data)
    entry, = entries(ann)
    HARMS[harm](ann.home(), entry)
    for _ in range(2):
        done = bob.run(data)
        assert done.stdout == 2 * CONTENT and served(done) == 0
    assert len(entries(bob)) == 1  # an entry of its own


def test_a_mount_in_a_home(jobs, shared, ann, bob, data):
    """A home may be a mount of the member's making: no run waits for its answers."""
    ann.run(data)
    entry, = entries(ann)
    lie(entry)
    tree = f"{TIER}/stoker-{ANN}/tree"
    jobs.place.run(["mount", "--bind", tree, tree])
    done = bob.run(data)
    assert done.stdout == 2 * CONTENT and served(done) == 0


def test_a_member_who_leaves(jobs, names, shared, ann, bob, data):
    """Gets nothing from then on, and gives nothing from the next run on."""
    ann.run(data)
    bob.run(data, script='cat "$1/file"')
    lie(entries(ann)[0])
    names("bob")
    done = bob.run(data)
    assert done.stdout == 2 * CONTENT and served(done) == 0
    left = User(jobs, ANN)
    assert left.do("ls", TIER).stdout == ""
    done = left.run(data)
    assert done.returncode == 2 and "not in that group" in done.stderr


def test_members_by_their_own_group(jobs, names, shared, bob, data):
    """The list of members lacks a user whose first group it is."""
    users = pathlib.Path(jobs.place.path("/etc/passwd"))
    users.write_text(users.read_text().replace(f":{EVE}:{EVE}:", f":{EVE}:{LAB}:"))
    User(jobs, EVE, LAB).run(data)
    assert served(bob.run(data)) == 2


def test_a_disk_after_a_restart(jobs, names, scratch, data, ann, bob):
    """The owner has to have seen an entry's bytes in this boot: others do not read all of it."""
    tier = scratch / "lab"
    assert jobs.stoker("share", tier, "lab").returncode == 0
    ann.run(data, tier=tier)
    assert served(bob.run(data, tier=tier)) == 2
    entry, = tier.glob(f"stoker-{ANN}/tree/*/*;file")
    stat = entry.stat()
    os.utime(entry, ns=(stat.st_atime_ns, stat.st_mtime_ns // 10**9 * 10**9 + 7))
    done = bob.run(data, tier=tier)
    assert done.stdout == 2 * CONTENT and served(done) == 0


# ---- what is asked for ----

def test_root_shares_nothing(jobs, shared, bob, data):
    done = jobs.stoker("run", "--share", "lab", "--tier", TIER, "--path", data, "--", "true")
    assert done.returncode == 2 and "root's cache is not shared" in done.stderr
    env = {**jobs.preload_env(data, TIER), "STOKER_SHARE": f"{LAB}:{BOB}"}
    assert jobs.place.run(["cat", data / "file"], env=env).stdout == CONTENT
    entry, = shared.glob("stoker-0/tree/*/*;file")
    assert entry.stat().st_mode & 0o777 == 0o400
    assert served(bob.run(data)) == 0


WRONG = {
    "no such group": (("--share", "nonsense"), "no such group"),
    "no tier of it": (("--share", "lab", "--tier", "/dev/shm"), "no tier is that group's"),
    "another's group": (("--share", "others"), "you are not in that group"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_shared_is_refused(shared, ann, data, what):
    flags, said = WRONG[what]
    done = ann.stoker("run", "--path", data, *flags, "--", "true")
    assert done.returncode == 2 and said in done.stderr


def test_settings_that_mean_nothing(jobs, shared, ann, bob, data):
    """Share nothing, and hinder nothing: by hand, without the command."""
    ann.run(data)
    env = jobs.preload_env(data, TIER)
    for value in ("lab", f"{LAB}", f"{LAB}:", f"{LAB}:{BOB}", f"{LAB}:x", f"{LAB}:{ANN},x", "0:1",
                  f":{ANN}", f"-1:{ANN}", f"{2**32 + LAB}:{ANN}", f"{LAB}:{2**32 + ANN}",
                  f"{LAB}:{'1,' * 400}{ANN}"):
        done = bob.do("/usr/bin/python3", "-c", WHERE, data / "file",
                      env={**env, "STOKER_SHARE": value})
        assert done.stdout.startswith(f"{TIER}/stoker-{BOB}/"), value
        bob.stoker("clear", data)
        assert entries(bob) == []


def test_a_directory_that_a_member_makes(jobs, names, ann, bob, eve, data):
    assert ann.stoker("share", TIER, "lab").returncode == 0
    assert pathlib.Path(jobs.place.path(TIER)).stat().st_mode & 0o7777 == 0o3770
    assert ann.stoker("share", TIER, "lab").returncode == 0
    ann.run(data)
    assert served(bob.run(data)) == 2
    done = bob.stoker("run", "--tier", TIER, "--path", data, "--", "true")
    assert done.returncode == 2 and "another user" in done.stderr  # trusted in the group only
    assert eve.stoker("share", "/dev/shm/eves", "lab").returncode == 2
    assert not os.path.lexists(jobs.place.path("/dev/shm/eves"))


def test_a_directory_that_may_not_be_local(far, jobs, names):
    """Where members would not find each other's."""
    done = jobs.stoker("share", f"{far.mountpoint}/lab", "lab")
    assert done.returncode == 2 and "name a directory of this machine" in done.stderr
    assert not os.path.lexists(f"{far.mountpoint}/lab")


def test_a_directory_of_nobody_in_the_group(shared, ann, data):
    os.chown(shared, EVE, LAB)
    shared.chmod(0o3770)
    done = ann.run(data)
    assert done.returncode == 2 and "no tier is that group's" in done.stderr
    assert os.listdir(shared) == []


def test_a_directory_that_is_in_use(jobs, ann, bob):
    jobs.place.run(["sh", "-c", f"mkdir {TIER} {TIER}/x; chown {ANN}:{ANN} {TIER}"])
    assert "something is in it" in ann.stoker("share", TIER, "lab").stderr
    assert "another user" in bob.stoker("share", TIER, "lab").stderr
    assert pathlib.Path(jobs.place.path(TIER)).stat().st_gid == ANN
    assert ann.stoker("share", TIER).returncode == 2


def test_what_differs_in_another_s_home(shared, ann, bob, data):
    """Is named, and stays: it is the other's to drop."""
    (data / "more").write_text(CONTENT)
    (data / "private").write_text(CONTENT)
    os.chown(data / "private", ANN, ANN)
    (data / "private").chmod(0o600)
    settle()
    ann.run(data, script='cat "$1"/*; ls "$1"')
    bob.run(data, script='cat "$1"/file')
    verify = "verify", "--share", "lab", "--tier", TIER, data
    done = bob.stoker(*verify[:-1])
    assert done.returncode == 2 and "name the data sets" in done.stderr
    for part in (data / "file", data / "more"):
        assert bob.stoker(*verify[:-1], part).stdout.startswith("1 copies right")
    done = bob.stoker(*verify)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("2 copies right")
    lie(entries(ann)[0])
    done = bob.stoker(*verify)
    assert done.returncode == 1 and "who alone can drop them" in done.stderr
    assert done.stdout.startswith(f"{data}/file: the copy in {TIER}/stoker-{ANN} differs at byte 0")
    assert bob.stoker("verify", "--tier", TIER).stdout.startswith("0 copies right")
    assert len(entries(ann)) == 1
    done = ann.stoker("verify", "--tier", TIER)
    assert done.returncode == 1 and "1 differed: dropped" in done.stdout
    assert entries(ann) == [] and bob.stoker(*verify).returncode == 0


def make_pipe(note):
    note.unlink()
    os.mkfifo(note, 0o444)


def test_a_link_in_the_place_of_a_roots_note_leads_nowhere(shared, ann, data, scratch):
    """The owner of DIR can put another home in a member's place: a note that was not checked is not
    opened."""
    ann.run(data)
    note, = (ann.home() / "tree").glob("*/;origin")
    assert note.stat().st_mode & 0o777 == 0o400
    private = scratch / "private"
    private.write_text("ann's own")
    private.chmod(0o600)
    os.chown(private, ANN, LAB)
    note.unlink()
    note.symlink_to(private)
    (data / "another").write_text(CONTENT)
    settle()
    ann.run(data, script='cat "$1/another"')
    assert len(entries(ann, "another")) == 1
    assert private.stat().st_mode & 0o777 == 0o600


LURES = {
    "a pipe for a root's path": lambda tree, note: make_pipe(note),
    "a link for a root's path": lambda tree, note: (
        note.rename(note.with_name("x")), make_pipe(note.with_name("x")), note.symlink_to("x")),
    "a link for a tree": lambda tree, note: (
        make_pipe(note), tree.rename(tree.with_name("x")), tree.symlink_to("x")),
    "a pipe for a root": lambda tree, note: os.mkfifo(tree / "x", 0o444),
}


@pytest.mark.parametrize("lure", LURES)
def test_what_verify_does_not_wait_for(shared, ann, bob, data, lure):
    """The lure is in another member's home. If `verify` cannot look at a thing there, that is no
    failure: it is not the caller's to mend."""
    ann.run(data)
    tree = ann.home() / "tree"
    note, = tree.glob("*/;origin")
    bob.run(data)
    LURES[lure](tree, note)
    done = bob.stoker("verify", "--share", "lab", "--tier", TIER, data, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


PIXELS = """
import hashlib, sys
from PIL import Image
for _ in range(3):
    print(hashlib.sha1(Image.open(sys.argv[1] + "/picture.jpg").convert("RGB").tobytes()).hexdigest())
"""


def test_images(shared, ann, bob, data):
    """Are decoded of what others have cached; their forms are each one's own."""
    image = pytest.importorskip("PIL.Image")
    image.effect_noise((90, 60), 80).convert("RGB").save(data / "picture.jpg")
    settle()
    script = f"/usr/bin/python3 -c '{PIXELS}' \"$1\""
    right = bob.run(data, "--no-decode", script=script).stdout
    assert len(set(right.split())) == 1
    bob.stoker("clear", "--tier", TIER)
    ann.run(data, script=script)
    done = bob.run(data, script=script)
    assert done.stdout == right and served(done) >= 1, done.stderr
    assert entries(bob, "picture.jpg") == []
    for path in shared.glob("stoker-*/samples/**/*"):
        assert path.lstat().st_mode & 0o077 == 0, path


def test_filling_ahead(shared, ann, bob, data):
    """Leaves out what others have."""
    ann.run(data)
    done = bob.stoker("warm", "--share", "lab", "--tier", TIER, data)
    assert done.returncode == 0 and "0 files (0 B) filled" in done.stderr
    assert "1 were there" in done.stderr and entries(bob) == []
    done = bob.stoker("warm", "--share", "1/1", "--tier", TIER, data)
    assert "1 files (3.9 KiB) filled" in done.stderr


def test_a_descriptor_that_is_inherited(shared, ann, bob, data):
    """By a program that has opened nothing itself."""
    ann.run(data)
    form = "'%d %i %u %g %a %Y'"
    done = bob.run(data, script=f'stat -c {form} - <"$1/file"; stat -c {form} "$1/file"')
    inherited, right = done.stdout.splitlines()
    assert inherited == right and served(done) == 1
