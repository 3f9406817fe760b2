"""The promises to a run: several at once on one cache, runs without the command, and changes
through descriptors that were open before."""

import contextlib
import mmap
import os
import time

import pytest

import beneath
import matrix
from agent import Agents
from agent_program import STAT_FIELDS
from changes import FD_CHANGES, Spot, change_by_descriptor
from jobs import HOME
from origin import settle
from volumes import mount_ext4, mount_overlay

NOBODY = 65534


@pytest.fixture
def root(scratch):
    (scratch / "data").mkdir()
    return scratch / "data"


@pytest.fixture
def file(root):
    """A file with a number in it, which is its version."""
    class File:
        path = root / "file"

        @staticmethod
        def replace(number):
            (root / "aside").write_text(f"{number}")
            os.rename(root / "aside", root / "file")
            settle()

        @staticmethod
        def rewrite(number):
            (root / "file").write_text(f"{number}")
            settle()

    File.replace(1)
    return File


def version(agent, path):
    return int(agent.text(path))


# ---- several runs ----


@pytest.mark.parametrize("change", ["replace", "rewrite"])
def test_each_run_gets_its_own_promise(agents, root, file, change):
    """Runs that start at different times on one cache: each sees no version older than its start,
    in whatever order they look."""
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(agents.plain())
        runs = []
        for number in range(1, 6):
            getattr(file, change)(number)
            assert version(plain, file.path) == number
            runs.append(stack.enter_context(agents.shim(root)))
            looks = list(enumerate(runs, 1))
            for started, shim in looks + looks[::-1]:
                assert started <= version(shim, file.path) <= number
            fd = runs[-1].open(file.path, os.O_RDONLY)
            assert runs[-1].served(fd)
        assert version(runs[-1], file.path) == 5
    assert sum(shim.summary["hits"] for shim in runs) >= 5
    matrix.record("Versions", f"five runs at once, started between changes ({change})", "",
                  "each sees no version older than its start", "same")


def test_a_run_alone_keeps_its_version(agents, root, file):
    with agents.shim(root) as shim:
        seen = []
        for number in range(2, 6):
            seen.append(version(shim, file.path))
            file.replace(number)
        assert seen == [1] * 4
    assert shim.summary["hits"] == 3


def test_runs_of_different_freshness_at_once(agents, root, file):
    with contextlib.ExitStack() as stack:
        shims = {fresh: stack.enter_context(agents.shim(root, ["--keep", f"--fresh={fresh}"]))
                 for fresh in ("run", "open", "never")}
        assert {version(shim, file.path) for shim in shims.values()} == {1}
        file.replace(2)
        assert version(shims["never"], file.path) == version(shims["run"], file.path) == 1
        assert version(shims["open"], file.path) == 2
        # One run has learned of the version, so the next may know it.
        assert version(shims["run"], file.path) in (1, 2)
        file.replace(3)
        assert version(shims["open"], file.path) == 3
    with agents.shim(root) as shim:
        assert version(shim, file.path) == 3


@pytest.mark.parametrize("fresh", ["run", "never"])
@pytest.mark.parametrize("change", ["write", "truncate", "rename"])
def test_what_a_run_changed_is_known_to_later_runs(agents, root, file, fresh, change):
    """Long after, and however much they trust: it was seen when it happened."""
    flags = ["--keep", f"--fresh={fresh}"]
    with agents.shim(root, flags) as shim, agents.plain() as plain:
        for _ in range(2):
            shim.see(file.path)
        if change == "write":
            shim.write(file.path, b"2")
        elif change == "truncate":
            shim.write(root / "other", b"20000")
            shim.rename(root / "other", file.path)
            settle()
            shim.see(file.path)
            shim.truncate(file.path, 1)
        else:
            shim.write(root / "other", b"2")
            shim.rename(root / "other", file.path)
    time.sleep(2.1)  # marks of writing are kept in seconds
    with agents.shim(root, flags) as shim, agents.plain() as plain:
        assert shim.see(file.path) == plain.see(file.path)
        assert version(shim, file.path) == 2


