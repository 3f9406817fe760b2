#!/usr/bin/env python3
"""Mounts slowfs from Python, sets its latency and reads its counters.

    with SlowFS("/data/set", latency_ms=1) as fs:
        with fs.counting() as counted:
            open(fs.mountpoint + "/a").read()
        print(counted["open"], counted.file_ops)
        fs.latency_ms = 5

On the command line, for a slowfs that runs already:

    python3 slowfs.py counts CONTROLFILE
    python3 slowfs.py latency CONTROLFILE [MILLISECONDS]

The layout of the control file is described in control.h. Only the standard library; Python 3.8.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

COUNTERS = (
    "open", "read", "read_bytes", "getattr_file", "lookup_file", "getattr_other", "lookup_other",
    "lookup_negative", "opendir", "readdir", "readlink", "write", "create", "setattr", "unlink",
    "rename", "getxattr", "release", "statfs", "others",
)
MAGIC = int.from_bytes(b"slowfs\0\0", "little")
VERSION = 1
CONTROL_BYTES = 4096
WORD_LATENCY = 2
FIRST_COUNTER = 3
FIRST_FAULT = 64
FAULTS = ("open", "getattr", "lookup", "read", "read_from", "read_most", "size", "spared",
          "stale_ns", "whole_seconds", "statvfs_zero", "fsync", "rename_flags", "negative_ns",
          "hang_ns", "down", "direct")
NS_PER_MS = 1e6
HOUR_NS = 3600 * 10**9  # of a fault that lasts until it is taken back

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))


class SlowFSError(RuntimeError):
    """slowfs could not be started or mounted; the text says why."""


class MountRefused(SlowFSError):
    """This machine allows no FUSE mounts."""

    skips = True  # the test: tests/conftest.py


class Counts(dict):
    """Counters by name, with the one sum that is asked for everywhere."""

    @property
    def file_ops(self):
        """Returns the cost of files for the origin: opens, data reads, and stats and look-ups of
        files."""
        return self["open"] + self["read"] + self["getattr_file"] + self["lookup_file"]

    def __sub__(self, earlier):
        return Counts((name, value - earlier[name]) for name, value in self.items())


class Control:
    """A control file, mapped: the latency to read and write, the counters to read."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), CONTROL_BYTES)
        # ctypes reads and writes a u64 in one piece, which slicing the map does not promise.
        self._words = (ctypes.c_uint64 * (CONTROL_BYTES // 8)).from_buffer(self._map)
        if tuple(self._words[:2]) != (MAGIC, VERSION):
            raise SlowFSError("not a control file of this version of slowfs: " + path)

    def close(self):
        self._words = None
        self._map.close()

    @property
    def latency_ms(self):
        return self._words[WORD_LATENCY] / NS_PER_MS

    @latency_ms.setter
    def latency_ms(self, value):
        self._words[WORD_LATENCY] = round(value * NS_PER_MS)

    def set_faults(self, **faults):
        """Sets the faults from now on, by the names of FAULTS; without any, there are none."""
        for number, name in enumerate(FAULTS):
            self._words[FIRST_FAULT + number] = faults.pop(name, 0) % (1 << 64)
        assert not faults, faults

    def counts(self):
        """All counters since slowfs started."""
        end = FIRST_COUNTER + len(COUNTERS)
        return Counts(zip(COUNTERS, self._words[FIRST_COUNTER:end]))

    def settled_counts(self, quiet_s=0.3):
        """The same, once nothing has been asked for a while: `stoker run` asks some of it after the
        job has read."""
        last, since = self.counts(), time.monotonic()
        while time.monotonic() - since < quiet_s:
            time.sleep(quiet_s / 10)
            now = self.counts()
            if now != last:
                last, since = now, time.monotonic()
        return last


class Counting:
    """Counters over a `with` block: running inside it, fixed after it."""

    def __init__(self, control):
        self._control = control
        self._start = self._end = None

    def __enter__(self):
        self._start, self._end = self._control.counts(), None
        return self

    def __exit__(self, *exception):
        self._end = self._control.counts()

    def counts(self):
        return (self._end or self._control.counts()) - self._start

    def __getitem__(self, name):
        return self.counts()[name]

    @property
    def file_ops(self):
        return self.counts().file_ops


class SlowFS:
    """`source` shown through slowfs at `mountpoint`, or at a temporary one: a context manager.

    `options` are those of the command: attr_timeout=0, readonly=True, threads=64, ...
    The file system goes away with the block, also after an exception or an interrupt, and with
    this process, even when that is killed.
    """

    def __init__(self, source, mountpoint=None, latency_ms=0, binary=None, **options):
        self.source = os.path.abspath(source)
        self.mountpoint = mountpoint and os.path.abspath(mountpoint)
        self._latency_ms = latency_ms
        self._binary = binary or find_binary()
        self._options = options
        self._own_mountpoint = mountpoint is None
        self._process = self._control = self._directory = self._base = None

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        """Mounts, and waits until the mount is there."""
        self._directory = tempfile.mkdtemp(prefix="slowfs-")
        if self._own_mountpoint:
            self.mountpoint = os.path.join(self._directory, "mount")
            os.mkdir(self.mountpoint)
        remove_dead_mount(self.mountpoint)
        control_path = os.path.join(self._directory, "control")
        # Its standard input is a pipe of ours: when we die, the pipe ends, and slowfs unmounts.
        # A session of its own, so that Ctrl-C in a terminal reaches it through us, in order.
        self._process = subprocess.Popen(
            self._command(control_path), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, start_new_session=True)
        self._wait_for_mount()
        self._control = Control(control_path)
        self.reset()
        return self

    def _command(self, control_path):
        command = [self._binary, "--exit-with-stdin", "--control", control_path,
                   "--latency-ms", repr(float(self._latency_ms))]
        for name, value in self._options.items():
            if value is not False and value is not None:
                command.append("--" + name.replace("_", "-"))
                if value is not True:
                    command.append(str(value))
        return command + [self.source, self.mountpoint]

    def _wait_for_mount(self, patience_s=60.0):
        deadline = time.monotonic() + patience_s
        while not is_mounted(self.mountpoint):
            if self._process.poll() is not None:
                raise self._why_not()
            if time.monotonic() > deadline:
                raise SlowFSError("slowfs did not mount %s in %g s" % (self.mountpoint, patience_s))
            time.sleep(0.005)

    def _why_not(self):
        said = self._process.stderr.read().decode(errors="replace").strip()
        if not os.path.exists("/dev/fuse"):
            return MountRefused("no FUSE mounts: there is no /dev/fuse here")
        if "not permitted" in said:
            return MountRefused("no FUSE mounts: " + said)
        return SlowFSError("slowfs could not mount %s: %s" % (self.mountpoint, said))

    def stop(self):
        """Unmounts, and removes what start() made. May be called twice."""
        if self._control is not None:
            self._latency_ms = self._control.latency_ms
            self._control.close()
            self._control = None
        if self._process is not None:
            unmount(self.mountpoint)
            end_process(self._process)
            self._process = None
        if self._directory is not None and not is_mounted(self.mountpoint or ""):
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def kill(self):
        """Kills slowfs as -9 does, as tests of a failing origin need; the mount stays, dead."""
        self._process.kill()
        self._process.wait()

    @property
    def pid(self):
        return self._process.pid

    @property
    def latency_ms(self):
        return self._control.latency_ms if self._control else self._latency_ms

    @latency_ms.setter
    def latency_ms(self, value):
        if self._control:
            self._control.latency_ms = value
        self._latency_ms = value

    @contextlib.contextmanager
    def faults(self, **faults):
        """`with fs.faults(read=errno.EIO, read_from=4096):` lets reads fail; see faults.h."""
        self._control.set_faults(**faults)
        try:
            yield
        finally:
            self._control.set_faults()

    def counts(self):
        """Counters since the mount or the last reset()."""
        return self._control.counts() - self._base

    def reset(self):
        self._base = self._control.counts()

    def counting(self):
        """For `with fs.counting() as counted:`, then counted["open"], counted.file_ops."""
        return Counting(self._control)

    def file_ops(self):
        return self.counts().file_ops


def find_binary():
    """The slowfs of this repository's build, else the one on PATH."""
    built = os.path.join(REPOSITORY, "build", "slowfs")
    found = built if os.access(built, os.X_OK) else shutil.which("slowfs")
    if found is None:
        raise SlowFSError("no slowfs: build it with `make build/slowfs`")
    return found


def is_mounted(path):
    """Asked of the kernel's table: a stat of the mount itself would count as an operation."""
    # Resolved through the parent, because a dead mount cannot be looked at.
    parent, name = os.path.split(os.path.abspath(path))
    wanted = os.path.join(os.path.realpath(parent), name)
    with open("/proc/self/mountinfo", "rb") as table:
        return any(unescape(line.split(b" ")[4]) == os.fsencode(wanted) for line in table)


def unescape(field):
    """Undoes the kernel's \\040 for a space and the like."""
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found.group(1), 8)]), field)


def remove_dead_mount(mountpoint):
    """A slowfs that was killed leaves its mount behind, and every look at it fails."""
    try:
        os.stat(mountpoint)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise
        unmount(mountpoint)


def unmount(mountpoint):
    """In order if possible, else out of the tree at once, with what is still open left to end."""
    for options in (["-u"], ["-u", "-z"]):
        if not is_mounted(mountpoint):
            return
        subprocess.run(["fusermount3"] + options + ["--", mountpoint], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, start_new_session=True, check=False)


def end_process(process, patience_s=5.0):
    for stop in (process.stdin.close, process.terminate, process.kill):
        try:
            stop()
            process.wait(patience_s)
            break
        except subprocess.TimeoutExpired:
            continue
    process.stderr.close()


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "counts":
        counts = Control(arguments[1]).counts()
        for name in COUNTERS:
            print("%-16s %d" % (name, counts[name]))
        print("%-16s %d" % ("file_ops", counts.file_ops))
    elif len(arguments) in (2, 3) and arguments[0] == "latency":
        control = Control(arguments[1])
        if len(arguments) == 3:
            control.latency_ms = float(arguments[2])
        print("%g ms" % control.latency_ms)
    else:
        print(__doc__.strip().split("\n\n", 2)[2], file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
