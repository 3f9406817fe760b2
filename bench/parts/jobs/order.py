"""Main process time that foretelling the order of a DataLoader costs: with `STOKER_AHEAD=off` and without, in turn."""

import importlib.util
import os
import sys

import ground
from measure import QUICK, Table, times

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "order_script.py")
DIRECTORIES, FILES, FILE = 20, 50 if QUICK else 1000, 100
BATCHES = {1: None, 8: None, 32: 1, 256: 1}  # and at most so many us an index: each batch has costs of its own
INDICES = 1_281_167  # of ImageNet
MOST_S = 0.3
STARTS = 3


def passes(directory, tier, what, number, ahead):
    """Returns the ns of each pass of one process."""
    environment = ground.bare_environment()
    environment.update(STOKER_MIN_AGE=ground.MIN_AGE_S, **({} if ahead else {"STOKER_AHEAD": "off"}))
    command = [ground.STOKER, "run", "--path", directory, "--tier", tier, "--keep", "--",
               sys.executable, SCRIPT, directory, what, str(number)]
    return [float(ns) for ns in ground.run(command, environment, preexec_fn=None).split()]


def add_row(table, directory, tier, what, number, row, unit, scale, goal):
    on, off = ground.collect(times(STARTS), lambda: [passes(directory, tier, what, number, ahead) for ahead in (True, False)])
    ours, peer = ([[ns * scale for ns in start] for start in lane] for lane in (on, off))
    table.row(row, unit, ours, peer, kind="more", peer_name="STOKER_AHEAD=off", goal=goal)


def measure():
    if importlib.util.find_spec("torch") is None:
        raise ground.Skip("no torch")
    table = Table("order")
    with ground.scratch() as directory, ground.scratch("/dev/shm") as tier:
        top = os.path.join(directory, "data")
        ground.make_tree(top, DIRECTORIES, FILES, FILE)
        ground.let_age()
        for batch, most in BATCHES.items():
            add_row(table, top, tier, "asked", batch, "indices in batches of %d, main process, an index" % batch, "us", 1e-3,
                    most)
        add_row(table, top, tier, "begun", INDICES, "until the first batch of %d indices is asked for" % INDICES, "s", 1e-9,
                MOST_S)
    return table
