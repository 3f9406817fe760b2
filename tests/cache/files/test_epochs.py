"""From the second epoch on the origin is left alone: no open, no read, no stat of a file."""

import json
import shutil
import sys

import pytest

from epoch_job import IMAGES, images, program, without_torch  # noqa: F401
from origin import settle
from slices import ALL

pytestmark = pytest.mark.torch

METHODS = ("fork", "spawn", "forkserver")
RANKS_EPOCHS = 3 if ALL else 2
AT_ONCE = 4  # looks at files to which the job and the command came at once

LOADERS = ALONE = ["0:fork:0"] + [f"{workers}:{method}:{persistent}" for workers in (2, 4)
                                  for method in METHODS for persistent in (0, 1)]
if not ALL:  # each way of starting and staying once; a worker that is not forked imports torch anew
    LOADERS, ALONE = ["0:fork:0", "4:fork:0", "1:spawn:1"], ["0:fork:0", "4:fork:1", "1:forkserver:0"]


def copies(origin, images, count):
    """Copies of the folder at the origin, all below one directory."""
    source, mount = origin.directory("epochs")
    for number in range(count):
        shutil.copytree(images, source / str(number))
    settle()
    return mount, [mount / str(number) for number in range(count)]


def check(told, count, most=0):
    """Cold in epoch 1, afterwards at most so many operations, and everywhere the same pixels."""
    assert len(told) == count
    assert len({epoch["sum"] for epochs in told.values() for epoch in epochs}) == 1
    for configuration, (first, *later) in told.items():
        assert first["file_ops"] >= IMAGES, configuration
        for epoch in later:
            assert epoch["file_ops"] <= most and epoch["read_bytes"] == 0, (configuration, epoch)


def assert_second_epoch_is_all_hits(ran, images):
    first, second = ran.epoch(1), ran.epoch(2)
    assert first["opens"] == images and first["fills"] + ran.json["read_ahead"]["files"] >= images
    assert (second["opens"], second["hits"]) == (images, images)


def test_every_kind_of_loader_under_stoker_run(jobs, origin, images, programs):
    top, folders = copies(origin, images, len(LOADERS))
    configurations = [f"{folder}:{loader}" for folder, loader in zip(folders, LOADERS)]
    ran = jobs.run([sys.executable, *program(programs, origin, 2, configurations)], path=top,
                   timeout=900)
    check(json.loads(ran.stdout), len(LOADERS), AT_ONCE)
    assert_second_epoch_is_all_hits(ran, IMAGES * len(LOADERS))


def test_every_kind_of_loader_under_ld_preload_alone(jobs, origin, images, programs):
    top, folders = copies(origin, images, len(ALONE))
    configurations = [f"{folder}:{loader}" for folder, loader in zip(folders, ALONE)]
    done = jobs.preloaded([sys.executable, *program(programs, origin, 2, configurations)], top,
                          timeout=900)
    check(json.loads(done.stdout), len(ALONE))


def test_two_ranks_under_stoker_run(jobs, origin, images, programs, torchrun):
    """Each epoch deals the images anew: in epoch 2 a rank reads what the other one has cached."""
    top, folders = copies(origin, images, 2)
    configurations = [f"{folders[0]}:0:fork:0", f"{folders[1]}:2:fork:0"]
    ran = jobs.run([*torchrun, *program(programs, origin, RANKS_EPOCHS, configurations)], path=top,
                   timeout=300)
    check(json.loads(ran.stdout), 2, AT_ONCE)
    assert_second_epoch_is_all_hits(ran, 2 * IMAGES)


def test_two_ranks_under_ld_preload_alone(jobs, origin, images, programs, torchrun):
    top, folders = copies(origin, images, 1)
    done = jobs.preloaded([*torchrun, *program(programs, origin, RANKS_EPOCHS, [f"{folders[0]}:2:fork:1"])],
                          top, timeout=300)
    check(json.loads(done.stdout), 1)


def test_without_stoker_each_epoch_costs_the_same(place, origin, images, programs):
    """That the counting counts."""
    _, folders = copies(origin, images, 1)
    done = place.run([sys.executable, *without_torch(programs, origin, 2, folders[0])], timeout=300)
    first, second = json.loads(done.stdout)
    assert min(first["file_ops"], second["file_ops"]) >= 3 * IMAGES
