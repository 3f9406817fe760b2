"""Descriptors that came from the cache, by all their other names, in other processes, and after
their file is gone. And trees of links as model hubs and data versioning tools lay them out."""

import os
import shutil

import pytest

import matrix
import tree
from origin import settle
from slices import crossed


@pytest.fixture
def base(scratch):
    tree.make(scratch / "base")
    return scratch / "base"


@pytest.fixture
def duo(agents, base):
    with agents.shim(base / "data") as shim, agents.plain() as plain:
        yield shim, plain
    assert shim.summary["hits"] + shim.summary["fills"] > 0


def open_both(duo, path, flags=os.O_RDONLY):
    fds = [agent.open(path, flags) for agent in duo]
    assert duo[0].served(fds[0]) and not duo[1].served(fds[1])
    return fds


FD_NAMES = ["/proc/self/fd/{fd}", "/dev/fd/{fd}", "/proc/thread-self/fd/{fd}",
            "/proc/self/../self/fd/{fd}", "/proc//self/./fd/{fd}", "/proc/{pid}/fd/{fd}"]


@pytest.mark.parametrize("name", FD_NAMES)
def test_names_of_a_descriptor(duo, base, name):
    """They can be read and stat'ed as ever, and as links they lead to the file."""
    fds = open_both(duo, base / "data/a.bin")
    shim, plain = [agent.see(name.format(fd=fd, pid=agent.getpid()))
                   for agent, fd in zip(duo, fds)]
    for key in "open", "stat", "exists", "readable", "readlink":
        assert shim[key] == plain[key], key
    assert os.fsdecode(shim["readlink"]) == str(base / "data/a.bin")
    matrix.record("Paths", name.format(fd="N", pid="PID"), "", "read, stat, access, readlink",
                  "same")


def test_a_descriptor_below_its_own_directory(duo, base):
    """openat(open("/proc/self/fd"), "N")."""
    fds = open_both(duo, base / "data/a.bin")
    seen = []
    for agent, fd in zip(duo, fds):
        at = agent.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
        seen.append([agent.see(b"%d" % fd, at)])
        for directory, path in ("/proc/self/fd", "%d"), ("/proc", "self/fd/%d"), ("/dev", "fd/%d"):
            agent.chdir(directory)
            seen[-1].append(agent.see(path % fd))
        agent.chdir("/")
    for shim, plain in zip(*seen):
        for key in "open", "stat", "readlink":
            assert shim[key] == plain[key], key
    assert [os.fsdecode(one["readlink"]) for one in seen[0]] == [str(base / "data/a.bin")] * 4


@pytest.mark.parametrize("name", ["link", "chain2", "outfile", "sub/up/hard1", "hard1"])
def test_the_name_of_what_was_opened_through_links(duo, base, name):
    fds = open_both(duo, base / "data" / name)
    shim, plain = (agent.readlink(by_name(fd)) for agent, fd in zip(duo, fds))
    assert shim == plain == os.fsencode(os.path.realpath(base / "data" / name))
    assert [agent.true_path(by_name(fd)) for agent, fd in zip(duo, fds)] == [shim, shim]


def test_the_name_is_seen_by_other_processes(duo, base):
    """Other processes of the run see the same name: a child, and a tool that the shell starts."""
    fds = open_both(duo, base / "data/a.bin")
    seen = []
    for agent, fd in zip(duo, fds):
        path = b"/proc/%d/fd/%d" % (agent.getpid(), fd)
        seen.append([agent.in_child("readlink", path), agent.spawn([b"readlink", path]),
                     agent.spawn([b"readlink", b"-f", path]), agent.spawn([b"realpath", path])])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("through", ["data", "alias"])
@pytest.mark.parametrize("name", ["sub/b.bin", "sub/b.bin (deleted)"])
@pytest.mark.parametrize("change", ["unlink", "replace", "rmtree", "rename"])
def test_the_name_of_a_file_that_is_gone(agents, base, change, name, through):
    """Where it went to is not known: then it counts as unlinked, too."""
    path = base / "data" / name
    tree.write(path, 4000)
    settle()
    with agents.shim(base / through) as shim, agents.plain() as plain:
        fds = open_both((shim, plain), base / through / name)
        assert shim.readlink(by_name(fds[0])) == os.fsencode(path)
        {"unlink": lambda: os.unlink(path), "rmtree": lambda: shutil.rmtree(path.parent),
         "replace": lambda: os.rename(base / "data/a.bin", path),
         "rename": lambda: os.rename(path, base / "data/elsewhere")}[change]()
        known, true = (agent.readlink(by_name(fd)) for agent, fd in zip((shim, plain), fds))
        assert known == os.fsencode(path) + b" (deleted)"
        assert change == "rename" or known == true


