"""A memory cgroup of its own for a program, so that a small data set is larger than its memory."""

import os
import shlex
import time

import ground

V1, V2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"


class Cgroup:
    """A context manager; `prefix` before a command runs it inside. Version 1 or 2."""

    def __init__(self, name):
        self._old = os.path.isdir(V1)
        self._path = os.path.join(V1 if self._old else V2, "%s-%d" % (name, os.getpid()))
        self.prefix = ["sh", "-c", "echo $$ > %s/cgroup.procs && exec \"$@\""
                       % shlex.quote(self._path), "sh"]

    def __enter__(self):
        try:
            os.mkdir(self._path)
            self.peak()
        except OSError as error:
            self._remove()
            raise ground.Skip("no memory cgroup can be made: %s" % error) from error
        return self

    def __exit__(self, *exception):
        for _ in range(100):
            if self._remove():
                return
            time.sleep(0.1)  # the last worker has not gone yet
        raise RuntimeError("somebody stays in %s" % self._path)

    def _remove(self):
        try:
            os.rmdir(self._path)
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True

    def peak(self):
        """The most bytes it has held at a time."""
        name = "memory.max_usage_in_bytes" if self._old else "memory.peak"
        with open(os.path.join(self._path, name)) as file:
            return int(file.read())

    def limit(self, size):
        """From now on no more than so many bytes."""
        name = "memory.limit_in_bytes" if self._old else "memory.max"
        with open(os.path.join(self._path, name), "w") as file:
            file.write(str(size))