# ---- runs without the command ----


def test_what_they_use_is_not_removed(agents, jobs, root, file):
    """Else a later process would make a catalogue of its own, and not learn of this one's
    changes."""
    with agents.preloaded(root) as writer:
        assert version(writer, file.path) == 1
        assert version(writer, file.path) == 1
        assert jobs.stoker("clear").stdout.startswith("removed 1 cached file; the index of the cache stays")
        with agents.preloaded(root) as reader:
            for _ in range(2):
                assert version(reader, file.path) == 1
            assert reader.served(reader.open(file.path, os.O_RDONLY))
            writer.write(root / "other", b"2")
            writer.rename(root / "other", file.path)
            assert version(reader, file.path) == 2
    assert jobs.stoker("clear").stdout.startswith("removed ")


def test_a_tier_that_they_use_keeps_its_home(agents, jobs, root, scratch, file):
    """In a directory that all may write to another user would take the name, and programs that run would be
    served what lies there."""
    tier = scratch / "tier"
    tier.mkdir()
    tier.chmod(0o1777)
    with agents.preloaded(root, env={"STOKER_TIERS": f"{tier}:50M"}) as job:
        for _ in range(2):
            assert version(job, file.path) == 1
        assert job.served(job.open(file.path, os.O_RDONLY))
        home = (tier / HOME).stat()
        assert jobs.stoker("clear", "--tier", tier).stdout.startswith("removed 1 cached file")
        assert os.path.samestat((tier / HOME).stat(), home)
    assert jobs.stoker("clear", "--tier", tier).stdout.startswith("removed ")
    assert not (tier / HOME).exists()


def test_without_the_command_each_start_is_a_run(agents, root, file):
    for number in range(1, 4):
        file.replace(number)
        with agents.preloaded(root) as shim:
            for _ in range(2):
                assert version(shim, file.path) == number
            assert shim.served(shim.open(file.path, os.O_RDONLY))
            file.rewrite(number * 10)
            assert version(shim, file.path) == number


CAT = beneath.SOURCE + """
import os, sys
print(open(sys.argv[1]).read(), name_of(os.open(sys.argv[1], 0)))
"""


def test_a_program_of_the_same_kind_is_of_the_same_run(agents, root, file):
    """A Python that Python starts began with the first one. A Python that a shell in between starts
    is new, and so is another program."""
    with agents.preloaded(root) as shim:
        assert [version(shim, file.path) for _ in range(2)] == [1, 1]
        executable = shim.readlink("/proc/self/exe")
        script = CAT.encode()
        path = os.fsencode(file.path)
        file.replace(2)
        same = [os.fsencode(executable), b"-S", b"-c", script, path]
        assert shim.spawn(same).split()[0] == b"1"
        assert b"/tree/" in shim.spawn(same)
        assert shim.in_child("text", str(file.path)) == b"1"
        assert version(shim, file.path) == 1
        # A shell between them: the chain is broken, and the origin is asked.
        assert shim.spawn([b"sh", b"-c", b'"$@"; exit', b"sh", *same]).split()[0] == b"2"


def test_an_exec_of_another_program_is_a_run_of_its_own(agents, root, file):
    with agents.preloaded(root) as shim:
        assert [version(shim, file.path) for _ in range(2)] == [1, 1]
        file.replace(2)
        assert shim.spawn([b"cat", os.fsencode(file.path)]) == b"2"
    matrix.record("Versions", "runs without the command", "",
                  "scripts, children, other programs, a shell in between", "same")


# ---- descriptors open for writing ----


def prepared(agents, root, user):
    """Each change's spot, with a descriptor of it that is open for writing."""
    spots = {change: Spot(root / change) for change in FD_CHANGES}
    for spot in spots.values():
        spot.make()
    settle()
    return spots, {change: user.open(spot.file, os.O_RDWR) for change, spot in spots.items()}


