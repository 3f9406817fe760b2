"""Command lines, and what they did: what they printed, how they ended, and the files they made.

    command = Command("cp -a", "cp -a data/. copy", needs="cp")

A line is run by sh in a directory of its own. In it there is only `bin`, a link to the programs
built for the tests. The word `data` in it becomes the path of the data set.
"""

import hashlib
import os
import re
import shutil
import stat

HITS = "hits"  # reads from the cache what was read before
STATS = "stats"  # only metadata is asked for
NEVER = "never"  # reads the origin, unseen or on purpose
OPENS = "opens"  # either


class Command:
    def __init__(self, name, line, needs="", sees=HITS, main=True):
        """needs are programs."""
        self.name, self.line, self.sees, self.main = name, line, sees, main
        self.needs = (needs or line.split()[0]).split()

    def on(self, data):
        """The line, with the data set's path in it."""
        return re.sub(r"(?<![\w/.-])data(?=[/ ;)\n]|$)", str(data), self.line)

    def missing(self):
        return next((f"{one} is not installed" for one in self.needs if not shutil.which(one)),
                    None)


class Work:
    """The two directories that a command is run in, which have the same names each time: the first
    is for getting to know the files."""

    def __init__(self, path, programs, owner):
        self.path, self._programs, self._owner = path, programs, owner
        self.first, self.second, self.stderr = path / "first", path / "second", path / "stderr"

    def fresh(self):
        if self.path.exists():
            make_removable(self.path)
            shutil.rmtree(self.path)
        for one in self.first, self.second:
            one.mkdir(parents=True)
            (one / "bin").symlink_to(self._programs)
            os.chown(one, self._owner, self._owner)
        os.chown(self.path, self._owner, self._owner)

    def made(self):
        """The files made: {name: what they are}."""
        return {os.path.relpath(one, self.second): describe(one)
                for one in everything(self.second)}


def everything(top):
    for where, directories, files in os.walk(top):
        for name in sorted(directories) + sorted(files):
            yield os.path.join(where, name)


def make_removable(top):
    os.chmod(top, 0o755)
    for one in everything(top):
        if not os.path.islink(one):
            os.chmod(one, 0o755 if os.path.isdir(one) else 0o644)


ADDRESS = re.compile("0x[0-9a-f]{6,}")
YEAR_2001 = 1_000_000_000  # the data set's files are of the year before


def describe(path):
    found = os.lstat(path)
    said = [oct(found.st_mode), found.st_uid, found.st_gid]
    if stat.S_ISLNK(found.st_mode):
        said.append(os.readlink(path))
    if stat.S_ISREG(found.st_mode):
        said += [found.st_size, digest_of(path), found.st_nlink]
    # Any other time is that of this run, not one that a copy has taken over.
    if found.st_mtime < YEAR_2001:
        said.append(found.st_mtime_ns)
    return said


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.md5(file.read()).hexdigest()


def outcome(status, stdout, work):
    """Returns what can be compared."""
    stderr = work.stderr.read_text(errors="backslashreplace")
    return {"status": status, "stdout": ADDRESS.sub("*", stdout),
            "stderr": ADDRESS.sub("*", stderr), "files": work.made()}
