"""A tier on a file system that may not be local, by which nodes fill each other's caches."""

import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

import slowfs
from isolated import Isolated
from jobs import HOME, Jobs, kill_group, wait_for
from nodes import Node
from origin import Origin, settle
from slices import ALL
from epoch_job import images, without_torch  # noqa: F401
from test_tiers import KIB, MIB, reader, sum_of

pytestmark = pytest.mark.usefixtures("as_root")

COUNT, SIZE = 40, 24 * KIB + 5
ERRORS = 16  # one after the other, and the server is left alone
SEAL = 64


class Cluster:
    """Two nodes, an origin that both know by one name, and a tier that they share."""

    def __init__(self, origin, tier, nodes):
        self.origin, self.tier, self.nodes = origin, tier, nodes
        self.hold(COUNT)
        self.home = pathlib.Path(tier.source) / HOME

    def hold(self, count):
        """So many files from now on."""
        self.count = count
        self.source, self.mount = self.origin.files("shared", count, SIZE)
        self.files = [self.mount / f"file{number:04}" for number in range(count)]

    def flags(self, budget="", local="/dev/shm:64M"):
        return [f"--tier={local}", f"--tier={self.tier.mountpoint}{budget}"]

    def run(self, number, epochs=1, budget="", seed=0, local="/dev/shm:64M", **more):
        """A job on that node, which reads what is true; (what the run says, what it cost)."""
        with self.origin.fs.counting() as counted:
            ran = self.nodes[number].jobs.run(reader(self.files, epochs, seed), path=self.mount,
                                              flags=self.flags(budget, local), **more)
        assert ran.stdout.split() == [sum_of(self.source, self.count)] * epochs
        return ran, counted

    def entries(self):
        """Returns the entries in the tier, by the names of their files."""
        return {path.name[13:]: path for path in self.home.glob("shared/**/*;*")}

    def drafts(self):
        return list(self.home.glob("making/*/*"))


@pytest.fixture
def cluster(build, scratch):
    binary = str(build / "slowfs")
    for name in ("data", "cache"):
        (scratch / name).mkdir()
    quick = {"binary": binary, "attr_timeout": 0, "entry_timeout": 0}
    with slowfs.SlowFS(scratch / "data", name="server:/data", **quick) as data, \
            slowfs.SlowFS(scratch / "cache", name="server:/cache", **quick) as cache, \
            Isolated() as first, Isolated() as second:
        nodes = [Node(place, build, scratch, number)
                 for number, place in enumerate((first, second))]
        yield Cluster(Origin(data), cache, nodes)


def test_two_nodes_share(cluster):
    """One node has copied the files, and the other does not read them from the origin."""
    first, counted = cluster.run(0, 2)
    assert counted["read_bytes"] >= COUNT * SIZE
    assert first.shared["published"] == COUNT and first.shared["fetched"] == 0
    assert len(cluster.entries()) == COUNT and cluster.drafts() == []
    second, counted = cluster.run(1, 2)
    assert counted["read_bytes"] == 0
    assert second.shared["fetched"] == COUNT and second.shared["published"] == 0
    assert second.shared["fetched_bytes"] == COUNT * SIZE
    assert second.epoch(2)["hits"] == COUNT
    assert first.epoch(1)["bytes_origin"] == COUNT * SIZE
    assert second.epoch(1)["bytes_origin"] == 0
    assert second.epoch(1)["bytes_cache"] == COUNT * SIZE
    assert f"shared: {cluster.tier.mountpoint}/{HOME}; taken" in second.stderr
    told = rf"shared: {COUNT} files \(\S+ KiB\) came from {cluster.tier.mountpoint}/{HOME}, 0 "
    assert re.search(told, second.stderr)


