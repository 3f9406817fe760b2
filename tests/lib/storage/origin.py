"""The slow origin of a test session: slowfs on a directory, and directories of files in it."""

import os
import pathlib
import random
import tempfile
import time

from jobs import AGE


def settle():
    """Waits until what was just written is old enough to be cached."""
    time.sleep(AGE)


CONTENT = "the truth\n" * 400


def truth_in(scratch):
    """A directory that any user may read, with one file."""
    scratch.chmod(0o755)
    path = scratch / "data"
    path.mkdir()
    (path / "file").write_text(CONTENT)
    settle()
    return path


class Origin:
    """The slow file system: `source` is behind it, and changing that is not counted."""

    def __init__(self, fs):
        self.fs, self.source, self.mount = fs, pathlib.Path(fs.source), pathlib.Path(fs.mountpoint)
        self.control_path = os.path.join(fs._directory, "control")

    def directory(self, prefix):
        """A new directory: (its path behind the origin, its path at the origin)."""
        path = pathlib.Path(tempfile.mkdtemp(prefix=prefix + "-", dir=self.source))
        path.chmod(0o755)
        return path, self.mount / path.name

    def files(self, prefix, count, size):
        """A new directory with that many files of random bytes, old enough to be cached."""
        source, mount = self.directory(prefix)
        for number in range(count):
            (source / f"file{number:04}").write_bytes(random.Random(number).randbytes(size))
        settle()
        return source, mount
