"""Runs programs under `stoker run`, or with nothing but LD_PRELOAD, in an isolated place.

    jobs = Jobs(place, build, scratch)
    ran = jobs.run(["cat", file], path=directory)
    assert ran.hits == 1 and ran.stdout == content

A Ran knows how the program ended, what it and stoker said, and the numbers of --json.
"""

import contextlib
import itertools
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

import gone

# Files made by a test are a moment old: without this nothing would be cached for two seconds.
YOUNG = {"STOKER_MIN_AGE": "0.05"}
HOME = "stoker-0"  # Stoker's directory in a tier: in the place everybody is root
AGE = 0.08  # seconds until a file just made is older than that, and a kernel tick
PATIENCE_S = 60.0  # with what takes a moment: on a busy machine it may take many


class Ran:
    """How one `stoker run` went."""

    def __init__(self, done, json_path):
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.said = " ".join(self.stderr.split())  # long lines are broken
        self.json = json.loads(json_path.read_text()) if json_path.exists() else None

    def __getattr__(self, name):
        """The numbers of the summary: opens, hits, fills, files, bytes_origin, ..."""
        if self.json is None or name not in self.json:
            raise AttributeError(f"no {name} in the summary of: {self.stderr}")
        return self.json[name]

    def epoch(self, number):
        return self.json["epochs"][number - 1]


class Jobs:
    def __init__(self, place, build, scratch):
        self.place, self.build, self.scratch = place, build, scratch
        self._numbers = itertools.count()

    def command_line(self, argv, path=(), tier=None, flags=(), cwd="/"):
        """`stoker run ... -- argv`, not yet in the place, which one enters at "/"."""
        paths = [path] if isinstance(path, (str, os.PathLike)) else path
        line = ["env", "-C", cwd, self.build / "stoker", "run"]
        line += [f"--path={one}" for one in paths]
        line += [f"--tier={tier}"] if tier else []
        return [*line, *flags, "--", *argv]

    def run(self, argv, path=(), tier=None, flags=(), env=None, check=True, cwd="/", within=(),
            **more):
        """Runs argv under stoker, which `within` may run in its turn, and waits."""
        json_path = self.scratch / f"summary-{next(self._numbers)}.json"
        line = self.command_line(argv, path, tier, [*flags, f"--json={json_path}"], cwd)
        done = self.place.run([*within, *line], env={**YOUNG, **(env or {})}, check=False, **more)
        assert not check or done.returncode == 0, f"{done.returncode}: {done.stdout} {done.stderr}"
        return Ran(done, json_path)

    def stoker(self, *arguments, env=None, **more):
        """Any verb, as it is; the caller looks at returncode, stdout, stderr."""
        return self.place.run([self.build / "stoker", *arguments], env={**YOUNG, **(env or {})},
                              check=False, **more)

    def preload_env(self, path, tier=None):
        """The environment that does without the command."""
        env = {**YOUNG, "LD_PRELOAD": self.build / "libstoker.so", "STOKER_PATHS": path}
        return {**env, **({"STOKER_TIERS": tier} if tier else {})}

    def preloaded(self, argv, path, tier=None, env=None, **more):
        """Runs argv with LD_PRELOAD and STOKER_PATHS alone."""
        return self.place.run(argv, env={**self.preload_env(path, tier), **(env or {})}, **more)

    @contextlib.contextmanager
    def started(self, line, env=None, **more):
        """A command line running in the place; the process is `line` itself. At the end it is killed, and
        gone with all that it has started and that prints where it does."""
        process = subprocess.Popen(self.place.command(line, {**YOUNG, **(env or {})}), text=True,
                                   **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
                                      "stderr": subprocess.PIPE, **more})
        try:
            yield process
        finally:
            left = gone.speakers(process)
            if process.poll() is None:
                process.kill()
            process.communicate()
            wait_until_gone(left)

    def on_terminal(self, *arguments, env=None):
        """Any verb, whose stderr is a terminal. Returns the bytes that the terminal gets."""
        leader, follower = pty.openpty()
        with self.started([self.build / "stoker", *arguments], stderr=follower, env=env):
            os.close(follower)
            seen = b""
            with contextlib.suppress(OSError):  # when all writers are gone
                while True:
                    seen += os.read(leader, 65536)
        os.close(leader)
        return seen

    def used(self, tier="/dev/shm"):
        """Returns the use of a tier by `stoker ls`: (used bytes, of, used inodes, of), sizes
        rounded."""
        said = self.stoker("ls").stdout
        row = re.search(rf"^{re.escape(tier)}/stoker-\d+: (.*) of (.*) used, (\d+) of (\d+) inodes",
                        said, re.M)
        return (in_bytes(row[1]), in_bytes(row[2]), int(row[3]), int(row[4])) if row else None


def in_bytes(text):
    """1.5 GiB as a number."""
    number, unit = text.split()
    return float(number) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(unit)


def files_below(directory):
    return [path for path in directory.rglob("*") if path.is_file()]


def drafts(place):
    """Returns the drafts, and files of blocks, of the tier in the memory of a place."""
    return files_below(pathlib.Path(place.path(f"/dev/shm/{HOME}/fill")))


def wait_for(condition, patience_s=PATIENCE_S):
    """Waits until condition() is true, and returns what it said."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def wait_until_gone(pids):
    """Waits until these processes are gone. Their output ends before their maps do, and with them
    their locks. On a busy machine, a test that went on at the end of the output found the cache in
    use."""
    wait_for(lambda: not any(map(gone.is_alive, pids)))


def kill_group(process):
    """Kills the group that a started process leads, and waits until nothing is left of it."""
    pids = gone.speakers(process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_until_gone(pids)


def read_line(process, patience_s=PATIENCE_S):
    """The next line that a started process prints, without the end; nothing behind it is taken."""
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([process.stdout], [], [], patience_s)[0], f"printed only {line}"
        byte = os.read(process.stdout.fileno(), 1)
        assert byte, f"ended with {line}"
        line += byte
    return line.decode().rstrip("\n")


def signal_of(status):
    """Returns the signal in subprocess's return code, or None."""
    return signal.Signals(-status) if status < 0 else None


def reading(files, epochs):
    """A command that reads all the files, in their order, so many times."""
    loop = f'for epoch in $(seq {epochs}); do cat -- "$@" || exit 1; done >/dev/null'
    return ["sh", "-c", loop, "sh", *files]