def test_the_name_when_the_entry_is_gone(duo, base, jobs):
    """The kernel marks the entry's name then: the file is there."""
    fds = open_both(duo, base / "data/a.bin")
    os.unlink(jobs.place.path(duo[0].name_of(fds[0])))
    shim, plain = (agent.readlink(by_name(fd)) for agent, fd in zip(duo, fds))
    assert shim == plain == os.fsencode(base / "data/a.bin")
    os.unlink(base / "data/a.bin")
    assert duo[0].readlink(by_name(fds[0])) == duo[1].readlink(by_name(fds[1]))


def test_a_link_of_ones_own_to_an_entry(duo, base):
    """It says what it says, whatever its name."""
    entry = duo[0].name_of(open_both(duo, base / "data/a.bin")[0])
    for name in "5", "link":
        os.symlink(entry, base / "outside" / name)
        assert duo[0].readlink(base / "outside" / name) == os.fsencode(entry)
    at = duo[0].open(base / "outside", os.O_RDONLY | os.O_DIRECTORY)
    assert duo[0].readlink_at(at, b"5") == os.fsencode(entry)


def test_a_descriptor_of_a_directory_by_name(duo, base):
    """/proc/self/fd/N/x is a file below the root, whatever it is called."""
    seen = []
    for agent in duo:
        fd = agent.open(base / "data/sub", os.O_RDONLY | os.O_DIRECTORY)
        seen.append([agent.see(f"/proc/self/fd/{fd}/b.bin"), agent.see(b"b.bin", fd)])
    assert seen[0] == seen[1] and seen[0][1].served["open"]


@pytest.mark.parametrize("program", ["cat /dev/stdin", "cat /dev/fd/0", "cat /proc/self/fd/0",
                                     "cat <&0", "stat -L -c '%s %i %d %Y' /dev/stdin", "wc -c",
                                     "md5sum /dev/stdin"])
def test_the_standard_input_of_a_program(agents, jobs, place, base, program):
    """A shell opens it through the library, the program looks at it by its names."""
    script = f'{program} <"$0"; {program} <"$0"'
    argv = ["sh", "-c", script, base / "data/a.bin"]
    ran = jobs.run(argv, path=base / "data")
    assert ran.stdout == place.run(argv).stdout and ran.hits >= 1


def test_in_a_child_and_over_a_socket(duo, base):
    fds = open_both(duo, base / "data/a.bin")
    seen = []
    for agent, fd in zip(duo, fds):
        passed = agent.pass_fd(agent.dup(fd))
        seen.append([agent.in_child("fd_facts", fd), agent.fd_facts(passed),
                     agent.in_child("pread", fd, 1 << 16, 100), agent.pread(passed, 1 << 16, 0)])
    assert seen[0] == seen[1]


def test_the_offset_is_shared_with_a_child(duo, base):
    fds = open_both(duo, base / "data/a.bin")
    seen = []
    for agent, fd in zip(duo, fds):
        agent.lseek(fd, 1000, os.SEEK_SET)
        seen.append([agent.in_child("read_some", fd, 500), agent.lseek(fd, 0, os.SEEK_CUR),
                     agent.in_child("read_some", fd, 10000), agent.lseek(fd, 0, os.SEEK_CUR)])
    assert seen[0] == seen[1] and seen[0][3] == 5000


@pytest.mark.parametrize("change", ["unlink", "rename"])
def test_a_file_that_is_gone_can_still_be_read(duo, base, change):
    """The descriptor keeps its version, not the file's later state: its path does not show that any
    more."""
    path = base / "data/hard1"
    fds = open_both(duo, path)
    before = duo[0].fd_facts(fds[0])
    assert before == duo[1].fd_facts(fds[1])
    if change == "unlink":
        duo[0].unlink(path)
    else:
        duo[0].rename(path, base / "data/elsewhere")
    texts = [agent.pread(fd, 1 << 16, 0) for agent, fd in zip(duo, fds)]
    assert texts[0] == texts[1]
    known, true = (agent.fd_facts(fd) for agent, fd in zip(duo, fds))
    assert known == before != true
    matrix.record("Paths", f"a file open while it is gone by {change}", "", "read, fstat",
                  "fstat has the links and ctime of before")


