"""A place that one test has alone: a mount namespace with a /dev/shm of its own.

    with Isolated() as place:
        place.run(["prog", "argument"], env={"STOKER_PATHS": "/data"})

Everything run in one place shares the cache that lies there; the user's own is never touched, and
the place vanishes with the `with` block. Root makes one directly, others through a user namespace;
where neither is allowed, Isolated.obstacle() says so and a test should skip.
"""

import functools
import os
import subprocess

import hang
from lacking import Lacking

SHM_SIZE = "256m"
CLEAN = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C", "HOME": "/nonexistent",
         "XDG_STATE_HOME": "/dev/null"}  # nothing is remembered from test to test


class Isolated:
    def __init__(self, shm_size=SHM_SIZE):
        self._shm_size = shm_size
        self._user = [] if os.geteuid() == 0 else ["-U", "-r"]
        self._holder = None

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def obstacle():
        """Why no such place can be made here, or None."""
        try:
            with Isolated() as place:
                place.run(["true"])
        except (OSError, AssertionError, subprocess.SubprocessError) as error:
            return str(error)
        return None

    def __enter__(self):
        mount = (f"mount -t tmpfs -o mode=1777,size={self._shm_size} isolated /dev/shm"
                 " && echo ready && exec cat")
        self._holder = subprocess.Popen(
            ["unshare", *self._user, "-m", "sh", "-c", mount],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=CLEAN)
        if self._holder.stdout.readline() != b"ready\n":
            self.__exit__()
            raise Lacking("no private mount namespace: unshare and mount of a tmpfs failed")
        return self

    def __exit__(self, *_):
        self._holder.stdin.close()
        self._holder.stdout.close()
        self._holder.wait()

    def path(self, path):
        """The path by which a process outside reaches one inside."""
        return f"/proc/{self._holder.pid}/root{path}"

    def command(self, argv, env=None):
        """The command line that runs argv inside, in an environment of nothing but env."""
        # With its root directory, too: entering a mount namespace alone leaves a chroot.
        enter = ["nsenter", "-t", str(self._holder.pid), "-m", "-r"]
        if self._user:
            enter += ["-U", "--preserve-credentials"]
        variables = [f"{key}={value}" for key, value in {**CLEAN, **(env or {})}.items()]
        return [*enter, "--", "env", "-C", "/", "-i", *variables, *map(str, argv)]

    def run(self, argv, env=None, check=True, timeout=180, **more):
        """Runs argv inside and returns subprocess.CompletedProcess with text output. The timeout, in
        seconds, is for a machine that has nothing else to do."""
        more.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run(self.command(argv, env), timeout=hang.patience(timeout), text=True,
                              errors="backslashreplace", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **more)
        if check and done.returncode != 0:
            raise AssertionError(f"{list(map(str, argv))} ended with {done.returncode}: "
                                 f"{done.stdout[-2000:]} {done.stderr[-2000:]}")
        return done
