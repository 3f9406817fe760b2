"""Decoding against other libraries, each in a process of its own, in turn.

One core, one thread each. The bench has each process go through all photographs once, one process
after the other, forwards and backwards in turn. Only the processor time of a pass counts.
"""

from collections import namedtuple

import ground
from measure import QUICK, Table, ratio, times
from parts.pixels.decode import SIZES, photographs
from peers.company import VENV, Company, company

STARTS = 1 if QUICK else 4
TURNS = 5
MEASURED = SIZES[1:2] if QUICK else SIZES
GOALS_AT = 75  # kilobytes

# Process and job. `same`: "same" pixels as ours; "near", of the same region, so that their mean
# shows whether the same was done; None: it draws crops of its own. `goal`: we are at least so many
# times as fast.
Lane = namedtuple("Lane", "process job same name goal", defaults=("near", "", None))
Row = namedtuple("Row", "what ours peers")

ROWS = (
    Row("decode, stoker.decode", Lane("ours", "decode"), (
        Lane("Pillow", "decode", "same"),
        Lane("Pillow of this Debian", "decode", "same"),
        Lane("Pillow-SIMD", "decode"),
        Lane("OpenCV", "decode"),
        Lane("simplejpeg", "decode", "same"),
        Lane("torchvision.io", "decode", "same"),
        Lane("DALI", "decode"),
        Lane("FFCV", "decode"))),
    Row("decode, RandomResizedCrop(224), stoker.decode", Lane("ours", "crop"), (
        Lane("Pillow", "crop", "same", goal=3.5),
        Lane("Pillow of this Debian", "crop"),
        Lane("Pillow-SIMD", "crop"),
        Lane("OpenCV", "crop", "near", "OpenCV linear", 2),
        Lane("OpenCV", "crop_area", "near", "OpenCV area"),
        Lane("torchvision.io", "crop"),
        Lane("DALI", "crop", goal=3.5),
        Lane("FFCV", "crop", None, goal=3.5))),
    Row("decode, Resize(256), CenterCrop(224), stoker.transforms", Lane("ours", "center"), (
        Lane("Pillow", "center", "same"),
        Lane("Pillow of this Debian", "center"),
        Lane("Pillow-SIMD", "center"),
        Lane("OpenCV", "center", "near", "OpenCV linear"),
        Lane("OpenCV", "center_area", "near", "OpenCV area"),
        Lane("torchvision.io", "center"),
        Lane("DALI", "center"),
        Lane("FFCV", "center"))),
    Row("to normalised float, stoker.decode", Lane("ours", "tensor"), (
        Lane("torchvision", "v1", None, "torchvision v1"),
        Lane("torchvision.io", "tensor", None, "torchvision.io and v2"),
        Lane("DALI", "tensor"),
        Lane("FFCV", "tensor", None))),
    Row("to normalised float, stoker.transforms", Lane("ours", "transforms"), (
        Lane("torchvision", "v1", "same", "torchvision v1", 3.5),
        Lane("torchvision", "v2", None, "torchvision v2"))),
    Row("to normalised float, torchvision v1 under stoker run", Lane("torchvision, hooked", "v1"), (
        Lane("torchvision", "v1", "same", "torchvision v1", 3),)),
    Row("to normalised float, torchvision v2 under stoker run", Lane("torchvision, hooked", "v2"), (
        Lane("torchvision", "v2", "same", "torchvision v2", 2.5),)),
    Row("to normalised float, torchvision v1 under stoker run --no-torchvision",
        Lane("torchvision, only images hooked", "v1"), (
            Lane("torchvision", "v1", "same", "torchvision v1"),)),
    Row("to normalised float, torchvision v2 under stoker run --no-torchvision",
        Lane("torchvision, only images hooked", "v2"), (
            Lane("torchvision", "v2", "same", "torchvision v2"),)),
    Row("decode, RandomResizedCrop(224), stoker.decode, Huffman by libjpeg-turbo",
        Lane("ours on libjpeg", "crop"), (
            Lane("Pillow", "crop", "same", goal=2),
            Lane("OpenCV", "crop", "near", "OpenCV linear", 1.1))),
    Row("to normalised float, stoker.transforms, Huffman by libjpeg-turbo",
        Lane("ours on libjpeg", "transforms"), (
            Lane("torchvision", "v1", "same", "torchvision v1", 2),)),
    Row("to normalised float, torchvision v1 under stoker run, Huffman by libjpeg-turbo",
        Lane("torchvision, hooked on libjpeg", "v1"), (
            Lane("torchvision", "v1", "same", "torchvision v1", 1.8),)),
    Row("to normalised float, torchvision v2 under stoker run, Huffman by libjpeg-turbo",
        Lane("torchvision, hooked on libjpeg", "v2"), (
            Lane("torchvision", "v2", "same", "torchvision v2", 1.6),)),
    Row("decode, stoker.decode, from forms", Lane("ours, later", "decode"), (
        Lane("Pillow", "decode", "same"),
        Lane("OpenCV", "decode"),
        Lane("torchvision.io", "decode", "same"),
        Lane("DALI", "decode"),
        Lane("FFCV", "decode"))),
    Row("decode, RandomResizedCrop(224), stoker.decode, from forms", Lane("ours, later", "crop"), (
        Lane("Pillow", "crop", "same", goal=6),
        Lane("OpenCV", "crop", "near", "OpenCV linear", 3.5),
        Lane("DALI", "crop", goal=6),
        Lane("FFCV", "crop", None, goal=6))),
    Row("to normalised float, stoker.decode, from forms", Lane("ours, later", "tensor"), (
        Lane("torchvision", "v1", None, "torchvision v1"),
        Lane("DALI", "tensor"),
        Lane("FFCV", "tensor", None))),
    Row("to normalised float, stoker.transforms, from forms", Lane("ours, later", "transforms"), (
        Lane("torchvision", "v1", "same", "torchvision v1", 5),
        Lane("torchvision", "v2", None, "torchvision v2"))),
    Row("to normalised float, torchvision v1 under stoker run, from forms",
        Lane("torchvision, hooked, later", "v1"), (
            Lane("torchvision", "v1", "same", "torchvision v1", 4),)),
    Row("to normalised float, torchvision v2 under stoker run, from forms",
        Lane("torchvision, hooked, later", "v2"), (
            Lane("torchvision", "v2", "same", "torchvision v2", 3.5),)),
    Row("decode, RandomResizedCrop(224), stoker.decode, with AVX2", Lane("ours with AVX2", "crop"), (
        Lane("Pillow", "crop", "same", goal=3.5),
        Lane("OpenCV", "crop", "near", "OpenCV linear", 2))),
    Row("decode, RandomResizedCrop(224), stoker.decode, with AVX2, from forms",
        Lane("ours with AVX2, later", "crop"), (
            Lane("Pillow", "crop", "same", goal=6),
            Lane("OpenCV", "crop", "near", "OpenCV linear", 3.5))),
)


