"""The files of tests/preload/neighbours/files.h, and runs of a program with and without the library."""

import shutil
import subprocess

from origin import settle

COUNT = 12


def size_of(number):
    return 1000 + number * 137 % 9000


def content(number):
    return bytes((number * 31 + offset * 7 + (offset >> 8)) & 255
                 for offset in range(size_of(number)))


def make(base, count=COUNT):
    """BASE/data with so many files, and BASE/beside, which is never covered; returns BASE/data."""
    for name in "data", "beside":
        (base / name).mkdir()
        for number in range(count):
            (base / name / str(number)).write_bytes(content(number))
    settle()
    return base / "data"


def version_of(package):
    """Returns the version of a Debian package; "" elsewhere."""
    if shutil.which("dpkg-query") is None:
        return ""
    done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout


class Pair:
    """Runs a command line without the library, and under it, cold and warm."""

    def __init__(self, jobs, data):
        self.jobs, self.data = jobs, data

    def _line(self, argv):
        """Returns the shell's line: stderr counts as well."""
        return ["sh", "-c", '"$@" 2>&1; status=$?; exit $status', "sh", *argv]

    def plain(self, argv, env=None, **more):
        done = self.jobs.place.run(self._line(argv), env=env, check=False, **more)
        return done.returncode, done.stdout

    def shim(self, argv, env=None, flags=(), **more):
        return self.jobs.run(self._line(argv), path=self.data, flags=["--keep", *flags],
                             env=env, check=False, **more)

    def check(self, argv, env=None, hits=1, fills=1, **more):
        """Cold and warm as without; what the plain run said."""
        without = self.plain(argv, env, **more)
        for least_fills in fills, 0:
            ran = self.shim(argv, env, **more)
            assert (ran.status, ran.stdout) == without, ran.stderr
            assert ran.hits + ran.fills >= hits and ran.fills >= least_fills, ran.stderr
        assert ran.hits >= hits, ran.stderr
        return without

    def forget(self):
        """Removes the cache."""
        shutil.rmtree(self.jobs.place.path("/dev/shm/stoker-0"), ignore_errors=True)