def test_the_seal_and_the_modes(cluster):
    """Each entry has the file's bytes, and behind them the seal. Another user may not look."""
    cluster.run(0)
    for name, path in cluster.entries().items():
        held = path.read_bytes()
        assert held[:-SEAL] == (cluster.source / name).read_bytes()
        assert held[-SEAL:].startswith(b"stoker\0\1") and path.stat().st_mode & 0o077 == 0
    for directory in [cluster.home, *cluster.home.iterdir()]:
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def damage(how, path):
    """One of the ways in which an entry may be wrong."""
    held = bytearray(path.read_bytes())
    if how == "a byte":
        held[len(held) // 2] ^= 1
    elif how == "its seal":
        held[-1] ^= 1
    elif how == "zeroes":
        held[:-SEAL] = bytes(len(held) - SEAL)
    elif how == "short":
        del held[-100:]
    elif how == "empty":
        held.clear()
    path.write_bytes(held)


@pytest.mark.parametrize("how", ["a byte", "short", "another's"] +
                         (["its seal", "zeroes", "empty"] if ALL else []))
def test_damaged_entries(cluster, how):
    """Never wrong bytes: what cannot prove itself is read from the origin, and put there again."""
    cluster.run(0)
    entries = cluster.entries()
    right = {path: path.read_bytes() for path in entries.values()}
    for name in ("file0003", "file0017"):
        if how == "another's":
            entries[name].write_bytes(entries["file0000"].read_bytes())
        else:
            damage(how, entries[name])
    ran, counted = cluster.run(1)
    assert ran.shared["fetched"] == COUNT - 2 and counted["read_bytes"] > 0
    found = how not in ("short", "empty")  # in those, the length differs before any read
    assert ran.shared["damaged"] == 2 * found
    assert ran.shared["published"] == 2 * found
    if found:
        assert {path: path.read_bytes() for path in right} == right
        assert "shared: 2 damaged files were read from the originals" in ran.said


def test_a_new_version(cluster):
    """Entry names distinguish versions, whatever node made them."""
    cluster.run(0)
    (cluster.source / "file0005").write_bytes(os.urandom(SIZE))
    settle()
    ran, counted = cluster.run(1)
    assert ran.shared["fetched"] == COUNT - 1 and ran.shared["published"] == 1
    assert counted["read_bytes"] <= SIZE + 4096
    ran, counted = cluster.run(0)
    assert counted["read_bytes"] == 0


ALONE = {"STOKER_AHEAD": "off"}  # the job's own opens, one after the other


def test_the_origin_is_not_opened(cluster):
    """A look at each file shows its version. The first one is opened: so the user may read it."""
    cluster.run(0)
    ran, counted = cluster.run(1, 2, env=ALONE)
    assert counted["open"] == 1 and counted["read_bytes"] == 0
    assert ran.shared["fetched"] == ran.fills == COUNT and ran.epoch(2)["hits"] == COUNT
    assert ran.stats_asked <= COUNT + 1


def test_many_threads_open_nothing(cluster):
    """Reading ahead does without opens, too, and `stoker warm`, but for the first file of each thread."""
    cluster.hold(300)
    cluster.run(0)
    ran, counted = cluster.run(1)
    assert counted["open"] < cluster.count and ran.shared["fetched"] == cluster.count
    cluster.nodes[1].jobs.stoker("clear")
    with cluster.origin.fs.counting() as counted:
        done = cluster.nodes[1].jobs.stoker("warm", *cluster.flags(), cluster.mount)
    assert done.returncode == 0 and counted["open"] < cluster.count and counted["read_bytes"] == 0


def test_an_entry_of_other_rights(cluster):
    """A process in another group opens each file at the origin, which says whether it may."""
    cluster.run(0)
    ran, counted = cluster.run(1, env=ALONE, within=["setpriv", "--groups=4711"])
    assert ran.shared["fetched"] == COUNT and counted["open"] == COUNT


def test_what_lies_here_already(cluster, scratch):
    """Entries of a run without the shared tier are put there by the next one with it; once."""
    local = scratch / "disk"
    local.mkdir()
    jobs, flags = cluster.nodes[0].jobs, cluster.flags(":970K", f"{local}:64M")
    jobs.run(reader(cluster.files, 1), path=cluster.mount, tier=f"{local}:64M")
    for published in (COUNT, 0):
        ran = jobs.run(reader(cluster.files, 1), path=cluster.mount, flags=flags)
        assert ran.shared["published"] == published and ran.shared["full"] == 0
    assert len(cluster.entries()) == COUNT


def test_the_shared_tier_alone(cluster):
    """The usual local one is in front of it then."""
    flags = [f"--tier={cluster.tier.mountpoint}:64M"]
    for number in (0, 1):
        ran = cluster.nodes[number].jobs.run(reader(cluster.files, 1), path=cluster.mount,
                                             flags=flags)
        assert f"in /dev/shm/{HOME}" in ran.stderr and "at most 64.0 MiB; taken" in ran.said
    assert ran.shared["fetched"] == COUNT


def test_warming_puts_it_there(cluster):
    done = cluster.nodes[0].jobs.stoker("warm", *cluster.flags(), cluster.mount)
    assert done.returncode == 0 and f"{COUNT} (" in done.stderr.split("came from")[1]
    assert len(cluster.entries()) == COUNT
    ran, counted = cluster.run(1)
    assert counted["read_bytes"] == 0


def test_warming_leaves_nothing_out(cluster):
    """It waits where a job would not."""
    count = 150
    source, mount = cluster.origin.files("many", count, 2 * KIB)
    cluster.tier.latency_ms = 2
    done = cluster.nodes[0].jobs.stoker("warm", *cluster.flags(), mount)
    cluster.tier.latency_ms = 0
    assert done.returncode == 0 and "no time" not in done.stderr, done.stderr
    assert len(cluster.entries()) == count


def test_warming_puts_there_what_was_filled_before(cluster):
    jobs = cluster.nodes[0].jobs
    for flags, entries in ([cluster.flags()[:1], 0], [cluster.flags(), COUNT]):
        done = jobs.stoker("warm", *flags, cluster.mount)
        assert done.returncode == 0 and len(cluster.entries()) == entries


def test_not_without_the_command(cluster):
    """Without the command no helper would make the calls in the job's place."""
    done = cluster.nodes[0].jobs.stoker("env", f"--path={cluster.mount}", *cluster.flags())
    assert done.returncode == 2 and "has no meaning without `stoker run`" in done.stderr
    jobs, tier = cluster.nodes[0].jobs, f"/dev/shm:64M,{cluster.tier.mountpoint}"
    done = jobs.preloaded(reader(cluster.files, 2), cluster.mount, tier=tier)
    assert done.stdout.split() == [sum_of(cluster.source, COUNT)] * 2 and done.stderr == ""
    assert not cluster.home.exists()


def test_cleared(cluster):
    """As other tiers are, by name; what other nodes have open is theirs."""
    cluster.run(0)
    jobs = cluster.nodes[1].jobs
    assert jobs.stoker("clear", f"--tier={cluster.tier.mountpoint}").stdout.startswith("removed ")
    assert not cluster.home.exists()
    ran, _ = cluster.run(1)
    assert ran.shared["fetched"] == 0 and ran.shared["published"] == COUNT


def test_a_local_tier_on_a_disk(cluster, scratch):
    """An entry that was fetched proves itself there, as a copied one does."""
    local = scratch / "disk"
    local.mkdir()
    cluster.run(0)
    ran = cluster.nodes[1].jobs.run(reader(cluster.files, 1), path=cluster.mount,
                                    flags=cluster.flags(local=f"{local}:64M"))
    assert ran.shared["fetched"] == COUNT
    entry, = local.glob(f"{HOME}/tree/**/*;file0000")
    assert len(os.getxattr(entry, "user.stoker.check")) == 8
    assert stat.S_IMODE(entry.stat().st_mode) == 0o400
    verified = cluster.nodes[1].jobs.stoker("verify", f"--tier={local}")
    assert verified.stdout.startswith(f"{COUNT} copies right")


# ---- file systems as they are ----

FAILURES = {"stale": {"stale_ns": 1}, "whole seconds": {"whole_seconds": 1},
            "statvfs zero": {"statvfs_zero": 1}, "fsync": {"fsync": errno.EIO},
            "rename flags": {"rename_flags": 1}, "negative names": {"negative_ns": slowfs.HOUR_NS}}
MORE = {"quota": {"fsync": errno.EDQUOT}, "reads": {"read": errno.EIO},
        "opens": {"open": errno.EIO}, "sizes": {"size": -1000}, "short reads": {"read_most": 1000}}
FAILURES.update(MORE if ALL else {})


@pytest.mark.parametrize("failure", FAILURES)
def test_file_systems_that_fail(cluster, failure):
    """On either side of it: the bytes are right, and the job gets on."""
    with cluster.tier.faults(**FAILURES[failure]):
        cluster.run(0)
        cluster.run(1)
    cluster.run(0)
    ran, counted = cluster.run(1)
    assert ran.shared["fetched"] == COUNT and counted["read_bytes"] == 0
    with cluster.tier.faults(**FAILURES[failure]):
        cluster.run(1)


def test_full_at_fsync(cluster):
    """Nothing is there then, and nothing is tried for a while."""
    with cluster.tier.faults(fsync=errno.ENOSPC):
        ran, _ = cluster.run(0)
    assert ran.shared["published"] == 0 and ran.shared["full"] == COUNT
    assert cluster.entries() == {} and cluster.drafts() == []
    assert f"shared: no room for {COUNT} files" in ran.said


def test_a_budget(cluster):
    """The budget holds for both nodes together."""
    budget = ":1M"
    room = MIB // (SIZE + SEAL)
    first, _ = cluster.run(0, budget=budget)
    second, _ = cluster.run(1, budget=budget)
    put = first.shared["published"] + second.shared["published"]
    assert put == room == 42 or put >= min(room - 2, COUNT)
    assert sum(path.stat().st_size for path in cluster.entries().values()) <= MIB


def test_a_budget_that_is_short(cluster):
    first, _ = cluster.run(0, budget=":500K")
    second, _ = cluster.run(1, budget=":500K")
    room = 500 * KIB // (SIZE + SEAL)
    assert room - 2 <= first.shared["published"] <= room
    assert second.shared["fetched"] == first.shared["published"]
    assert first.shared["published"] + second.shared["published"] <= room
    assert first.shared["full"] == COUNT - first.shared["published"]


# ---- servers that are gone ----

def test_a_mount_that_is_read_only(cluster):
    """It gives what it has, and takes nothing."""
    cluster.run(0)
    for options in (["--bind"], ["-o", "remount,bind,ro"]):
        cluster.nodes[1].place.run(["mount", *options, cluster.tier.mountpoint, cluster.tier.mountpoint])
    (cluster.source / "file0005").write_bytes(os.urandom(SIZE))
    settle()
    ran, counted = cluster.run(1)
    assert ran.shared["fetched"] == COUNT - 1 and counted["read_bytes"] <= SIZE + 4096
    assert ran.shared["published"] == ran.shared["errors"] == 0 and ran.shared["state"] == "well"
    assert "no right to write" in ran.said


def test_a_mount_that_is_missing(cluster, scratch):
    """A directory that is said to be shared is no place for a cache on the disk below its mount."""
    bare = scratch / "bare"
    bare.mkdir()
    jobs = cluster.nodes[0].jobs
    ran = jobs.run(reader(cluster.files, 1), path=cluster.mount, flags=[f"--tier=shared:{bare}:1G"])
    assert "is on a disk of this node: going on without it; mount it" in ran.said
    assert ran.json["shared"] is None and list(bare.iterdir()) == []
    shared = [f"--tier=shared:{cluster.tier.mountpoint}:1G"]
    ran = jobs.run(reader(cluster.files, 1), path=cluster.mount, flags=shared)
    assert ran.shared["published"] == COUNT


# Reads the next files for each line of its input: so many.
READING = "\n".join(["import sys", "names = iter(sys.argv[1:])", "print('begun', flush=True)",
                     "for line in sys.stdin:", "    for _ in range(int(line)):",
                     "        open(next(names), 'rb').read()", "    print('read', flush=True)"])


class Reading:
    """A job on the first node that reads as many files as the test wants."""

    def __init__(self, cluster, process, figures):
        self.cluster, self.process, self.figures = cluster, process, figures

    def read(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "read\n"

    def end(self):
        """Ends the job. Returns the text that the run prints, and its figures of the shared tier."""
        said = self.process.communicate(timeout=60)[1]
        assert self.process.returncode == 0, said
        return " ".join(said.split()), json.loads(self.figures.read_text())["shared"]


@contextlib.contextmanager
def reading(cluster, scratch):
    jobs, figures = cluster.nodes[0].jobs, scratch / "figures.json"
    line = jobs.command_line([sys.executable, "-c", READING, *cluster.files], cluster.mount,
                             flags=[*cluster.flags(), f"--json={figures}"])
    with jobs.started(line, env={"STOKER_AHEAD": "off"}) as process:
        assert process.stdout.readline() == "begun\n"
        yield Reading(cluster, process, figures)


def wait_for_a_try(cluster, tries):
    """Until the helper has had that many tries of the tier more: each removes a file at its end."""
    wait_for(lambda: cluster.tier.counts()["unlink"] >= tries)
    time.sleep(0.1)


def test_hanging_from_the_start(cluster, scratch):
    """The job goes on without it, and with it as soon as it answers."""
    cluster.run(1)
    with contextlib.ExitStack() as stack:
        with cluster.tier.faults(hang_ns=slowfs.HOUR_NS):
            job = stack.enter_context(reading(cluster, scratch))
            job.read(10)
            before = cluster.tier.counts()["unlink"]
        wait_for_a_try(cluster, before + 1)
        job.read(COUNT - 10)
        said, shared = job.end()
    assert "does not answer: going on without it, and trying again" in said
    assert "and came back: 1 time" in said
    assert shared["state"] == "well" and shared["fetched"] == COUNT - 10


def test_a_server_that_hangs_and_comes_back(cluster, scratch):
    """It is left alone, and then used again in the same run. Copies of the pause are put there, too."""
    with reading(cluster, scratch) as job:
        with cluster.tier.faults(hang_ns=slowfs.HOUR_NS):
            job.read(COUNT)
        wait_for(lambda: len(cluster.entries()) == COUNT)
        said, shared = job.end()
    assert shared["state"] == "well" and shared["pauses"] >= 1 and shared["published"] == COUNT
    assert "it failed, or did not answer in time, and came back: " in said


def test_a_server_that_stalls_once(cluster, scratch):
    """One file comes from the origin. The others come from the tier as soon as it answers."""
    cluster.run(1)
    with reading(cluster, scratch) as job:
        job.read(1)
        before, read = cluster.tier.counts()["unlink"], cluster.origin.fs.counts()["read_bytes"]
        with cluster.tier.faults(hang_ns=slowfs.HOUR_NS):
            job.read(1)
        wait_for_a_try(cluster, before + 1)
        job.read(COUNT - 2)
        _, shared = job.end()
    assert shared["state"] == "well" and shared["pauses"] == 1
    assert 0 < cluster.origin.fs.counts()["read_bytes"] - read < 2 * SIZE


def test_a_server_that_comes_back_as_the_job_ends(cluster, scratch):
    """The end of the run has it tried at once, and waits for what is to be put there."""
    with reading(cluster, scratch) as job:
        before = cluster.tier.counts()["create"]
        with cluster.tier.faults(fsync=errno.EIO):
            job.read(COUNT)
            wait_for(lambda: cluster.tier.counts()["create"] >= before + ERRORS)
            time.sleep(0.5)
            wait_for_a_try(cluster, cluster.tier.counts()["unlink"] + 2)  # the pause is 4 s now
        _, shared = job.end()
    assert shared["state"] == "well" and shared["pauses"] == 1 and shared["published"] == COUNT


def test_a_server_that_fails_and_comes_back(cluster, scratch):
    cluster.hold(400)
    cluster.run(1)
    with reading(cluster, scratch) as job:
        with cluster.tier.faults(open=errno.EIO):
            job.read(COUNT)
        before = cluster.tier.counts()["read_bytes"] + KIB  # of tries

        def is_used():
            job.read(1)
            time.sleep(0.1)
            return cluster.tier.counts()["read_bytes"] >= before + SIZE
        wait_for(is_used)
        _, shared = job.end()
    assert shared["state"] == "well" and shared["pauses"] == 1 and shared["fetched"] >= 1


def test_hanging_in_the_middle(cluster):
    """The job waits once, for the length of the deadline. Its end waits for no process."""
    script = "\n".join(["import sys", "print('begun', flush=True)", "sys.stdin.readline()",
                        "for name in sys.argv[1:]:", "    open(name, 'rb').read()",
                        "print('done', flush=True)"])
    jobs = cluster.nodes[0].jobs
    line = jobs.command_line([sys.executable, "-c", script, *cluster.files], cluster.mount,
                             flags=cluster.flags())
    with jobs.started(line) as process:
        assert process.stdout.readline() == "begun\n"
        with cluster.tier.faults(hang_ns=slowfs.HOUR_NS):
            out, said = process.communicate("go\n", timeout=60)
        assert out == "done\n" and process.returncode == 0
    assert "it did not answer in time, and was left alone from then on" in " ".join(said.split())


def test_failing_again_and_again(cluster, scratch):
    """After 16 errors in a row no process asks any more."""
    cluster.run(1)
    with reading(cluster, scratch) as job, cluster.tier.faults(open=errno.EIO):
        job.read(COUNT)
        said, shared = job.end()
    assert shared["state"] == "failed" and shared["fetched"] == 0
    assert 16 <= shared["errors"] < COUNT
    assert "it failed (Input/output error), and was left alone" in said


DOWN = {errno.ENOTCONN: ("Transport endpoint is not connected", "failed"),
        errno.ESTALE: ("Stale file handle", "failed"),
        errno.EIO: ("Input/output error", "failed"),
        errno.EHOSTDOWN: ("Host is down", "failed"),
        errno.ETIMEDOUT: ("it does not answer", "late")}


@pytest.mark.parametrize("error", DOWN, ids=errno.errorcode.get)
@pytest.mark.parametrize("where", ["", "/below"])
def test_failing_from_the_start(cluster, where, error):
    """Below the mount the directory itself cannot be found. The origin is read, and nothing is kept there, as in a tier
    of this node's."""
    (pathlib.Path(cluster.tier.source) / "below").mkdir()
    with cluster.tier.faults(down=error):
        ran, counted = cluster.run(0, budget=where)
    words, state = DOWN[error]
    assert f"{words}: going on without it, and trying again" in ran.said
    assert ran.shared["state"] == state and ran.shared["published"] == 0
    assert counted["open"] == COUNT and not list(pathlib.Path(cluster.tier.source).rglob("*;file*"))


def test_a_server_that_is_gone_at_the_start(cluster):
    """The directory cannot even be looked at."""
    cluster.tier.kill()
    ran, _ = cluster.run(0)
    assert "Transport endpoint is not connected: going on without it, and trying again" in ran.said
    assert ran.shared["state"] == "failed" and ran.shared["pauses"] == 1


def helper_of(process):
    """Its number; the process is a `stoker run`. The process that reads ahead was forked after it."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return min(int(pid) for pid in children.split() if "stoker" in
               os.path.basename(os.readlink(f"/proc/{pid}/exe")))


def test_the_helper_is_killed(cluster):
    """A process that asks waits in vain once, and the job goes on."""
    script = "\n".join(["import sys", "print('begun', flush=True)", "sys.stdin.readline()",
                        "for name in sys.argv[1:]:", "    open(name, 'rb').read()"])
    jobs = cluster.nodes[0].jobs
    line = jobs.command_line([sys.executable, "-c", script, *cluster.files], cluster.mount,
                             flags=cluster.flags())
    with jobs.started(line) as process:
        assert process.stdout.readline() == "begun\n"
        os.kill(helper_of(process), signal.SIGKILL)
        out, said = process.communicate("go\n", timeout=60)
    assert process.returncode == 0 and "was left alone from then on" in " ".join(said.split())


@pytest.mark.skipif(not ALL, reason="takes as long as a server may")
def test_the_helper_is_stopped(cluster, scratch):
    """For longer than a server may take for what is put there: it was not the server that was late."""
    local = scratch / "disk"
    local.mkdir()
    script = "\n".join(["import sys", "print('begun', flush=True)", "for line in sys.stdin:",
                        "    for name in sys.argv[1:]:", "        open(name, 'rb').read()",
                        "    print('read', flush=True)"])
    jobs, flags = cluster.nodes[0].jobs, cluster.flags(local=f"{local}:64M")
    jobs.run(reader(cluster.files, 1), path=cluster.mount, tier=f"{local}:64M")
    line = jobs.command_line([sys.executable, "-c", script, *cluster.files], cluster.mount, flags=flags)
    with jobs.started(line) as process:
        assert process.stdout.readline() == "begun\n"
        cluster.tier.latency_ms = 1000
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "read\n"
        wait_for(cluster.drafts)
        os.kill(helper_of(process), signal.SIGSTOP)
        time.sleep(21)
        cluster.tier.latency_ms = 0
        os.kill(helper_of(process), signal.SIGCONT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and "in time" not in said and len(cluster.entries()) == COUNT


def test_a_name_that_is_somebody_elses(cluster):
    """The next name is taken, and reported."""
    cluster.home.mkdir()
    os.chown(cluster.home, 12345, 12345)
    ran, _ = cluster.run(0)
    assert f"{cluster.tier.mountpoint}/{HOME}.1; taken" in ran.said
    assert ran.shared["published"] == COUNT and list(cluster.home.iterdir()) == []


STRANGER = 12345


def swap(home):
    """Replaces the home by another user's copy of a part of it. A user can do so with the right to
    change a directory above."""
    copy = home.with_name("copy")
    shutil.copytree(home, copy)
    for path in copy.glob("shared/*/*;file*[05]"):
        path.unlink()
    for path in (copy, *copy.rglob("*")):
        os.chown(path, STRANGER, STRANGER)
    home.rename(home.with_name("away"))
    copy.rename(home)


@pytest.mark.parametrize("mode", [0o777, 0o2775])
def test_a_directory_that_others_may_change(cluster, mode):
    """The command leaves a home that another user put there alone, and the job goes on."""
    os.chmod(cluster.tier.source, mode)
    ran, _ = cluster.run(0)
    assert ran.shared["published"] == COUNT
    jobs = cluster.nodes[1].jobs
    line = jobs.command_line(["sh", "-c", 'echo begun; read go; exec "$@"', "sh",
                              *reader(cluster.files, 1)], cluster.mount, flags=cluster.flags())
    with jobs.started(line) as process:
        assert process.stdout.readline() == "begun\n"
        swap(cluster.home)
        out, said = process.communicate("go\n", timeout=60)
    assert process.returncode == 0 and out.split() == [sum_of(cluster.source, COUNT)], said
    assert "shared: 0 files (0 B) came from" in said
    assert {path.stat().st_uid for path in cluster.home.rglob("*")} == {STRANGER}


def test_killed_in_the_middle_of_publishing(cluster):
    """An entry that lies there under its name is whole. Drafts of a killed run go in time."""
    jobs = cluster.nodes[0].jobs
    for fraction in (1, 3, 10):
        line = jobs.command_line(reader(cluster.files, 50), cluster.mount, flags=cluster.flags())
        cluster.tier.latency_ms = 5
        with jobs.started(line, start_new_session=True) as process:
            wait_for(lambda: len(cluster.entries()) >= fraction)
            kill_group(process)
        cluster.tier.latency_ms = 0
        for name, path in cluster.entries().items():
            assert path.read_bytes()[:-SEAL] == (cluster.source / name).read_bytes()
    left = cluster.drafts()
    for path in left:
        os.utime(path, (0, 0))

    def swept():
        """A run's helper sweeps where it has the time."""
        cluster.run(1)
        return not set(left) & set(cluster.drafts())
    wait_for(swept)


def test_more_than_the_queue_holds(cluster):
    """A job copies faster than the server takes. At the run's end all copies are there."""
    cluster.hold(400)
    cluster.tier.latency_ms = 1
    ran, _ = cluster.run(0)
    assert ran.shared["published"] == 400 and ran.shared["left"] == 0
    assert len(cluster.entries()) == 400
    ran, counted = cluster.run(1)
    assert counted["read_bytes"] == 0 and ran.shared["fetched"] == 400


WAITING = "\n".join(["import sys", "for name in sys.argv[1:]:", "    open(name, 'rb').read()",
                     "print('read', flush=True)", "sys.stdin.readline()"])


@contextlib.contextmanager
def waiting(cluster, files):
    """A job on the first node that has read these files and waits; its cache stays."""
    jobs = cluster.nodes[0].jobs
    line = jobs.command_line([sys.executable, "-c", WAITING, *files], cluster.mount,
                             flags=[*cluster.flags(), "--keep"])
    with jobs.started(line, env={"STOKER_AHEAD": "off"}, start_new_session=True) as process:
        assert process.stdout.readline() == "read\n"
        yield process


def damage_here(cluster, name):
    """Replaces a copy in the first node's memory by other bytes of its length."""
    tree = pathlib.Path(cluster.nodes[0].place.path(f"/dev/shm/{HOME}/tree"))
    copy, = tree.rglob(f"*;{name}")
    copy.unlink()
    copy.write_bytes(bytes(SIZE))
    copy.chmod(0o400)


def test_what_a_killed_run_left(cluster):
    """The next run puts it there. It puts nothing there that the index does not know."""
    cluster.tier.latency_ms = 1000
    with waiting(cluster, cluster.files) as process:
        kill_group(process)
    cluster.tier.latency_ms = 0
    assert len(cluster.entries()) < COUNT
    damage_here(cluster, f"file{COUNT - 1:04}")
    with waiting(cluster, cluster.files[:1]):
        wait_for(lambda: len(cluster.entries()) >= COUNT - 1)
    for name, path in cluster.entries().items():
        assert path.read_bytes()[:-SEAL] == (cluster.source / name).read_bytes()
    assert f"file{COUNT - 1:04}" not in cluster.entries()


def test_what_was_filled_without_the_shared_tier(cluster):
    """The next run that has it puts it there, although it opens nothing of it. Files of another path are
    not its own."""
    _, mount = cluster.origin.files("other", 2, SIZE)
    files = [*cluster.files, mount / "file0000", mount / "file0001"]
    ran = cluster.nodes[0].jobs.run(reader(files, 1), path=[cluster.mount, mount],
                                    flags=[cluster.flags()[0], "--keep"])
    assert ran.fills == COUNT + 2
    with waiting(cluster, cluster.files[:1]):
        wait_for(lambda: len(cluster.entries()) >= COUNT)
    assert len(cluster.entries()) == COUNT


def test_volumes_that_have_no_name(cluster, build, scratch):
    """Where a volume is known by its mount alone no other node would find its entries."""
    (scratch / "unnamed").mkdir()
    with slowfs.SlowFS(scratch / "unnamed", binary=str(build / "slowfs"), name="s3fs") as fs:
        origin = Origin(fs)
        source, mount = origin.files("unnamed", 3, SIZE)
        with Isolated() as place:
            jobs = Jobs(place, build, scratch)
            ran = jobs.run(reader([mount / f"file{n:04}" for n in range(3)], 1), path=mount,
                           flags=cluster.flags())
    assert "are not exchanged: other nodes cannot name its volume" in ran.said and ran.shared["published"] == 0
    assert cluster.entries() == {}


# ---- a job with images ----

def read_images(cluster, programs, number, folder):
    """Runs two epochs on that node. Returns the run, and the program's account of each epoch."""
    line = [sys.executable, *without_torch(programs, cluster.origin, 2, folder)]
    ran = cluster.nodes[number].jobs.run(line, path=folder, flags=cluster.flags())
    return ran, json.loads(ran.stdout)


@pytest.mark.torch
@pytest.mark.parametrize("failure", [None, *(FAILURES if ALL else [])])
def test_images_on_two_nodes(cluster, images, programs, failure):  # noqa: F811
    """The pixels are the same on both nodes, and the second node does not read its images at the
    origin."""
    source, mount = cluster.origin.directory("training")
    shutil.copytree(images, source / "data")
    settle()
    line = without_torch(programs, cluster.origin, 1, mount / "data")
    plain = subprocess.run([sys.executable, *line], check=True, stdout=subprocess.PIPE, text=True)
    epoch, = json.loads(plain.stdout)
    with cluster.tier.faults(**FAILURES.get(failure, {})):
        told = [read_images(cluster, programs, number, mount / "data") for number in (0, 1)]
    assert {one["sum"] for _, epochs in told for one in epochs} == {epoch["sum"]}
    assert all(epochs[1]["read_bytes"] == 0 for _, epochs in told)
    if failure is None:
        (first, _), (second, epochs) = told
        assert first.shared["published"] == second.shared["fetched"] == second.epoch(1)["opens"]
        assert epochs[0]["read_bytes"] == 0
