"""The time that an image takes beside decoding, piece by piece: torchvision's usual pipeline, under the hook."""

import os
import sys

import ground
from measure import Table, in_us, times
from parts.jobs import epochs

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "image_script.py")
IMAGES, STARTS = 100, 5
GOAL_US = 60


def one_start(images, tier):
    """Nanoseconds of each piece."""
    command = [sys.executable, SCRIPT, images]
    printed, _ = ground.run_stoker(images, tier + ":1G", command)
    return {name: float(ns) for name, ns in map(str.split, printed.splitlines())}


def measure():
    table = Table("image")
    with epochs.some_images(IMAGES) as (images, tier):
        starts = [one_start(images, tier) for _ in range(times(STARTS))]
    for name in starts[0]:
        lane = in_us([[start[name]] for start in starts])
        what = {"all": "all of these", "decoding": "decoding, beside these"}.get(name, name)
        table.row("an image: " + what.replace("_", " "), "us", lane, decimals=1)
    table.note("all but decoding shall take at most %d us: open(), Image.open, convert, close, and"
               " Compose of RandomResizedCrop(224), RandomHorizontalFlip, ToTensor, Normalize."
               % GOAL_US)
    return table