def test_an_entry_cannot_be_written_through_its_descriptor(duo, base):
    """Not even by root, by whatever name it is opened again: the origin is."""
    path = base / "data/a.bin"
    fds = open_both(duo, path)
    before = duo[1].text(path)
    entry = duo[0].name_of(fds[0])
    writer = duo[0].open(f"/proc/self/fd/{fds[0]}", os.O_RDWR)
    duo[0].pwrite(writer, b"changed", 0)
    assert duo[1].text(entry) == before
    assert duo[1].text(path) == b"changed" + before[7:] == duo[0].text(path)
    assert [agent.errno_of("write_some", fd, b"x") for agent, fd in zip(duo, fds)] == [9, 9]


# ---- changes through a descriptor, when its path leads elsewhere by now ----

AT_SYMLINK_FOLLOW, AT_EMPTY_PATH = 0x400, 0x1000
ENOENT = 2
XATTR = "user.stoker"


def by_name(fd):
    return b"/proc/self/fd/%d" % fd


CALLS = {
    "fchmod": lambda agent, fd: agent.fchmod(fd, 0o604),
    "fchown": lambda agent, fd: agent.fchown(fd, 4, 16),
    "futimens": lambda agent, fd: agent.utime_ns(fd, (10**18, 10**18)),
    "futimes": lambda agent, fd: agent.libc("futimes", fd, None),
    "fsetxattr": lambda agent, fd: agent.setxattr(fd, XATTR, b"new"),
    "fremovexattr": lambda agent, fd: agent.removexattr(fd, XATTR),
    "chmod": lambda agent, fd: agent.chmod(by_name(fd), 0o604),
    "chown": lambda agent, fd: agent.chown(by_name(fd), 4, 16),
    "utimensat": lambda agent, fd: agent.utime_ns(by_name(fd), (10**18, 10**18)),
    "setxattr": lambda agent, fd: agent.setxattr(by_name(fd), XATTR, b"new"),
    "fchownat": lambda agent, fd: agent.libc("fchownat", fd, b"", 4, 16, AT_EMPTY_PATH),
    "fchownat nofollow": lambda agent, fd: agent.libc("fchownat", fd, b"", 4, 16,
                                                      AT_EMPTY_PATH | 0x100),
    "truncate": lambda agent, fd: agent.truncate(by_name(fd), 10),
    "truncate slashes": lambda agent, fd: agent.truncate(b"//" + by_name(fd), 10),
    "open to write": lambda agent, fd: agent.write(by_name(fd), b"new", os.O_WRONLY),
}


def facts_of(agent, path):
    """All that the calls change."""
    found = agent.see(path)
    return (found["open"], found["stat"], agent.attributes(path))


def move_over(base, path):
    os.rename(base / "outside/victim", path)
    return path


def make_anew(base, path):
    """Often with the same inode number."""
    os.unlink(path)
    os.rename(base / "outside/victim", base / "outside/old victim")
    path.write_bytes((base / "outside/old victim").read_bytes())
    os.setxattr(path, XATTR, b"old")
    return path


def link_instead(base, path):
    os.unlink(path)
    path.symlink_to(base / "outside/victim")
    return base / "outside/victim"


def link_the_directory_elsewhere(base, path):
    os.rename(base / "outside/victim", base / "outside/deep" / path.name)
    os.rename(path.parent, base / "data/aside")
    path.parent.symlink_to(base / "outside/deep")
    return path


REPLACEMENTS = [move_over, make_anew, link_instead, link_the_directory_elsewhere]


@pytest.fixture
def victim(base):
    """Another file, which gets the path of the one that is open."""
    tree.write(base / "outside/victim", 7000)
    for path in base / "outside/victim", base / "data/sub/b.bin":
        os.setxattr(path, XATTR, b"old")
    settle()


@pytest.mark.parametrize("call, replace", crossed(CALLS, REPLACEMENTS))
def test_another_file_on_the_path_is_not_changed(duo, base, victim, call, replace):
    """The file that the descriptor stands for is out of reach then: as if it were gone."""
    shim, plain = duo
    fd = open_both(duo, base / "data/sub/b.bin")[0]
    other = replace(base, base / "data/sub/b.bin")
    before = facts_of(plain, other)
    assert shim.errno_of(*call_of(CALLS[call], fd)) == ENOENT
    assert facts_of(plain, other) == before
    matrix.record("Paths", "fchmod, futimens, setxattr ... on a file whose path leads to another",
                  "", "the other one is left alone", "the call fails: ENOENT")


