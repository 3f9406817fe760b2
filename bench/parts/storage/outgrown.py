"""Shuffled epochs of a data set twice as large as the memory that is left for it.

The script runs in a memory cgroup: what it needs itself, and half of the data's bytes. Without
Stoker the kernel's page cache has that half (of slowfs it keeps nothing); with it, a tier has seven
tenths of it. The origin is the local disk, where decoding is the limit, or slowfs, which is itself.
"""

import json
import os
import random
import shutil
import sys
import tempfile
from typing import NamedTuple

import cgroup
import ground
from measure import QUICK, Table
from parts.jobs import epochs
from parts.storage import readers

sys.path.append(os.path.join(ground.REPOSITORY, "tests/lib/storage"))

FILES, FILE_BYTES = (1000 if QUICK else 3000), 110_000
COPIES = 1 if QUICK else 2  # of the photographs
FEW = 200                   # files with which the script begins, to learn what it needs itself
MARGIN = 48 << 20           # for what it needs later
KEPT_FREE = 96 << 20        # what Stoker leaves alone however small a group is
COUNTED = 1 if QUICK else 2  # epochs, behind those in which a cache fills
TIER_SHARE = 0.7
LATENCIES = (0, 1)


class Case(NamedTuple):
    """The script's work on each file, and the part of it that Stoker may keep."""
    name: str
    script: str
    options: tuple = ()
    filling: int = 1  # so many epochs, until there is no room for more


BYTES = Case("bytes only", "bytes")
ENTRIES = Case("decode and RandomResizedCrop, entries", "decode", ("--no-decode",))
FORMS = Case("decode and RandomResizedCrop, forms", "decode", filling=4)


class Data(NamedTuple):
    """A data set: where it is asked for, where it lies, and others to begin with."""
    asked: str
    lies: str
    few: str

    def sizes(self):
        return [os.path.getsize(os.path.join(top, name))
                for top, _, names in os.walk(self.lies) for name in names]


# ---- what other policies would come to ----

def hit_share_of_lru(count, kept, passes=20):
    """The part that an LRU serves of epochs in random order."""
    dice, held, hits = random.Random(1), {}, 0
    order = list(range(count))
    for each_pass in range(passes):
        dice.shuffle(order)
        for each in order:
            hits += each_pass > 0 and each in held
            held.pop(each, None)
            held[each] = True
            if len(held) > kept:
                held.pop(next(iter(held)))
    return hits / count / (passes - 1)


def mixed(share, held, missed):
    """The rate when so large a share goes at one rate and the rest at another."""
    return 1 / (share / held + (1 - share) / missed)


# ---- lanes: rates of the epochs that count ----

def later_epochs(script, data, filling=1):
    readers.forget(data.lies)
    return [script.epoch(data.asked) for _ in range(filling + COUNTED)][filling:]


def run_limited(case, data, prefix, room, filling=1):
    """In a cgroup that leaves so many bytes beside what the script needs."""
    with cgroup.Cgroup("stoker-bench") as group:
        with epochs.Script(group.prefix + prefix, epochs.SCRIPT, case.script, "224") as script:
            script.epoch(data.few)
            group.limit(group.peak() + MARGIN + room)
            return later_epochs(script, data, filling)


def stoker(case, data, budget, *options):
    return [ground.STOKER, "run", *case.options, *options, "--path", data.asked, "--tier",
            "/dev/shm:%d" % budget, "--"]


