"""From a clean checkout to the first hit: clone, make, and a command run twice."""

import os
import shutil
import subprocess
import time

import ground
from measure import Table, times

STARTS = 3


def first_hit(directory):
    """Seconds for the whole way, and for what of it is building."""
    checkout = os.path.join(directory, "checkout")
    shutil.rmtree(checkout, ignore_errors=True)
    environment = ground.bare_environment()
    environment["STOKER_MIN_AGE"] = ground.MIN_AGE_S
    start = time.monotonic()
    subprocess.run(["git", "clone", "-q", ground.REPOSITORY, checkout], check=True)
    subprocess.run(["make", "-s", "-j%d" % len(os.sched_getaffinity(0)), "all"], cwd=checkout,
                   stdout=subprocess.DEVNULL, env=environment, check=True)
    built = time.monotonic()
    done = subprocess.run(
        [os.path.join(checkout, "build", "stoker"), "run", "--path", directory + "/data", "--",
         "sh", "-c", "cat {0}; cat {0}".format(directory + "/data/0000.bin")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True, check=True)
    end = time.monotonic()
    if "50.0% from the cache" not in done.stderr:
        raise RuntimeError("no hit: " + done.stderr)
    return [[end - start], [built - start]]


def measure():
    if not os.path.exists(os.path.join(ground.REPOSITORY, ".git")) or shutil.which("git") is None:
        raise ground.Skip("this is no git checkout")
    table = Table("first")
    with ground.scratch() as directory:
        ground.make_files(directory + "/data", 1, 110 << 10)
        ground.let_age()
        whole, build = ground.collect(times(STARTS), lambda: first_hit(directory))
        table.row("clean checkout to first hit", "s", whole, decimals=1)
        table.row("of that, git clone and make all", "s", build, decimals=1)
    return table
