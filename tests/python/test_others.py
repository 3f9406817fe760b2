"""What programs do to other files costs a job nothing: from the second epoch on its origin is left
alone, whatever it or anybody else of the user's writes and removes elsewhere."""

import os

import pytest

from agent import Agents

FILES, CHANGES = 60, 10000


@pytest.fixture
def agents(jobs, scratch):
    return Agents(jobs, scratch)


def churn(who, directory):
    """Writes files and removes them again, of which each has an inode of its own."""
    (directory / "source").mkdir()
    for number in range(CHANGES):
        (directory / f"source/file{number}").touch()
    who.copytree(directory / "source", directory / "copy")
    who.rmtree(directory / "copy")


@pytest.mark.parametrize("whose", ["its own", "another program's"])
def test_changes_elsewhere_cost_no_question(agents, origin, scratch, whose):
    _, mount = origin.files("others", FILES, 1000)
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "read").write_bytes(b"x")
    with agents.shim(mount) as job, agents.preloaded(elsewhere) as other:
        who = job if whose == "its own" else other
        other.text(elsewhere / "read")
        for _ in range(2):
            for name in sorted(os.listdir(mount)):
                job.text(mount / name)
        churn(who, elsewhere)
        with origin.fs.counting() as counted:
            for number in range(FILES):
                job.text(mount / f"file{number:04}")
        # Of two names that the table of changes cannot tell apart both have changed: now and then some.
        assert counted.file_ops <= FILES // 10