class Noted:
    """Notes a call instead of making it."""

    def __getattr__(self, name):
        return lambda *arguments: (name, *arguments)


def call_of(call, fd):
    return call(Noted(), fd)


@pytest.mark.parametrize("call, name", crossed(CALLS, ["a.bin", "link", "chain2", "outfile", "sub/up/hard1"]))
def test_a_file_is_changed_through_its_descriptor(agents, base, call, name):
    """Twice, and by a path through links, too."""
    path = base / "data" / name
    os.setxattr(path, XATTR, b"old")
    settle()
    seen = []
    with agents.shim(base / "data") as shim:
        before = path.stat()
        fd = shim.open(path, os.O_RDONLY)
        assert shim.served(fd)
        errors = [shim.errno_of(*call_of(CALLS[call], fd)) for _ in range(2)]
        assert errors == [0, 61 if call == "fremovexattr" else 0]
        after, attributes = path.stat(), os.listxattr(path)
        assert (after.st_ino, os.path.islink(path)) == (before.st_ino, "link" in name or
                                                        name in ("chain2", "outfile"))
        assert after.st_ctime_ns > before.st_ctime_ns
        seen = shim.see(path)
        with agents.plain() as plain:
            assert seen == plain.see(path)
            assert sorted(shim.listxattr(fd)) == sorted(attributes)


@pytest.mark.parametrize("replace", REPLACEMENTS)
def test_attributes_of_another_file_are_not_read(duo, base, victim, replace):
    shim, plain = duo
    fd = open_both(duo, base / "data/sub/b.bin")[0]
    assert shim.getxattr(fd, XATTR) == b"old"
    other = replace(base, base / "data/sub/b.bin")
    os.setxattr(other, XATTR, b"of another")
    assert shim.errno_of("getxattr", fd, XATTR) == ENOENT
    assert shim.errno_of("listxattr", fd) == ENOENT


@pytest.mark.parametrize("call", CALLS)
def test_a_name_that_ends_as_those_of_deleted_files(duo, base, call):
    """The kernel's " (deleted)" is not the name's own."""
    shim, plain = duo
    path, other = base / "data/sub/b.bin (deleted)", base / "data/sub/b.bin"
    tree.write(path, 4000)
    for one in path, other:
        os.setxattr(one, XATTR, b"old")
    settle()
    fd = open_both(duo, path)[0]
    before = [facts_of(plain, one) for one in (path, other)]
    CALLS[call](shim, fd)
    after = [facts_of(plain, one) for one in (path, other)]
    assert after[1] == before[1] and after[0] != before[0]
    assert shim.see(path) == plain.see(path)


@pytest.mark.parametrize("empty", [False, True])
def test_a_link_to_a_descriptor_is_one_to_the_file(duo, base, empty):
    """An entry gets no second name, in whatever directory."""
    shim, plain = duo
    fds = open_both(duo, base / "data/link")
    entry = shim.name_of(fds[0])
    for number, (agent, fd) in enumerate(zip(duo, fds)):
        name = os.fsencode(base / f"data/sub/new{number}")
        if empty:
            agent.libc("linkat", fd, b"", -100, name, AT_EMPTY_PATH)
        else:
            agent.libc("linkat", -100, by_name(fd), -100, name, AT_SYMLINK_FOLLOW)
        assert os.path.samefile(name, base / "data/a.bin") and not os.path.islink(name)
    assert plain.nlink(entry) == 1
    assert shim.see(base / "data/a.bin") == plain.see(base / "data/a.bin")
    os.rename(base / "outside/o.bin", base / "data/a.bin")
    for way in ((fds[0], b"", -100, os.fsencode(base / "data/sub/no"), AT_EMPTY_PATH),
                (-100, by_name(fds[0]), -100, os.fsencode(base / "data/sub/no"),
                 AT_SYMLINK_FOLLOW)):
        assert shim.errno_of("libc", "linkat", *way) == ENOENT
    assert not (base / "data/sub/no").exists()


FORGOTTEN = """
exec 5<"$0"
rm /dev/shm/stoker-0/catalogue
[ -z "$1" ] || mv "$1" "$0"
stat -L -c '%s %i' /dev/fd/5
chmod 604 /dev/fd/5 2>/dev/null; echo $?
stat -c '%s %i %a' "$0"
wc -c <&5
"""


