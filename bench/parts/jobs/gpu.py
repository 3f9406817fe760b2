"""Batches on a GPU: stoker.Loader under `stoker run`, and what else feeds one.

stoker.Loader goes around a DataLoader's workers, or it is given paths, and threads of its own decode. Peers are a DataLoader with pin_memory, under `stoker run` and plainly; timm's PrefetchLoader and DALI, which
decodes on the processor or on the device, both plainly. A peer is left out, and named, if
the Python that runs this (PYTHON=) has no modules for it. Processes of the same script run their epochs in turn, with no model
behind them. The first epochs, in which forms are made, are not counted. Where there is no GPU the part is
left out; BENCH_DEVICE=cpu runs it all the same, to see whether it works.
"""

import contextlib
import os
import subprocess
import sys
from typing import NamedTuple

import ground
from measure import QUICK, Table, times
from parts.jobs import epochs

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "device_script.py")
PACKAGE = os.path.join(ground.REPOSITORY, "build", "python")
DEVICE = os.environ.get("BENCH_DEVICE", "cuda:0")
IMAGES = 300
WORKERS = (2,) if QUICK else (2, 8)
STARTS, EPOCHS, WARM = 2, 5, 2  # a start takes 8 to 16 s for each script: some 6 minutes in all


class Lane(NamedTuple):
    """A process of the script: its kind, and whether `stoker run` stands before it."""
    name: str
    kind: str
    hooked: bool = False


OURS = (Lane("workers", "loader", hooked=True), Lane("threads", "paths", hooked=True))
PEERS = (
    Lane("pin_memory, under stoker run", "pinned", hooked=True),
    Lane("pin_memory, plain", "pinned"),
    Lane("timm, PrefetchLoader", "timm"),
    Lane("DALI, decoded on the processor", "dali"),
    Lane("DALI, decoded on the device", "dali-gpu"),
)
MODULES = {"timm": "timm.data.loader", "dali": "nvidia.dali", "dali-gpu": "nvidia.dali"}


class Script(epochs.Script):
    """One process of it."""

    def __init__(self, prefix, kind, directory, workers):
        super().__init__(prefix, SCRIPT, kind, directory, str(workers), DEVICE, PACKAGE)

    def epoch(self):
        """(images per second, microseconds of this process for an image)."""
        images, seconds, cpu = map(float, self.ask(""))
        return images / seconds, cpu * 1e6 / images


def check_device():
    """Asked in a process of its own: none that has begun with CUDA may fork."""
    code = ("import sys; sys.path.insert(0, %r); import stoker; stoker.Loader([], device=%r)"
            % (PACKAGE, DEVICE))
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise ground.Skip(asked.stderr.strip().splitlines()[-1])


def start(lane, workers, directory, tier):
    run = [ground.STOKER, "run", "--path", directory, "--tier", tier + ":1G", "--"]
    return Script(run if lane.hooked else [], lane.kind, directory, workers)


def peers_here(table):
    """Returns the peers whose modules this Python has; the table has a note of each of the others."""
    here = []
    for lane in PEERS:
        module = MODULES.get(lane.kind, "torch")
        asked = subprocess.run([sys.executable, "-c", "import " + module], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            here.append(lane)
        else:
            table.note("%s is left out: %s" % (lane.name, asked.stderr.strip().splitlines()[-1]))
    return here


def run_start(lanes, workers, directory, tier):
    """Returns each lane's rates, then each lane's times of the main process."""
    with contextlib.ExitStack() as stack:
        scripts = [stack.enter_context(start(lane, workers, directory, tier)) for lane in lanes]
        for script in scripts:
            for _ in range(WARM):
                script.epoch()
        turns = [[script.epoch() for script in scripts] for _ in range(times(EPOCHS))]
    return [[turn[i][which] for turn in turns] for which in (0, 1) for i in range(len(lanes))]


def add_rows(table, workers, peers, lists):
    """Each of ours beside each peer: the rates of all lanes come first in `lists`, then their times."""
    rates, cpus = lists[:len(lists) // 2], lists[len(lists) // 2:]
    for number, lane in enumerate(OURS):
        what = "224 x 224 on %s, batch 256, %d %s" % (DEVICE, workers, lane.name)
        for peer, other in zip(peers, rates[len(OURS):]):
            table.row(what, "images/s", rates[number], other, peer_name=peer.name, decimals=0, at_least=True)
        for peer, other in zip(peers, cpus[len(OURS):]):
            table.row(what + ", main process, an image", "us", cpus[number], other, peer_name=peer.name)


def measure():
    check_device()
    table = Table("gpu")
    with epochs.some_images(IMAGES) as (images, tier):
        peers = peers_here(table)
        for workers in WORKERS:
            add_rows(table, workers, peers, ground.collect(
                times(STARTS), lambda count=workers: run_start((*OURS, *peers), count, images, tier)))
    return table
