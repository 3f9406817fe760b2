"""Many processes that want the same cold file cost the origin one read of it."""

import json
import os
import pathlib

import pytest

from jobs import drafts, wait_for
from origin import settle

PROCESSES = 32
READAHEAD = 256 << 10

ALL_AT_ONCE = f"""
for i in $(seq {PROCESSES}); do
    cmp "$1" "$2" || echo wrong &
done
wait
"""


def write(path, size):
    """Writes a file whose blocks are allocated. Else stat would soon return another number of them:
    another record of the catalogue, and perhaps another fill."""
    with open(path, "wb") as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
    settle()


@pytest.mark.parametrize("size, latency_ms", [(100_000, 20), (8_000_000, 15)])
@pytest.mark.parametrize("preload_alone", [False, True])
def test_the_origin_is_read_once(jobs, origin, scratch, size, latency_ms, preload_alone):
    source, mount = origin.directory("single")
    write(source / "file", size)
    origin.fs.latency_ms = latency_ms
    command = ["sh", "-c", ALL_AT_ONCE, "sh", mount / "file", source / "file"]
    with origin.fs.counting() as counted:
        if preload_alone:
            ran = jobs.preloaded(command, mount)
        else:
            ran = jobs.run(command, path=mount)
    assert ran.stdout == ""
    # Every open makes the kernel forget what it has of the file, and read anew what is being read.
    assert size <= counted["read_bytes"] <= size + PROCESSES * min(size, READAHEAD)
    if not preload_alone:
        assert (ran.opens, ran.fills, ran.hits) == (PROCESSES, 1, PROCESSES - 1)


# The first fills; the others start at a word, when it is known to be at it.
ONE_FIRST = f"""
cmp "$1" "$2" || echo wrong &
read -r go
for i in $(seq {PROCESSES - 1}); do
    cmp "$1" "$2" || echo wrong &
done
wait
"""


def sleepers(path):
    """The processes that compare this file and sleep on a futex, which cmp itself never does."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            argv = (process / "cmdline").read_bytes().split(b"\0")
            if argv[0] == b"cmp" and bytes(path) in argv and \
                    "futex" in (process / "wchan").read_text():
                found.add(process.name)
        except OSError:
            pass  # it has ended
    return found


def test_those_who_come_during_a_fill_wait_for_it(jobs, origin, scratch, as_root):
    """Not one of them reads the origin, though the fill takes longer than anybody's patience. (What
    a process sleeps in is for root to see.)"""
    source, mount = origin.directory("during")
    write(source / "file", 4 * 8_000_000)
    origin.fs.latency_ms = 100  # for each of so many pieces that it takes a while
    summary = scratch / "during.json"
    line = jobs.command_line(["sh", "-c", ONE_FIRST, "sh", mount / "file", source / "file"],
                             path=mount, flags=[f"--json={summary}"])
    seen = set()

    def all_were_seen_waiting():
        seen.update(sleepers(mount / "file"))
        return len(seen) == PROCESSES - 1

    with origin.fs.counting() as counted, \
            jobs.started(line, {"STOKER_MAX_FILE": "64M"}) as process:
        wait_for(lambda: drafts(jobs.place))
        origin.fs.latency_ms = 900  # it would take minutes now
        process.stdin.write("go\n")
        process.stdin.flush()
        wait_for(all_were_seen_waiting)
        assert drafts(jobs.place), "the fill had ended already"
        origin.fs.latency_ms = 0
        stdout, _ = process.communicate(timeout=120)
    assert (process.returncode, stdout) == (0, "")
    assert counted["read_bytes"] <= 4 * 8_000_000 + READAHEAD
    counts = json.loads(summary.read_text())
    assert (counts["opens"], counts["fills"], counts["hits"]) == (PROCESSES, 1, PROCESSES - 1)


# The first process fills. Each of the rest is in a pid namespace of its own, where the filler's
# number means no process.
OTHERS_APART = """
cmp "$1" "$2" || echo wrong &
read -r go
for i in 1 2 3; do
    unshare --pid --fork cmp "$1" "$2" || echo wrong &
done
wait
"""


def test_those_of_other_pid_namespaces_wait_too(jobs, origin, scratch, as_root):
    """Containers may share a /dev/shm: they cannot see whether the filler lives."""
    source, mount = origin.directory("apart")
    write(source / "file", 8_000_000)
    origin.fs.latency_ms = 100
    summary = scratch / "apart.json"
    line = jobs.command_line(["sh", "-c", OTHERS_APART, "sh", mount / "file", source / "file"],
                             path=mount, flags=[f"--json={summary}"])
    with jobs.started(line) as process:
        wait_for(lambda: drafts(jobs.place))
        out, _ = process.communicate("go\n", timeout=60)
    told = json.loads(summary.read_text())
    assert out == "" and (told["opens"], told["fills"], told["hits"]) == (4, 1, 3)
