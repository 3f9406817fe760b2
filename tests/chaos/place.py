"""Where a round of chaos happens: namespaces, two origins, one tier or two, the ledger.

All of it lies in a mount namespace, with a /dev/shm of its own; it is gone when the process is that
runs in it. In two more namespaces the same path leads to two different volumes.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / each) for each in ("lib/places", "lib/storage")]

import slowfs  # noqa: E402

import clock  # noqa: E402

VOLUMES = 2
SHM = "256m"
HOME = "/dev/shm/stoker-0"
INSIDE = "STOKER_CHAOS_INSIDE"
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")
GROUP_BYTES = 160 << 20


def obstacle():
    """Why there can be no such place here, or None."""
    if os.geteuid() != 0:
        return "chaos makes mount namespaces and memory groups: only root can"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened: no slow origin"
    if subprocess.run(["unshare", "-m", "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        return "no private mount namespace"
    return None


def enter():
    """Goes on in a mount namespace of its own, from the beginning of the program."""
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv])
    mount("-t", "tmpfs", "-o", f"mode=1777,size={SHM}", "chaos", "/dev/shm")


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


class Volume:
    """An origin, and the namespace in which the common path leads to it."""

    def __init__(self, number, scratch, data, build):
        self.number = number
        self.source = scratch / f"source{number}"
        self.source.mkdir()
        # One of them is past the kernel's own cache. Where that lies between, a short read of the
        # origin is no short read of the program's, but zeros.
        self.reads_short = number % 2
        self.fs = slowfs.SlowFS(self.source, binary=str(build / "slowfs"), latency_ms=0.2,
                                attr_timeout=0, entry_timeout=0, direct_io=bool(self.reads_short))
        self.fs.start()
        self._holder = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && echo ready && exec cat',
             self.fs.mountpoint, data], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._holder.stdout.readline() == b"ready\n", "a mount namespace"

    def command(self, argv, env):
        """The command line that runs argv where the path leads here."""
        variables = [f"{key}={value}" for key, value in env.items()]
        return list(map(str, ["nsenter", "-t", self._holder.pid, "-m", "--", "env", "-C", "/", "-i",
                              *variables, *argv]))

    def stop(self):
        self._holder.stdin.close()
        self._holder.wait()
        self.fs.stop()


class Place:
    def __init__(self, build, budget, disk, step_machine=False):
        self.build = build.resolve()
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="stoker-chaos-"))
        (self.scratch / "disk").mkdir()
        self.tier = f"/dev/shm:{budget}" + (f",{self.scratch}/disk:{budget}" if disk else "")
        self.clock = clock.Machine() if step_machine else clock.Skewed(
            self.build, self.scratch / "skew")
        self.data = self.scratch / "data"
        self.data.mkdir()
        self.memory = None  # a group of little memory, or None
        self.volumes = []

    def __enter__(self):
        for name in ("ledger", "room"):
            (self.scratch / name).mkdir()
        mount("-t", "tmpfs", "-o", "size=512m", "ledger", self.scratch / "ledger")
        for number in range(VOLUMES):
            self.volumes.append(Volume(number, self.scratch, self.data, self.build))
        self._make_group()
        return self

    def __exit__(self, *_):
        for volume in self.volumes:
            volume.stop()
        subprocess.run(["umount", self.scratch / "ledger"], check=False)
        shutil.rmtree(self.scratch, ignore_errors=True)
        if self.memory:
            with contextlib.suppress(OSError):
                self.memory.rmdir()

    def _make_group(self):
        group = MEMORY / f"stoker-chaos-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(GROUP_BYTES))
            self.memory = group

    def player(self, verb, volume, **words):
        """The command line of the player (player.c)."""
        words = {"ledger": self.scratch / "ledger/ledger", "data": self.data,
                 "behind": self.volumes[volume].source, "volume": volume, **words}
        return [self.build / "tests/chaos/player", verb,
                *(f"{name}={value}" for name, value in words.items())]

    def play(self, verb, volume=0, **words):
        """Has the player do something at once; what it prints."""
        return subprocess.run(list(map(str, self.player(verb, volume, **words))), check=True,
                              text=True, stdout=subprocess.PIPE).stdout

    def env(self, **more):
        return {"PATH": os.environ["PATH"], "LANG": "C", "STOKER_MIN_AGE": "0.05",
                **self.clock.env(), **more}

    def stoker(self, *command, flags=()):
        return [self.build / "stoker", "run", "--require-cache", f"--path={self.data}",
                f"--tier={self.tier}", *flags, "--", *command]

    def preload(self):
        """The environment that does without the command."""
        return {**self.clock.env(self.build / "libstoker.so"), "STOKER_PATHS": self.data,
                "STOKER_TIERS": self.tier}
