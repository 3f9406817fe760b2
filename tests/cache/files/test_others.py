"""A job's origin is left alone from the second epoch on, whatever programs do to other files.

Other files are all that the job itself writes elsewhere. So are files that the user's other jobs
write and remove below directories that these jobs cover. If a covered directory itself changes,
each of its files is validated once more."""

import os

import pytest

from agent import Agents

FILES, CHANGES = 60, 10000


@pytest.fixture
def agents(jobs, scratch):
    return Agents(jobs, scratch)


def churn(job, directory):
    """Writes files and removes them again, of which each has an inode of its own."""
    job.copytree(directory / "source", directory / "copy")
    job.rmtree(directory / "copy")


def churn_files(other, directory):
    """Does so in a directory that is there already, and stays."""
    (directory / "copies").mkdir()
    other.copy_files(directory / "source", directory / "copies")
    other.unlink_files(directory / "copies")


@pytest.mark.parametrize("whose", ["its own", "another program's"])
def test_changes_elsewhere_cost_no_question(agents, origin, scratch, whose):
    _, mount = origin.files("others", FILES, 1000)
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "read").write_bytes(b"x")
    (elsewhere / "source").mkdir()
    for number in range(CHANGES):
        (elsewhere / f"source/file{number}").touch()
    with agents.shim(mount) as job, agents.preloaded(elsewhere) as other:
        other.text(elsewhere / "read")
        for _ in range(2):
            for name in sorted(os.listdir(mount)):
                job.text(mount / name)
        (churn(job, elsewhere) if whose == "its own" else churn_files(other, elsewhere))
        with origin.fs.counting() as counted:
            for number in range(FILES):
                job.text(mount / f"file{number:04}")
        # Two names that share a place in the table of changes both count as changed: now and then some do.
        assert counted.file_ops <= FILES // 10