# ---- the same was done ----

def check(found, kilobytes):
    for row in ROWS:
        ours = found.ask(row.ours, "check", kilobytes)
        for lane in row.peers if ours else ():
            theirs = found.ask(lane, "check", kilobytes)
            if theirs:
                compare(row, lane, ours.split(), theirs.split())


def compare(row, lane, ours, theirs):
    if lane.same == "same" and ours[0] != theirs[0]:
        raise RuntimeError("%s: %s gives other pixels" % (row.what, lane.process))
    unit = 1 if float(ours[1]) < 10 else 255  # of floats, some two standard deviations
    if lane.same == "near" and abs(float(ours[1]) - float(theirs[1])) > 0.01 * unit:
        raise RuntimeError("%s: %s does something else: mean %s instead of %s"
                           % (row.what, lane.process, theirs[1], ours[1]))


# ---- measuring ----

def all_lanes():
    """Each once, the order kept."""
    lanes = [lane for row in ROWS for lane in (row.ours, *row.peers)]
    return list({(lane.process, lane.job): lane for lane in lanes}.values())


def measure_start(found, kilobytes, starts):
    lanes = all_lanes()
    slices = {(lane.process, lane.job): [] for lane in lanes}
    for turn in range(times(TURNS)):
        for lane in lanes if turn % 2 == 0 else reversed(lanes):
            answer = found.ask(lane, "pass", kilobytes)
            if answer:
                slices[lane.process, lane.job].append(float(answer))
    for key, each in slices.items():
        starts.setdefault((kilobytes, *key), []).append(each)


def measure_all():
    """For each size and lane: starts, each of slices of nanoseconds per photograph."""
    starts, versions = {}, {}
    for _ in range(STARTS):
        with company() as found:
            for kilobytes, _ in MEASURED:
                check(found, kilobytes)
                measure_start(found, kilobytes, starts)
            versions.update({name: each.version for name, each in found.workers.items()})
    return starts, versions


def rates(starts):
    return [[1e9 / ns for ns in slices] for slices in starts]


def name_of(lane, versions):
    name = lane.name or lane.process
    return "%s (%s)" % (name, versions[lane.process])


def add_row(table, row, kilobytes, starts, versions):
    ours = starts.get((kilobytes, row.ours.process, row.ours.job))
    for lane in row.peers:
        theirs = starts.get((kilobytes, lane.process, lane.job))
        if not ours or not theirs or not all(ours) or not all(theirs):
            continue
        table.row("%d KB, %s" % (kilobytes, row.what), "images/s", rates(ours), rates(theirs),
                  peer_name=name_of(lane, versions), decimals=0, at_least=True,
                  goal=lane.goal if kilobytes == GOALS_AT else None,
                  compared=ratio(rates(ours), rates(theirs)), per_us=True)


def measure():
    if not VENV:
        raise ground.Skip("it takes other libraries: make bench-peers installs them")
    for kilobytes, pixels in SIZES:
        photographs(kilobytes, pixels)
    ground.one_core()
    table = Table("peers")
    starts, versions = measure_all()
    for row in ROWS:
        for kilobytes, _ in MEASURED:
            add_row(table, row, kilobytes, starts, versions)
    table.note("Left out here: " + "; ".join("%s: %s" % each for each in Company.said.items())
               if Company.said else "Nothing was left out.")
    return table
