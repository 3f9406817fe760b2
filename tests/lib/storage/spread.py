"""Where ext4 puts the files of a test. Without a journal, as on many virtual machines' disks, ext4 gives away no inode that
was removed in the last minutes. A new file looks past all of them in its directory's group: after tests that have removed
thousands, it takes 0.8 ms of processor."""

import array
import contextlib
import fcntl
import os

_GET, _SET = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS
_TOP = 0x00020000  # FS_TOPDIR_FL, which chattr calls T


def spread(directory):
    """Has each directory that is made in this one lie in a group of its own. No other file system knows of that."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            flags = array.array("L", [0])
            fcntl.ioctl(fd, _GET, flags)
            flags[0] |= _TOP
            fcntl.ioctl(fd, _SET, flags)
    finally:
        os.close(fd)