def test_writing_behind_the_back_by_an_old_descriptor(agents, root):
    """It was open before the file was cached: seen by the next run, and by --fresh=open."""
    with agents.plain() as plain:
        spots, fds = prepared(agents, root, plain)
        with agents.shim(root) as shim, agents.shim(root, ["--keep", "--fresh=open"]) as asking:
            for change, spot in spots.items():
                before = [shim.see(spot.file) for _ in range(2)][1]
                assert before.served["open"]
                change_by_descriptor(plain, fds[change], change)
                assert shim.see(spot.file)["open"] == before["open"], change
                assert asking.see(spot.file) == plain.see(spot.file), change
        settle()
        with agents.shim(root) as shim:
            for change, spot in spots.items():
                assert shim.see(spot.file) == plain.see(spot.file), change
        assert shim.summary["fills"] + shim.summary["hits"] >= len(spots)
    matrix.record("Versions", "written behind the back by a descriptor open before", "",
                  f"{len(FD_CHANGES)} ways, also by a map", "same")


@pytest.mark.parametrize("fresh", ["run", "never"])
def test_writing_through_the_library_by_an_old_descriptor(agents, root, fresh):
    """The file is not cached in that run, since a descriptor cannot be watched."""
    with agents.shim(root, ["--keep", f"--fresh={fresh}"]) as shim, agents.plain() as plain:
        spots, fds = prepared(agents, root, shim)
        for change, spot in spots.items():
            for name in spot.file, spot.path / "hard", spot.path / "link":
                assert shim.see(name) == plain.see(name)
                assert not shim.see(name).served["open"], change
            for _ in range(2):
                change_by_descriptor(shim, fds[change], change)
                for name in spot.file, spot.path / "hard", spot.path / "link":
                    assert shim.see(name) == plain.see(name), change
        settle()
        for spot in spots.values():
            assert shim.see(spot.file) == plain.see(spot.file)
    assert shim.summary["bypassed"]["written"] >= len(spots)


def test_a_descriptor_that_was_opened_before_by_another_name(agents, root):
    """Through a hard link that lies outside of the root, or a link that leads in."""
    outside = root.parent / "outside"
    outside.mkdir()
    with agents.shim(root) as shim, agents.plain() as plain:
        spots = {name: Spot(root / name) for name in ("hard", "link")}
        for name, spot in spots.items():
            spot.make()
        os.link(spots["hard"].file, outside / "hard")
        (outside / "link").symlink_to(spots["link"].file)
        settle()
        shim.see(spots["hard"].aside)  # the cache is in use
        for name, spot in spots.items():
            fd = shim.open(outside / name, os.O_RDWR)
            assert shim.see(spot.file) == plain.see(spot.file)
            shim.pwrite(fd, b"changed", 0)
            assert shim.see(spot.file) == plain.see(spot.file)


BY_BLOCKS = {"STOKER_MAX_FILE": "1"}  # what is above is a big file


@pytest.mark.parametrize("where, env", [("disk", {}), ("disk", BY_BLOCKS), ("memory", {})],
                         ids=["disk", "disk by blocks", "memory"])
def test_a_map_written_again_behind_the_back(agents, place, root, scratch, where, env):
    """The file system notes a map's first write to a page, and the next ones only when the page has
    been written out. That is done before a fill; in memory, where it never is, nothing is
    cached."""
    if where == "memory":
        place.run(["mount", "-t", "tmpfs", "pages that are never clean", root])
    else:
        mount_ext4(place, root, scratch)
    with agents.plain() as plain:
        plain.write(root / "file", b"0" * 1000)
        fd = plain.open(root / "file", os.O_RDWR)
        plain.map_file(fd)
        for text in b"first", b"again":
            plain.change_map(fd, 0, text)
            settle()
            with agents.shim(root, env=env) as shim:
                for _ in range(2):
                    assert shim.see(root / "file") == plain.see(root / "file")
            served = shim.summary["hits"] + shim.summary["fills"] > 0
            assert served is (where == "disk")
            assert (shim.summary["bypassed"].get("in_memory", 0) > 0) is (where == "memory")