@pytest.mark.parametrize("replaced", [False, True])
def test_a_descriptor_whose_version_nobody_knows(jobs, base, replaced):
    """Without the catalogue, the entry's name still distinguishes its version from another
    file's."""
    path, other = base / "data/a.bin", base / "outside/o.bin"
    known, new = path.stat(), other.stat()
    ran = jobs.preloaded(["sh", "-c", FORGOTTEN, path, *([other] if replaced else [])],
                         base / "data")
    size, inode, status, now_size, now_inode, now_mode, count = ran.stdout.split()
    assert int(size) == known.st_size == int(count)
    if replaced:
        assert int(status) != 0 and int(inode) != new.st_ino
        assert (int(now_inode), now_mode) == (new.st_ino, f"{new.st_mode & 0o777:o}")
    else:
        assert (int(inode), status, now_mode) == (known.st_ino, "0", "604")


def test_the_attributes_of_statx(agents, base):
    """A known file is answered from memory, with the attributes left out, as the mask says."""
    path = os.fsencode(base / "data/a.bin")
    everything = 0x7ff | 0x800
    with agents.shim(base / "data") as shim, agents.plain() as plain:
        for _ in range(3):
            shim.text(base / "data/a.bin")
            seen, expected = (agent.statx(-100, path, 0, everything) for agent in (shim, plain))
            assert seen[3:] == expected[3:]  # mode and size
            assert seen[0] & 0xfff == expected[0] & 0xfff
            assert (seen[1], seen[2]) in [(expected[1], expected[2]), (0, 0)]


@pytest.mark.parametrize("mask", [0x7ff, 0xfff, 0x1fff], ids=hex)
def test_the_attributes_of_statx_by_a_descriptor(agents, base, mask):
    """The tier's file system may know others, and a birth time that is not the file's."""
    path = base / "data/a.bin"
    with agents.shim(base / "data") as shim, agents.plain() as plain:
        for _ in range(3):
            shim.text(path)
        fds = [agent.open(path, os.O_RDONLY) for agent in (shim, plain)]
        assert shim.served(fds[0])
        for names in ([(fd, b"", 0x1000) for fd in fds],
                      [(-100, b"/proc/self/fd/%d" % fd, 0) for fd in fds]):
            seen, expected = (agent.statx(*name, mask) for agent, name in zip((shim, plain), names))
            assert seen[3:] == expected[3:]  # mode and size
            assert seen[0] & 0xfff & mask == expected[0] & 0xfff & mask
            assert (seen[1], seen[2]) in [(expected[1], expected[2]), (0, 0)]


TRY_LOCK = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("free")
except OSError:
    print("locked")
"""


def is_locked(agent, path):
    """Returns true if another process, without the library, finds a lock on the file."""
    argv = [b"env", b"-u", b"LD_PRELOAD", b"/usr/bin/python3", b"-c", TRY_LOCK.encode(),
            os.fsencode(path)]
    return agent.spawn(argv) == b"locked\n"


def test_a_lock_of_a_writer_holds(duo, base):
    """A file that is open for writing is not cached, so its locks are the origin's."""
    path = base / "data/a.bin"
    fd = duo[0].open(path, os.O_RDWR)
    duo[0].lock(fd, "exclusive")
    duo[0].open(path, os.O_RDONLY)
    assert is_locked(duo[0], path)
    matrix.record("Paths", "locks of a process that has the file open for writing", "",
                  "seen by another process", "same")
    duo[0].see(base / "data/hard1")


def test_a_lock_of_a_reader_holds(duo, base):
    path = base / "data/a.bin"
    fd = duo[0].open(path, os.O_RDONLY)
    assert duo[0].served(fd)
    duo[0].lock(fd, "shared")
    assert is_locked(duo[0], path)


@pytest.mark.xfail(strict=True, reason="a fill closes its descriptor of the origin, which ends the "
                   "POSIX locks that this process has on the file by another one")
def test_a_lock_outlives_a_fill(duo, base):
    path = base / "data/young"
    duo[1].write(path, b"x" * 1000)
    fd = duo[0].open(path, os.O_RDONLY)
    assert not duo[0].served(fd)
    duo[0].lock(fd, "shared")
    assert is_locked(duo[0], path)
    settle()
    again = duo[0].open(path, os.O_RDONLY)
    assert duo[0].served(again)
    assert is_locked(duo[0], path)