def run_ours(case, data, size):
    """Also: which share of the bytes the cache has served since it was first filled."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as summary:
        prefix = stoker(case, data, int(size / 2 * TIER_SHARE), "--json", summary.name)
        rates = run_limited(case, data, prefix, size // 2 + KEPT_FREE, case.filling)
        again = json.load(summary)["bytes_origin"] - size
    return rates, 1 - again / size / (case.filling + COUNTED - 1)


def run_held(case, data, size):
    with epochs.Script(stoker(case, data, size * 3), epochs.SCRIPT, case.script, "224") as script:
        return later_epochs(script, data)


def run_missed(case, data, size):
    """With what Stoker does for decoding, and next to nothing kept by anybody."""
    prefix = stoker(case, data, 4 << 20, "--decoded", "0")
    return run_limited(case, data, prefix, size // 16 + KEPT_FREE)


# ---- rows ----

def add_rows(table, case, data, latency, plain):
    what = "%s, %s: " % (case.name, "origin %g ms" % latency if latency else "local disk")
    sizes, kept = data.sizes(), TIER_SHARE / 2
    ours, served = run_ours(case, data, sum(sizes))
    held, missed = run_held(case, data, sum(sizes)), run_missed(case, data, sum(sizes))

    def row(peer, name):
        table.row(what + "later epochs", "images/s", [ours], [peer], peer_name=name, decimals=0,
                  compared=epochs.against([ours], [peer]))

    def policy(share):
        return [mixed(share, a, b) for a, b in zip(held, missed)]

    row(plain, "without, nothing kept" if latency else "without, page cache of half the data")
    row(policy(kept), "%g%% at hand, the rest from the origin (computed)" % (100 * kept))
    row(policy(hit_share_of_lru(len(sizes), int(len(sizes) * kept))), "LRU, as large (computed)")
    if case.filling == 1:
        table.row(what + "bytes from the cache", "%", [[100 * served]], [[100 * kept]], decimals=1,
                  peer_name="the tier's size against the data's")


def measure_at(table, cases, data, latency):
    plain = {}
    for case in cases:
        if case.script not in plain:
            plain[case.script] = run_limited(case, data, [], sum(data.sizes()) // 2)
        add_rows(table, case, data, latency, plain[case.script])


# ---- data ----

def copy_photograph(source, target, number):
    """Its bytes differ from those of other copies, in a comment: forms are found by content."""
    with open(source, "rb") as file:
        start, rest = file.read(2), file.read()
    with open(target, "wb") as file:
        file.write(start + b"\xff\xfe\x00\x04%02d" % number + rest)


def copy_photographs(directory, copies):
    photographs = epochs.get_photographs()
    for name in sorted(os.listdir(photographs)):
        os.makedirs(os.path.join(directory, name))
        for file in sorted(os.listdir(os.path.join(photographs, name))):
            for copy in copies:
                copy_photograph(os.path.join(photographs, name, file),
                                os.path.join(directory, name, "%d-%s" % (copy, file)), copy)


def make_photographs(directory):
    copy_photographs(os.path.join(directory, "all"), range(COPIES))
    few = os.path.join(directory, "few")
    copy_photographs(few, [0])  # the same bytes, or forms of other images would take some of the tier
    for name in sorted(os.listdir(few))[FEW * epochs.CLASSES // epochs.MOST_IMAGES:]:
        shutil.rmtree(os.path.join(few, name))


def make_files(directory):
    """For ImageFolder, which asks for names of images; they are not decoded."""
    for name, count in ("all", FILES), ("few", FEW):
        os.makedirs(os.path.join(directory, name))
        for path in ground.make_files(os.path.join(directory, name, "class"), count, FILE_BYTES):
            os.rename(path, path + ".jpg")


# ---- all of it ----

def measure_data(table, directory, make, cases):
    import slowfs
    make(directory)
    ground.let_age()
    for latency in LATENCIES:
        with slowfs.SlowFS(directory, latency_ms=latency) as slow:
            top = slow.mountpoint if latency else directory
            data = Data(os.path.join(top, "all"), *(os.path.join(directory, each)
                                                    for each in ("all", "few")))
            measure_at(table, cases, data, latency)


def measure():
    import slowfs
    table = Table("outgrown")
    try:
        with ground.scratch() as directory:
            measure_data(table, os.path.join(directory, "files"), make_files, (BYTES,))
            measure_data(table, os.path.join(directory, "photographs"), make_photographs,
                         (ENTRIES, FORMS))
    except (slowfs.SlowFSError, ImportError) as error:
        raise ground.Skip(str(error)) from error
    table.note("%d files of %d KB, and %d photographs; 2 workers; %d epochs of one start, behind"
               " the first, and with forms behind the fourth. Computed figures are made of two rates"
               " measured beside it: all of it at hand, and nothing. With Stoker the group is"
               " %d MiB larger: that is the least it keeps free, 2 GiB on a large machine."
               % (FILES, FILE_BYTES // 1000, 1000 * COPIES, COUNTED, KEPT_FREE >> 20))
    return table