@pytest.mark.parametrize("why", ["touched", "the clock was stepped"])
def test_a_map_of_a_file_that_looks_old(agents, place, root, scratch, stepped, why):
    """A page may wait to be written out whatever the file's times say: tools set them, and clocks
    are put right."""
    mount_ext4(place, root, scratch)
    env = stepped(3600) if why == "the clock was stepped" else {}
    with agents.plain() as plain:
        plain.write(root / "file", b"0" * 1000)
        fd = plain.open(root / "file", os.O_RDWR)
        plain.map_file(fd)
        plain.change_map(fd, 0, b"first")
        if why == "touched":
            plain.utime(root / "file", (1e9, 1e9))
        settle()
        for text in b"first", b"again":
            plain.change_map(fd, 0, text)
            settle()
            with agents.shim(root, env=env) as shim:
                assert shim.see(root / "file") == plain.see(root / "file")
            assert shim.summary["fills"] == 1


def test_a_clock_that_is_set_back_and_put_right(agents, root, file, stepped):
    """A version from before is young until its time comes again: it is read from the origin."""
    env = stepped(0)
    with agents.shim(root, env=env) as shim:
        for seconds in 0, -3600:
            stepped(seconds)  # what the run has asked for it does not ask for again
            for _ in range(2):
                assert version(shim, file.path) == 1
            assert shim.see(file.path).served["open"]
        file.replace(2)
    for seconds, served in (-3600, False), (0, True):
        with agents.shim(root, env=stepped(seconds)) as shim:
            for _ in range(2):
                assert version(shim, file.path) == 2
            assert shim.see(file.path).served["open"] is served


WRITES = {
    "write": lambda shim, path: shim.write(path, b"2", os.O_WRONLY),
    "truncating": lambda shim, path: shim.write(path, b"2"),
    "both": lambda shim, path: shim.write(path, b"2", os.O_RDWR),
    "another name": lambda shim, path: shim.write(path.parent / "hard", b"2", os.O_WRONLY),
    "a link": lambda shim, path: shim.write(path.parent / "link", b"2", os.O_WRONLY),
    "truncate": lambda shim, path: (shim.truncate(path, 0), shim.write(path, b"2")),
}


@pytest.mark.parametrize("way", WRITES)
def test_what_was_open_before_shows_what_is_written(agents, root, file, way):
    """Descriptors and shared maps of an entry become the origin's: those of replay buffers,
    np.memmap and the like, which are read and written in turns."""
    if way == "another name":
        os.link(file.path, root / "hard")
    (root / "link").symlink_to("file")
    settle()
    with agents.shim(root) as shim:
        assert [version(shim, file.path) for _ in range(2)] == [1, 1]
        fds = [shim.open(file.path, os.O_RDONLY | flags)
               for flags in (0, os.O_NONBLOCK, os.O_CLOEXEC)]
        moved, shared, private = fds
        assert all(shim.served(fd) for fd in fds)
        shim.lseek(moved, 1, os.SEEK_SET)
        shim.map_for_reading(shared, mmap.MAP_SHARED)
        shim.map_for_reading(private, mmap.MAP_PRIVATE)
        on_exec = [shim.get_inheritable(fd) for fd in fds]
        WRITES[way](shim, file.path)
        assert not any(shim.served(fd) for fd in fds)
        assert [shim.pread(fd, 10, 0) for fd in fds] == [b"2"] * 3
        assert shim.lseek(moved, 0, os.SEEK_CUR) == 1
        assert shim.get_blocking(shared) is False and shim.get_blocking(moved) is True
        assert [shim.get_inheritable(fd) for fd in fds] == on_exec
        assert shim.read_map(shared) == b"2"
    assert shim.summary["stale"] == (2 if way == "truncate" else 1)  # it writes twice
    matrix.record("Versions", f"open and mapped, then written by the same process ({way})", "",
                  "descriptors and shared maps follow; private maps are told of", "same")


