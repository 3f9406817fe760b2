"""A DataLoader alone: its batches through slots, by torch's own files in shared memory, and plainly.

Three processes of the same script run their epochs in turn: without Stoker, under
`stoker run --no-batches`, and under `stoker run`. The first epochs, in which forms are made, are not counted.
"""

import contextlib
import os

import ground
from measure import QUICK, Table, times
from parts.jobs import epochs

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "batch_script.py")
IMAGES = 300
KINDS = (("float64", "224 x 224 float, batch 64", 4.5, 1.5),
         ("float256", "224 x 224 float, batch 256", 4.5, 1.5),
         ("arrays64", "224 x 224 float, stacked by NumPy, batch 64", None, 1.0),
         ("bytes256", "224 x 224 bytes, own collate_fn, batch 256", None, 1.0),
         ("small512", "32 x 32 float out of memory, batch 512", 1.0, 1.0))
MANY = () if QUICK else (8, 16)  # workers, for the first kind; all kinds have 2
MAIN_US = 15  # what the main process may take for an image of 224 x 224
STARTS, EPOCHS, WARM = 3, 6, 3


class Script(epochs.Script):
    """One process of it."""

    def __init__(self, prefix, kind, directory, workers):
        super().__init__(prefix, SCRIPT, kind, directory, str(workers))

    def epoch(self):
        """(images per second, microseconds of this process for an image)."""
        images, seconds, cpu = map(float, self.ask(""))
        return images / seconds, cpu * 1e6 / images


def lanes(directory, tier):
    run = [ground.STOKER, "run", "--path", directory, "--tier", tier + ":1G"]
    return {"plain": [], "without": [*run, "--no-batches", "--"], "slots": [*run, "--"]}


def run_start(kind, workers, directory, tier):
    """Returns each lane's rates and the main process's times."""
    with contextlib.ExitStack() as stack:
        scripts = {name: stack.enter_context(Script(prefix, kind, directory, workers))
                   for name, prefix in lanes(directory, tier).items()}
        for script in scripts.values():
            for _ in range(WARM):
                script.epoch()
        turns = [{name: script.epoch() for name, script in scripts.items()}
                 for _ in range(times(EPOCHS))]
    return [[turn[name][which] for turn in turns] for which in (0, 1)
            for name in ("plain", "without", "slots")]


def add_rows(table, what, lists, over_plain, over_without):
    plain, without, slots, main_plain, main_without, main_slots = lists

    def row(name, ours, peer, peer_name, goal):
        table.row(what + name, "images/s", ours, peer, peer_name=peer_name, decimals=0, goal=goal,
                  at_least=True)

    row("", slots, plain, "plain", over_plain)
    row("", slots, without, "with --no-batches", over_without)
    table.row(what + ", main process, an image", "us", main_slots, main_plain, peer_name="plain")
    table.row(what + ", main process, an image", "us", main_slots, main_without,
              peer_name="with --no-batches")


def measure():
    table = Table("batches")
    table.note("the main process shall take at most %d us for an image of 224 x 224" % MAIN_US)
    with epochs.some_images(IMAGES) as (images, tier):
        for kind, what, over_plain, over_without in KINDS:
            for workers in (2, *(MANY if kind == KINDS[0][0] else ())):
                lists = ground.collect(times(STARTS),
                                       lambda: run_start(kind, workers, images, tier))
                two = workers == 2
                add_rows(table, "%s, %d workers" % (what, workers), lists,
                         over_plain if two else None, over_without if two else None)
    return table
