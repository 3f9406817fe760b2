"""Where the documents' commands run: a root directory in which the things that they name exist.

It is this machine's, in a mount namespace of its own. It has /data (data sets), /nvme and /ceph
(for disks), /home (the reader's own) and /dev/shm besides. `stoker` is the one that was built. A
whole cluster or machine has a stand-in (standins/). Stand-ins check the options that they are given
and run what they would run.

READER_BIN names the directory of an installation instead. Then `stoker` and `python` are those of a
reader that has it first on PATH, and nothing of the checkout is there.
"""

import os
import pathlib
import shutil
import subprocess

from checkout import ROOT
from isolated import Isolated

HERE = pathlib.Path(__file__).resolve().parent
WORK = "/scratch/me"
READER = os.environ.get("READER_BIN")

SET_UP = """
set -e
mount -t tmpfs -o mode=755 scene "$1/root"
for entry in /*; do
    if [ -L "$entry" ]; then
        cp -P "$entry" "$1/root/"
    elif [ -d "$entry" ]; then
        mkdir "$1/root$entry"
        case $entry in /data|/nvme|/ceph|/scratch) ;; *) mount --rbind "$entry" "$1/root$entry" ;; esac
    fi
done
for name in data scratch; do
    mkdir -p "$1/root/$name"
    mount --bind "$1/$name" "$1/root/$name"
done
for disk in nvme ceph; do
    mkdir "$1/root/$disk"
    mount -t tmpfs -o mode=755,size=20t $disk "$1/root/$disk"
    mkdir "$1/root/$disk/me"
done
"""


class Scene:
    """As a context: everything that runs in it shares one cache, and goes with it."""

    def __init__(self, directory, data, build):
        self._directory, self._data, self._build = directory, data, build
        # As large as the machines in the documents; only what is written takes memory.
        self._place = Isolated("100g")

    def __enter__(self):
        for name in ("root", "scratch/bin", "scratch/me", "scratch/tmp"):
            (self._directory / name).mkdir(parents=True, mode=0o755)
        (self._directory / "data").symlink_to(self._data)
        self._tools()
        self._place.__enter__()
        self._place.run(["sh", "-c", SET_UP, "sh", self._directory])
        return self

    def __exit__(self, *_):
        self._place.__exit__()

    def _tools(self):
        bin_ = self._directory / "scratch/bin"
        if not READER:
            (bin_ / "stoker").symlink_to(self._build / "stoker")
            (bin_ / "python").symlink_to("/usr/bin/python3")
        for standin in (HERE / "standins").iterdir():
            if standin.suffix == "":
                (bin_ / standin.name).symlink_to(standin)
        work = self._directory / "scratch/me"
        shutil.copy(HERE / "train.py", work)
        (work / "examples").symlink_to(ROOT / "examples")

    def write(self, name, text):
        path = self._directory / "scratch/me" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def mount(self, directory, size):
        """So much memory, there."""
        self._inside(["mkdir", "-p", directory])
        done = self._inside(["mount", "-t", "tmpfs", "-o", f"mode=1777,size={size}", "volume", directory])
        assert done.returncode == 0, done.stdout

    def run(self, argv, env=None):
        """Returns the command's output and status, as (status, text)."""
        done = self._inside(["sh", "-c", f'cd {WORK} && exec "$@"', "sh", *argv], env)
        return done.returncode, done.stdout

    def _inside(self, argv, env=None):
        first = {"PATH": f"{READER}:/scratch/bin:{os.environ['PATH']}"} if READER else {
            "PATH": f"/scratch/bin:{os.environ['PATH']}", "PYTHONPATH": str(self._build / "python")}
        # A compiler's cache would be written into the repository.
        variables = {"HOME": WORK, **first, "TMPDIR": "/scratch/tmp", "PYTHONDONTWRITEBYTECODE": "1",
                     "XDG_STATE_HOME": f"{WORK}/.local/state", "OMP_NUM_THREADS": "1",
                     "STOKER_MIN_AGE": "0.05", "USER": "me", **(env or {})}
        command = self._place.command(["chroot", self._directory / "root", *argv], variables)
        try:
            return subprocess.run(command, timeout=180, text=True, check=False, stdin=subprocess.DEVNULL,
                                  errors="backslashreplace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{argv} takes more than {late.timeout} s: {late.stdout}") from late