def test_what_was_open_before_is_not_the_next_file_of_its_number(agents, place, root, scratch):
    """An entry keeps no inode of its origin: once the origin is removed, the next file that is made gets its number. Descriptors
    and maps of the entry keep the removed file."""
    mount_ext4(place, root, scratch)
    with agents.plain() as plain:
        plain.write(root / "file", b"1")
    settle()
    with agents.shim(root) as shim:
        assert [version(shim, root / "file") for _ in range(2)] == [1, 1]
        fd = shim.open(root / "file", os.O_RDONLY)
        assert shim.served(fd)
        shim.map_for_reading(fd, mmap.MAP_SHARED)
        number = shim.fd_facts(fd)[STAT_FIELDS.index("ino")]
        shim.unlink(root / "file")
        for name in "other", "file":
            shim.write(root / name, b"2")
        made = [shim.open(root / name, os.O_RDONLY) for name in ("other", "file")]
        assert number in [shim.fd_facts(each)[STAT_FIELDS.index("ino")] for each in made]
        assert shim.pread(fd, 10, 0) == b"1" and shim.read_map(fd) == b"1"


def test_what_was_open_before_follows_a_file_that_is_copied_up(agents, place, root, scratch):
    """overlayfs then gives the file another time of birth."""
    layers = scratch / "layers"
    layers.mkdir()
    mount_ext4(place, layers, scratch)
    mount_overlay(place, root, layers)
    with agents.plain() as plain:
        plain.write(layers / "lower" / "file", b"1")
    settle()
    with agents.shim(root) as shim:
        assert [version(shim, root / "file") for _ in range(2)] == [1, 1]
        fd = shim.open(root / "file", os.O_RDONLY)
        assert shim.served(fd)
        shim.write(root / "file", b"2", os.O_WRONLY)
        assert not shim.served(fd) and shim.pread(fd, 10, 0) == b"2"


def test_the_size_of_a_descriptor_is_that_of_its_bytes(agents, root, file):
    """Also when others have written the file since, and something makes us look."""
    with agents.shim(root) as shim, agents.plain() as plain:
        for _ in range(2):
            assert version(shim, file.path) == 1
        fd = shim.open(file.path, os.O_RDONLY)
        assert shim.served(fd)
        plain.write(file.path, b"22222")
        shim.mkdir(root / "one")
        shim.rename(root / "one", root / "two")
        assert shim.fd_facts(fd)[STAT_FIELDS.index("size")] == 1
        assert shim.read_some(fd, 100) == b"1"


def share_an_offset(agent, one, other):
    agent.lseek(other, 1, os.SEEK_SET)
    agent.lseek(one, 3, os.SEEK_SET)
    return agent.lseek(other, 0, os.SEEK_CUR) == 3


@pytest.mark.parametrize("what", ["descriptors", "open files"])
def test_many_descriptors_go_on_sharing_their_offsets(agents, root, file, what):
    """Also where there are so many that our own numbers come up while they are looked through, and
    where many pairs of them share one."""
    with agents.shim(root) as shim:
        assert [version(shim, file.path) for _ in range(2)] == [1, 1]
        count = 40 if what == "open files" else 1
        pairs = [[shim.open(file.path, os.O_RDONLY)] for _ in range(count)]
        assert all(shim.served(fd) for (fd,) in pairs)
        if what == "descriptors":
            others = [shim.open("/dev/null", os.O_RDONLY) for _ in range(800)]
            for fd in others[720:740]:
                shim.close(fd)
            for fd in others[760:770]:
                shim.close(fd)
            pairs[0].append(shim.dup2(pairs[0][0], others[765]))
        else:
            for pair in pairs:
                pair.append(shim.dup(pair[0]))
        shim.write(file.path, b"22222", os.O_WRONLY)
        assert not any(shim.served(fd) for pair in pairs for fd in pair)
        assert all(share_an_offset(shim, *pair) for pair in pairs)
        if what == "open files":
            assert not share_an_offset(shim, pairs[0][0], pairs[-1][1])
    assert shim.summary["stale"] == 0


