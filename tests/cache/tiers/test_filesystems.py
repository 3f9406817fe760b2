"""A job with its tier on the file systems that local disks have: files, and decoded images. The pixels are the
same, and from the second epoch on the origin is not read."""

import json
import shutil
import subprocess
import sys

import pytest

from jobs import HOME
from origin import settle
from slices import ALL
from epoch_job import images, without_torch  # noqa: F401
from volumes import mount_overlay

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("as_root")]  # Pillow

MAKERS = {  # what makes one, and the least that it takes
    "ext4": (["mkfs.ext4", "-q"], 128),
    "xfs": (["mkfs.xfs", "-q"], 320),
    "btrfs": (["mkfs.btrfs", "-q", "-m", "single"], 192),
}


class Disk:
    """A file system in a file, mounted in the test's place."""

    def __init__(self, place, scratch, kind):
        self._place, self._kind = place, kind
        self._image, self._at = scratch / "image", scratch / "disk"
        self._at.mkdir()
        maker, mebibytes = MAKERS["ext4" if kind == "overlay" else kind]
        if shutil.which(maker[0]) is None:
            pytest.skip(f"needs {maker[0]}")
        with open(self._image, "wb") as file:
            file.truncate(mebibytes << 20)
        subprocess.run([*maker, self._image], check=True, stdout=subprocess.DEVNULL)
        self.tier = self._at
        if kind == "overlay":
            self.tier = scratch / "overlay"
            self.tier.mkdir()
        self.mount()

    def mount(self):
        done = self._place.run(["mount", "-o", "loop", self._image, self._at], check=False)
        if done.returncode != 0:
            pytest.skip(f"cannot be mounted here: {done.stderr.strip()}")
        if self._kind == "overlay":
            mount_overlay(self._place, self.tier, self._at)

    def unmount(self):
        if self._kind == "overlay":
            self._place.run(["umount", self.tier])
        self._place.run(["umount", self._at])


# An overlay's upper layer is on an ext4 here, so this one's turn alone is among all tests only.
@pytest.fixture(params=[*MAKERS, "overlay"] if ALL else ["xfs", "btrfs", "overlay"])
def disk(request, place, scratch):
    return Disk(place, scratch, request.param)


@pytest.fixture(scope="module")
def plain_sum(session_origin, images, programs):  # noqa: F811
    """Returns the sum of the pixels without Stoker."""
    source, mount = session_origin.directory("plain")
    shutil.copytree(images, source / "data")
    line = without_torch(programs, session_origin, 1, mount / "data")
    done = subprocess.run([sys.executable, *line], check=True, stdout=subprocess.PIPE, text=True)
    epoch, = json.loads(done.stdout)
    assert epoch["read_bytes"] > 0
    return epoch["sum"]


def read(jobs, programs, origin, folder, tier):
    """Runs two epochs. Returns the run, and the program's account of
    each epoch."""
    ran = jobs.run([sys.executable, *without_torch(programs, origin, 2, folder)], path=folder, tier=tier)
    return ran, json.loads(ran.stdout)


def costs(epoch):
    return epoch["file_ops"], epoch["read_bytes"]


def test_a_job_on_a_disk_of_any_kind(jobs, origin, images, programs, disk,  # noqa: F811
                                              plain_sum):
    """Also in the next run, when the disk was taken out and put in again; verify finds it right."""
    source, mount = origin.directory("disk")
    shutil.copytree(images, source / "data")
    settle()
    folder, tier = mount / "data", f"{disk.tier}:64M"
    first, told = read(jobs, programs, origin, folder, tier)
    assert f"caching {folder} in {disk.tier}/{HOME}" in first.stderr
    assert {epoch["sum"] for epoch in told} == {plain_sum}
    assert told[0]["read_bytes"] > 0 and costs(told[1]) == (0, 0)
    count = first.epoch(1)["opens"]
    assert first.epoch(1)["fills"] + first.json["read_ahead"]["files"] >= count
    assert first.epoch(2)["hits"] == count > 0
    disk.unmount()
    disk.mount()
    second, told = read(jobs, programs, origin, folder, tier)
    assert {epoch["sum"] for epoch in told} == {plain_sum}
    assert [epoch["read_bytes"] for epoch in told] == [0, 0] and costs(told[1]) == (0, 0)
    assert second.fills == 0 and second.epoch(1)["hits"] == count
    verified = jobs.stoker("verify", "--tier", disk.tier)
    assert verified.returncode == 0 and verified.stdout.startswith(f"{count} copies right")
    assert jobs.stoker("clear", "--tier", disk.tier).returncode == 0
