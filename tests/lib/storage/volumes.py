"""Volumes of a test's own: for where a directory of the scratch will not do, nor a tmpfs, of which
nothing is cached."""

import fcntl
import os
import struct
import subprocess

import pytest


def mount_ext4(place, directory, scratch, size="256M", features=()):
    """Mounts an empty ext4 there, with times of nanoseconds, in the place; `features` as in
    mkfs -O."""
    image = scratch / f"{directory.name}.ext4"
    with open(image, "wb") as file:
        file.truncate(int(size[:-1]) << 20)
    made = subprocess.run(["mkfs.ext4", "-q", "-I", "256", "-i", "4096",
                           *(["-O", ",".join(features)] if features else []), image], check=False)
    if made.returncode != 0 or place.run(["mount", "-o", "loop", image, directory],
                                         check=False).returncode != 0:
        pytest.skip("needs mkfs.ext4 and a loop device")


# linux/loop.h: two ioctls, the bytes of struct loop_info64, and where lo_sizelimit lies in it.
LOOP_SET_STATUS64, LOOP_GET_STATUS64, INFO_BYTES, LIMIT_AT = 0x4C04, 0x4C05, 232, 32


def fail_disk(image):
    """Makes each read and write of the volume's disk fail from now on. The device becomes shorter,
    not its image: the first write would lengthen a short image, whose blocks then read as zeros."""
    found = subprocess.run(["losetup", "-n", "-O", "NAME", "-j", image], check=True,
                           capture_output=True, text=True)
    device = os.open(found.stdout.strip(), os.O_RDONLY)
    try:
        info = bytearray(fcntl.ioctl(device, LOOP_GET_STATUS64, bytes(INFO_BYTES)))
        struct.pack_into("=Q", info, LIMIT_AT, 4096)
        fcntl.ioctl(device, LOOP_SET_STATUS64, bytes(info))
    finally:
        os.close(device)


def mount_overlay(place, directory, below):
    """Mounts an overlay there, in the place, whose layers lie in the directory `below`: it may be
    the same one."""
    rooms = [below / name for name in ("lower", "upper", "work")]
    place.run(["mkdir", "-p", *rooms])
    options = "lowerdir={},upperdir={},workdir={}".format(*rooms)
    place.run(["mount", "-t", "overlay", "-o", options, "overlay", directory])