def test_other_descriptors_stay_as_they_are(agents, root, file):
    """Descriptors of other files, and of a version that was replaced."""
    (root / "other").write_text("7")
    settle()
    with agents.shim(root) as shim:
        for path in (file.path, root / "other"):
            assert version(shim, path) == version(shim, path)
        fds = [shim.open(path, os.O_RDONLY) for path in (file.path, root / "other")]
        assert all(shim.served(fd) for fd in fds)
        shim.write(root / "aside", b"2")
        shim.rename(root / "aside", file.path)
        shim.write(file.path, b"3", os.O_WRONLY)
        assert [shim.pread(fd, 1, 0) for fd in fds] == [b"1", b"7"]
        assert all(shim.served(fd) for fd in fds)
    assert shim.summary["stale"] == 0


def test_an_open_that_may_make_a_file_writes_nothing(agents, root, file):
    """O_RDONLY|O_CREAT, as locks are opened: what is there stays cached, what is made is seen."""
    with agents.shim(root) as shim, agents.plain() as plain:
        assert [version(shim, file.path) for _ in range(2)] == [1, 1]
        shim.close(shim.open(file.path, os.O_RDONLY | os.O_CREAT))
        sight = shim.see(file.path)
        assert sight.served["open"] and sight == plain.see(file.path)
        assert shim.see(root / "new") == plain.see(root / "new")
        shim.close(shim.open(root / "new", os.O_RDONLY | os.O_CREAT))
        assert shim.see(root / "new") == plain.see(root / "new")
    assert shim.summary["bypassed"].get("written", 0) == 0


# ---- permissions ----


@pytest.fixture
def users(jobs, scratch):
    """Starts agents as the user `nobody`."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return Agents(jobs, scratch, NOBODY)


CLOSED = {"file-unreadable": ("dir/file", 0), "file-write-only": ("dir/file", 0o200),
          "directory-closed": ("dir", 0), "directory-not-searchable": ("dir", 0o600),
          "above-closed": (".", 0)}


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("who", ["self", "child", "behind", "between", "fresh-open"])
def test_what_may_not_be_read_any_more(users, root, closed, who):
    """EACCES where the origin says so, at the times at which a new version would be seen."""
    spot = Spot(root / "spot")
    spot.make()
    for path in [spot.path, *spot.path.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    settle()
    name, mode = CLOSED[closed]
    target = spot.path / name
    usual = target.stat().st_mode & 0o777
    names = [spot.file, spot.path / "link", spot.path / "dirlink/file"]
    flags = ["--keep", "--fresh=open"] if who == "fresh-open" else ["--keep"]
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(users.plain())
        shim = stack.enter_context(users.preloaded(root, {"STOKER_FRESH": flags[-1][8:] or "run"}))
        old = [shim.see_all(names) for _ in range(2)][1]
        assert all(sight.served["open"] for sight in old.values())
        changer = plain if who in ("behind", "between", "fresh-open") else shim
        if who == "child":
            shim.in_child("chmod", os.fsencode(target), mode)
        else:
            changer.chmod(target, mode)
        if who == "between":
            shim = stack.enter_context(users.preloaded(root))
        new = plain.see_all(names)
        assert new != old and new[spot.file]["open"] == ("errno", 13)
        if who == "behind":
            assert {path: sight["open"] for path, sight in shim.see_all(names).items()} == {
                path: sight["open"] for path, sight in old.items()}
        else:
            for _ in range(2):
                assert shim.see_all(names) == new
        changer.chmod(target, usual)
        if who != "behind":
            for _ in range(2):
                assert shim.see_all(names) == plain.see_all(names)
