"""Memory pressure: the cache gives way, and the job lives. In a control group of its own."""

import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from jobs import read_line, wait_for
from origin import settle
from slices import ALL

MIB = 1 << 20
LIMIT = 400 * MIB
FILES, FILE_BYTES = 110, MIB


def memory_groups():
    """(directory that groups can be made in, name of the limit's file), or None."""
    v1 = pathlib.Path("/sys/fs/cgroup/memory")
    v2 = pathlib.Path("/sys/fs/cgroup")
    if (v1 / "memory.limit_in_bytes").exists():
        return v1, "memory.limit_in_bytes"
    controllers = v2 / "cgroup.subtree_control"
    if controllers.exists() and "memory" in controllers.read_text().split():
        return v2, "memory.max"
    return None


def killed_leaf(limit):
    return "memory.events" if limit == "memory.max" else "memory.oom_control"


def is_removed(group):
    """Returns true if the group's last process has let go of it."""
    try:
        group.rmdir()
        return True
    except OSError as error:
        assert error.errno == errno.EBUSY, error
        return False


@pytest.fixture
def groups():
    """Makes control groups with a limit on memory. Each call makes a group, and returns a function
    that wraps a command line to run in it. `groups.killed()`: how many processes of all groups had
    to die for want of memory."""
    found = memory_groups()
    if found is None:
        pytest.skip("no control groups for memory")
    parent, limit = found
    made = []

    def make(bytes=LIMIT):
        group = parent / f"stoker-test-{os.getpid()}-{len(made)}"
        try:
            group.mkdir()
            made.append(group)
            (group / limit).write_text(str(bytes))
        except OSError as error:
            pytest.skip(f"no control group can be made: {error}")
        script = f'echo $$ >"{group}/cgroup.procs" && exec "$@"'
        return lambda line: ["sh", "-c", script, "sh", *line]

    def killed():
        told = "".join((group / killed_leaf(limit)).read_text() for group in made)
        return sum(map(int, re.findall(r"^oom_kill (\d+)", told, re.M)))

    make.killed = killed
    yield make
    for group in made:
        wait_for(lambda: is_removed(group))


@pytest.fixture
def in_group(groups):
    return groups()


@pytest.fixture(scope="module")
def data(session_scratch):
    directory = session_scratch / "memory"
    directory.mkdir()
    for number in range(FILES):
        (directory / f"{number:03}").write_bytes(os.urandom(FILE_BYTES))
    settle()
    yield directory
    shutil.rmtree(directory)


def run_hungry(jobs, in_group, scratch, programs, data, *arguments):
    line = jobs.command_line([sys.executable, programs / "hungry.py", data, *arguments],
                             path=data, tier="/dev/shm:150M",
                             flags=[f"--json={scratch}/summary.json"])
    return jobs.place.run(in_group(line), env={"STOKER_MIN_AGE": "0.05"}, check=False)


@pytest.mark.parametrize("takes", [200, 320])
def test_what_is_cached_goes_when_the_job_needs_the_memory(jobs, in_group, scratch, programs, data,
                                                           takes):
    """110 MiB of entries and a limit of 400 MiB: 200 more fit, 320 more do not."""
    done = run_hungry(jobs, in_group, scratch, programs, data, takes)
    assert (done.returncode, done.stdout) == (0, f"well {takes // 8}\n"), done.stderr
    ran = json.loads((scratch / "summary.json").read_text())
    given_back = ran["tier"]["given_back_bytes"]
    if takes == 200:
        assert given_back == 0
        assert ran["epochs"][1]["hits"] == FILES
    else:
        assert 32 * MIB <= given_back <= FILES * (FILE_BYTES + 4096)
        assert ran["epochs"][1]["hits"] < FILES
        assert "Memory was short" in done.stderr


def test_nothing_is_admitted_when_memory_is_short(jobs, in_group, scratch, programs, data):
    done = run_hungry(jobs, in_group, scratch, programs, data, 296, "first")
    assert (done.returncode, done.stdout) == (0, "well 37\n"), done.stderr
    ran = json.loads((scratch / "summary.json").read_text())
    assert ran["bypassed"]["memory"] > 0
    assert ran["fills"] < FILES


def test_without_the_command_the_job_has_its_memory(jobs, in_group, programs, data):
    """No command watches, and no file is opened while it takes 300 of 400 MiB: little was
    admitted."""
    reading = in_group(["sh", "-c", 'cat "$0"/* | wc -c', data])
    assert jobs.preloaded(reading, data, tier="/dev/shm:150M").stdout == f"{FILES * FILE_BYTES}\n"
    kept = re.search(r"^ +(\d+) files?", jobs.stoker("ls").stdout, re.M)
    assert 10 <= int(kept[1]) <= 70  # an eighth of the limit, and what comes between two looks
    line = in_group([sys.executable, programs / "hungry.py", data, 300])
    done = jobs.preloaded(line, data, tier="/dev/shm:150M", check=False)
    assert (done.returncode, done.stdout) == (0, "well 38\n"), done.stderr


def test_without_the_command_whoever_opens_gives_back(jobs, in_group, scratch, programs, data):
    """While it takes more than is left, it goes on opening new files."""
    script = """
import pathlib, sys, time
taken, late = [], sorted(pathlib.Path(sys.argv[2]).iterdir())
for file in pathlib.Path(sys.argv[1]).iterdir(): file.read_bytes()
for number in range(40):
    taken.append(b"x" * (8 << 20))
    late[number].read_bytes()
    time.sleep(0.11)  # it is looked at ten times a second
print("well")
"""
    second = scratch / "second"
    second.mkdir()
    for number in range(40):
        (second / f"{number:03}").write_bytes(b"x")
    settle()
    env = jobs.preload_env(f"{data}:{second}", "/dev/shm:150M")
    done = jobs.place.run(in_group([sys.executable, "-c", script, data, second]), env=env,
                          check=False)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    left = re.search(r"^ +(\d+) files? .* " + str(data) + "$", jobs.stoker("ls").stdout, re.M)
    assert left is None or int(left[1]) < 30


