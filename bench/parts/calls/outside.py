"""Programs that never come near the data set, with the library in their environment."""

import os
import shutil
import subprocess

import ground
from measure import Table, in_ms, times

SPAWN = os.path.join(ground.OUT, "spawn")
STARTS = 5
TREE_FILES = 20000


def make_repository(directory):
    """A work tree with many files, all committed."""
    for i in range(TREE_FILES):
        folder = os.path.join(directory, "%02d" % (i // 1000), "%02d" % (i // 100 % 10))
        if i % 100 == 0:
            os.makedirs(folder)
        with open(os.path.join(folder, "%05d.txt" % i), "w") as file:
            file.write("%d\n" % i)
    for command in (["init", "-q"], ["add", "."],
                    ["-c", "user.name=bench", "-c", "user.email=bench@localhost",
                     "-c", "commit.gpgsign=false", "-c", "gc.auto=0", "-c",
                     "maintenance.auto=false", "commit", "-q", "-m", "tree"]):
        subprocess.run(["git"] + command, cwd=directory, check=True)


def lanes():
    """Nothing, a library that does nothing, ours."""
    empty = os.path.join(ground.OUT, "empty.so")
    return ["-", "LD_PRELOAD=" + empty,
            "LD_PRELOAD=%s STOKER_PATHS=/data/elsewhere" % ground.LIBRARY]


def measure_command(command, count, directory):
    def one_start():
        return ground.slices(ground.run([SPAWN, str(times(count))] + lanes() + ["--"] + command,
                                        cwd=directory))
    return ground.collect(times(STARTS), one_start)


def add_rows(table, what, command, count, directory, decimals, goal=None):
    bare, empty, ours = measure_command(command, count, directory)
    table.row(what, "ms", in_ms(ours), in_ms(bare), peer_name="without the library",
              decimals=decimals, goal=goal)
    table.row(what, "ms", in_ms(ours), in_ms(empty), peer_name="with an empty library preloaded",
              decimals=decimals)


def measure():
    table = Table("outside")
    with ground.scratch() as directory:
        add_rows(table, "exec of true", ["true"], 300, directory, 3, 1.03)
        if shutil.which("git") is None:
            table.note("git status is left out: there is no git")
            return table
        make_repository(directory)
        files = format(TREE_FILES, ",")
        add_rows(table, "git status, %s files" % files, ["git", "status"], 20, directory, 1,
                 1.03)
        add_rows(table, "find -size, %s files" % files, ["find", ".", "-size", "+1M"], 10,
                 directory, 1)
    return table
