"""Jobs beside one another, and a program that takes a job's place, whose files are read ahead."""

import shlex

import pytest

from test_jobs import COUNT, SIZE, line, read_ahead


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("beside", COUNT, SIZE)[1]


def together(*lines):
    """A shell that runs these at once."""
    started = [shlex.join(map(str, each)) + f" > /tmp/said{number} &" for number, each in enumerate(lines)]
    shown = " ".join(f"/tmp/said{number}" for number in range(len(lines)))
    return ["sh", "-c", "\n".join([*started, "wait", f"cat {shown}; rm {shown}"])]


def run(jobs, origin, data, command):
    """Returns the run, which reads half of the files ahead and no file twice."""
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(command, path=data, timeout=300)
    assert read_ahead(ran) >= COUNT // 2
    assert counted.counts()["read_bytes"] <= 1.02 * COUNT * SIZE
    return ran


def test_two_jobs_at_once(jobs, plainly, origin, data):
    """They go through one data set in different orders. Each file is read once."""
    lines = line(data, "plain", 2, 2), line(data, "own", 2, 2)
    plain = "".join(map(plainly, lines))
    ran = run(jobs, origin, data, together(*lines))
    assert ran.stdout == plain and len(plain.splitlines()) == 4
    assert read_ahead(ran) + ran.fills == COUNT and ran.opens == 4 * COUNT


def test_an_exec_in_the_middle(jobs, plainly, origin, data):
    """Another program takes the process over amid a pass, which ends. The program's own pass is read ahead."""
    both = line(data, "execs", 0, 1, 3)
    plain = plainly(both)
    ran = run(jobs, origin, data, both)
    assert ran.stdout == plain and len(plain.splitlines()) == 2
