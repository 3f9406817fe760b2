"""Memory pressure: the cache gives way, and the job lives. In a control group of its own."""

import json
import os
import pathlib
import sys

import pytest

from origin import settle

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


@pytest.fixture
def in_group():
    """Makes a command line that runs in a control group with a limit on memory."""
    found = memory_groups()
    if found is None:
        pytest.skip("no control groups for memory")
    parent, limit = found
    group = parent / f"stoker-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(LIMIT))
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    script = f'echo $$ >"{group}/cgroup.procs" && exec "$@"'
    yield lambda line: ["sh", "-c", script, "sh", *line]
    group.rmdir()


@pytest.fixture
def data(scratch):
    directory = scratch / "data"
    directory.mkdir()
    for number in range(FILES):
        (directory / f"{number:03}").write_bytes(os.urandom(FILE_BYTES))
    settle()
    return directory


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