def test_the_pressure_of_one_group_is_not_another_s(jobs, groups, scratch, data):
    """One run has next to nothing left; another, on the same tier, fills and keeps its entries."""
    small = scratch / "small"
    small.mkdir()
    (small / "file").write_bytes(b"x")
    settle()
    script = 'x = b"x" * (366 << 20); print("ready", flush=True); input(); open("{0}/file").read()'
    hungry = jobs.command_line([sys.executable, "-c", script.format(small)], path=small,
                               tier="/dev/shm:150M")
    with jobs.started(groups()(hungry)) as process:
        assert read_line(process) == "ready"
        json_path = scratch / "summary.json"
        command = ["sh", "-c", 'for i in 1 2 3; do cat "$0"/* >/dev/null; sleep 0.5; done', data]
        line = jobs.command_line(command, path=data, tier="/dev/shm:150M",
                                 flags=[f"--json={json_path}"])
        done = jobs.place.run(groups()(line), env={"STOKER_MIN_AGE": "0.05"})
        ran = json.loads(json_path.read_text())
        assert ran["fills"] == FILES and ran["hits"] == 2 * FILES, done.stderr
        assert "memory" not in ran["bypassed"]
        said = process.communicate("go\n", timeout=60)[1]
    assert "not cached: 1 memory" in said and "Memory was short" not in said


# ---- much more data than the limit allows, and a budget that nobody has named ----

# (limit, bytes of data, of one file, what the job takes)
SMALL = 96 * MIB, 400 * MIB, MIB // 2, 40
WHOLE = 512 * MIB, 2048 * MIB, MIB, 280
SIZES = [pytest.param(SMALL, id="96 MiB")] + ALL * [pytest.param(WHOLE, id="512 MiB")]
PROCESSES = 4


@pytest.fixture(scope="module", params=SIZES)
def much(request, session_scratch, session_origin, programs):
    """(limit, directory, its files, what the job takes)"""
    limit, data_bytes, file_bytes, takes = request.param
    data, count = session_scratch / f"much-{limit}", data_bytes // file_bytes
    data.mkdir()
    subprocess.run([sys.executable, programs / "bounded.py", "make", data, str(count),
                    str(file_bytes)], check=True)
    os.sync()  # what is not written yet cannot be given back
    settle()
    yield limit, data, count, takes
    shutil.rmtree(data)


@pytest.mark.parametrize("how", ["command", "preload", "small shared memory"])
def test_a_job_with_more_data_than_memory_is_never_killed(jobs, groups, place, scratch, programs,
                                                          much, how):
    """The computed budget leaves the job its memory, in however many steps: no process is
    killed."""
    limit, data, count, takes = much
    size = "64m" if how == "small shared memory" else "1g"
    place.run(["mount", "-t", "tmpfs", "-o", f"mode=1777,size={size}", "shm", "/dev/shm"])
    line = [sys.executable, programs / "bounded.py", data, PROCESSES, takes]
    if how == "preload":
        done = place.run(groups(limit)(line), env=jobs.preload_env(data), check=False, timeout=900)
        kept = re.search(r"^ +(\d+) files?", jobs.stoker("ls").stdout, re.M)
        assert kept, "not used"
    else:
        json_path = scratch / "summary.json"
        line = jobs.command_line(line, path=data, flags=[f"--json={json_path}"])
        done = place.run(groups(limit)(line), env={"STOKER_MIN_AGE": "0.05"}, check=False,
                         timeout=900)
        if how == "command":
            ran = json.loads(json_path.read_text())
            assert ran["opens"] == 2 * count and ran["fills"] > 0, done.stderr
            assert ran["tier"]["budget_bytes"] < limit
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    assert groups.killed() == 0


AT_ONCE = """
import pathlib, sys
for file in pathlib.Path(sys.argv[1]).iterdir(): file.read_bytes()
taken = b"x" * (int(sys.argv[2]) << 20)
print("well")
"""


def test_what_the_job_takes_at_once_is_its(jobs, groups, place, much):
    """Three quarters of the limit in one call, when entries have half of it."""
    _, data, _, _ = much
    place.run(["mount", "-t", "tmpfs", "-o", "mode=1777,size=1g", "shm", "/dev/shm"])
    line = jobs.command_line([sys.executable, "-c", AT_ONCE, data, 300], path=data)
    done = place.run(groups()(line), env={"STOKER_MIN_AGE": "0.05"}, check=False)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    assert "Memory was short" in done.stderr and groups.killed() == 0


def test_many_small_entries_go_too_slowly_for_what_is_taken_at_once(jobs, groups, place, scratch):
    """An entry of 4 KB takes as long to go as one of 100 KB. So only as many small ones are let in
    as can all go while the job takes the rest."""
    data, count = scratch / "small", 16000
    data.mkdir()
    for number in range(count):
        (data / f"{number:05}").write_bytes(b"x" * 4096)
    settle()
    place.run(["mount", "-t", "tmpfs", "-o", "mode=1777,size=1g", "shm", "/dev/shm"])
    line = jobs.command_line([sys.executable, "-c", AT_ONCE, data, 150], path=data,
                             flags=[f"--json={scratch}/summary.json"])
    done = place.run(groups(256 * MIB)(line), env={"STOKER_MIN_AGE": "0.05"}, check=False)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    ran = json.loads((scratch / "summary.json").read_text())
    assert 1000 < ran["fills"] < count and ran["bypassed"]["memory"] > 0
    assert groups.killed() == 0