# ---- trees of links ----


def make_hub(hub):
    """Blobs named by their hashes, revisions that link to them, references to revisions."""
    for number in range(12):
        tree.write(hub / f"models--a--b/blobs/{number:040x}", 4000 + number)
    for revision in "r1", "r2":
        for number in range(8):
            name = hub / "models--a--b/snapshots" / revision / f"part{number % 2}/file{number}.bin"
            name.parent.mkdir(parents=True, exist_ok=True)
            blob = number if revision == "r1" or number < 4 else number + 4
            name.symlink_to(f"../../../blobs/{blob:040x}")
    tree.write(hub / "models--a--b/refs/main", 40)
    (hub / "latest").symlink_to("models--a--b/snapshots/r1")
    settle()


def hub_files(hub):
    for revision in "models--a--b/snapshots/r1", "models--a--b/snapshots/r2", "latest":
        for number in range(8):
            yield hub / revision / f"part{number % 2}/file{number}.bin"
    yield hub / "models--a--b/refs/main"
    yield hub / "latest"


@pytest.mark.parametrize("root", ["", "models--a--b/snapshots", "models--a--b/snapshots/r1"])
def test_a_hub_of_links(agents, scratch, root):
    """The root may hold the blobs, or only the links to them."""
    hub = scratch / "hub"
    make_hub(hub)
    looked_at = list(hub_files(hub))
    covered = [path for path in looked_at if (hub / root) in path.parents and path.name != "latest"]
    for visit in range(2):
        with agents.shim(hub / root) as shim, agents.plain() as plain:
            for _ in range(2):
                seen, expected = shim.see_all(looked_at), plain.see_all(looked_at)
                assert seen == expected
                assert [path for path in looked_at if seen[path].served["open"]] == covered
            assert shim.walk(str(hub)) == plain.walk(str(hub))
            if visit == 1:
                change_hub(shim, plain, hub, looked_at)
    assert shim.summary["hits"] >= len(covered)
    matrix.record("Paths", f"a model hub's tree of links, root at hub/{root}", "",
                  "read, walked, a new revision, a blob replaced, everything removed", "same")


def change_hub(shim, plain, hub, looked_at):
    """A hub's client works so: a reference moves on, a blob is fetched anew, a revision goes."""
    revisions = hub / "models--a--b/snapshots"

    def check():
        assert shim.see_all(looked_at) == plain.see_all(looked_at)

    shim.symlink("models--a--b/snapshots/r2", str(hub / "next"))
    shim.rename(hub / "next", hub / "latest")
    check()
    blob = os.path.realpath(revisions / "r1/part0/file0.bin")
    shim.write(blob + ".incomplete", b"new" * 1000)
    shim.rename(blob + ".incomplete", blob)
    check()
    shim.unlink(revisions / "r1/part1/file1.bin")
    shim.symlink(f"../../../blobs/{9:040x}", str(revisions / "r1/part1/file1.bin"))
    check()
    settle()
    check()
    shim.rmtree(revisions / "r2")
    check()
    shim.rmtree(hub / "models--a--b")
    check()


def test_an_annex_of_links(agents, scratch):
    """Links to read-only files in read-only directories, which are replaced by files and back."""
    annex = scratch / "annex"
    for number in range(6):
        stored = annex / f".git/annex/objects/{number}/KEY{number}/KEY{number}"
        tree.write(stored, 3000 + number)
        stored.chmod(0o444)
        stored.parent.chmod(0o555)
        (annex / f"file{number}").symlink_to(os.path.relpath(stored, annex))
    settle()
    looked_at = [annex / f"file{number}" for number in range(6)]
    with agents.shim(annex) as shim, agents.plain() as plain:
        for _ in range(2):
            assert shim.see_all(looked_at) == plain.see_all(looked_at)
        assert all(sight.served["open"] for sight in shim.see_all(looked_at).values())
        shim.spawn([b"sh", b"-c", b'cd "$0" && cp file0 aside && chmod 644 aside && mv aside file0'
                    b' && echo more >>file0', os.fsencode(annex)])
        assert shim.see_all(looked_at) == plain.see_all(looked_at)
        shim.unlink(annex / "file0")
        shim.symlink(".git/annex/objects/1/KEY1/KEY1", str(annex / "file0"))
        assert shim.see_all(looked_at) == plain.see_all(looked_at)
