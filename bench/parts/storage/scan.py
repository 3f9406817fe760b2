"""The scan of a data set before the first epoch, as ImageFolder's, over a slow file system."""

import os
import sys

import ground
from measure import QUICK, Table, ratio, times

sys.path.insert(0, os.path.join(ground.REPOSITORY, "tests/lib/storage"))

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "scan_script.py")
CLASSES, FILES = (100, 20) if QUICK else (1000, 100)
STARTS = 3
LATENCY_MS = 1


def scans(mount, tier, processes, **variables):
    """Seconds that each of so many processes of one run takes, and what the last one found."""
    line = '"$@"' + ' && "$@"' * (processes - 1)
    command = ["sh", "-c", line, "sh", sys.executable, SCRIPT, mount]
    environment = ground.bare_environment()
    environment.update(STOKER_MIN_AGE=ground.MIN_AGE_S, **variables)
    if tier:
        command = [ground.STOKER, "run", "--path", mount, "--tier", tier, "--keep", "--", *command]
    lines = [line.split() for line in ground.run(command, environment).splitlines()]
    return [float(each[0]) for each in lines], lines[-1][1:]


def one_start(mount, tier):
    ground.clear(mount)
    (plain,), found = scans(mount, None, 1)
    (cold, second), same = scans(mount, tier, 2, STOKER_LISTINGS="mtime")
    (anew,), again = scans(mount, tier, 1, STOKER_LISTINGS="mtime")
    ground.clear(mount)
    (first,), _ = scans(mount, tier, 1)
    (listed,), listed_again = scans(mount, tier, 1)
    if not found == same == again == listed_again:
        raise RuntimeError("not the same samples were found")
    return [[plain], [cold], [second], [anew], [listed]]


def measure():
    import slowfs

    table = Table("scan")
    with ground.scratch() as directory:
        ground.make_tree(os.path.join(directory, "data"), CLASSES, FILES, 0)
        ground.let_age()
        with slowfs.SlowFS(os.path.join(directory, "data"), latency_ms=LATENCY_MS) as fs:
            plain, cold, second, anew, listed = ground.collect(
                times(STARTS), lambda: one_start(fs.mountpoint, "/dev/shm:1G"))
        what = "ImageFolder's scan, %d files in %d directories, %d ms: " % (
            CLASSES * FILES, CLASSES, LATENCY_MS)
        for name, ours, goal in (
                (what + "a first process", cold, None),
                (what + "the next process of the run", second, 10),
                ("the first of a new run, STOKER_LISTINGS=mtime", anew, 2),
                ("the first of a new run, listed anew", listed, None)):
            table.row(name, "s", ours, plain, peer_name="without", compared=ratio(plain, ours),
                      goal=goal, at_least=True)
        table.note("`compared` is how many times as fast it is.")
    return table
