"""Batches on a GPU: stoker.Loader, and a DataLoader with pin_memory, under `stoker run` and plainly.

Processes of the same script run their epochs in turn, with no model behind them. The first epochs, in which
forms are made, are not counted. Where there is no GPU it is left out; BENCH_DEVICE=cpu runs it all the same,
to see whether it works.
"""

import contextlib
import os
import subprocess
import sys

import ground
from measure import QUICK, Table, times
from parts import epochs

SCRIPT = os.path.join(ground.REPOSITORY, "bench", "device_script.py")
PACKAGE = os.path.join(ground.REPOSITORY, "build", "python")
DEVICE = os.environ.get("BENCH_DEVICE", "cuda:0")
IMAGES = 300
WORKERS = (2,) if QUICK else (2, 8, 16)
STARTS, EPOCHS, WARM = 3, 6, 3
LANES = ("loader", "pinned", "plain")


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


def run_start(workers, directory, tier):
    """Of each lane the rates and the main process's times."""
    run = [ground.STOKER, "run", "--path", directory, "--tier", tier + ":1G", "--"]
    lanes = {"loader": (run, "loader"), "pinned": (run, "pinned"), "plain": ([], "pinned")}
    with contextlib.ExitStack() as stack:
        scripts = {name: stack.enter_context(Script(prefix, kind, directory, workers))
                   for name, (prefix, kind) in lanes.items()}
        for script in scripts.values():
            for _ in range(WARM):
                script.epoch()
        turns = [{name: script.epoch() for name, script in scripts.items()}
                 for _ in range(times(EPOCHS))]
    return [[turn[name][which] for turn in turns] for which in (0, 1) for name in LANES]


def add_rows(table, workers, lists):
    loader, pinned, plain, main_loader, main_pinned, main_plain = lists
    what = "224 x 224 on %s, batch 256, %d workers" % (DEVICE, workers)
    for peer, name in (pinned, "pin_memory, under stoker run"), (plain, "pin_memory, plain"):
        table.row(what, "images/s", loader, peer, peer_name=name, decimals=0, at_least=True)
    for peer, name in (main_pinned, "pin_memory, under stoker run"), (main_plain, "pin_memory, plain"):
        table.row(what + ", main process, an image", "us", main_loader, peer, peer_name=name)


def measure():
    check_device()
    table = Table("gpu")
    with epochs.some_images(IMAGES) as (images, tier):
        for workers in WORKERS:
            add_rows(table, workers, ground.collect(
                times(STARTS), lambda count=workers: run_start(count, images, tier)))
    return table
