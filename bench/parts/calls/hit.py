"""A hit against the same bytes elsewhere: open, fstat, read to the end, close."""

import os
import sys

import ground
from measure import Table, in_us, spread, times

SIZES = (("2 KB", 2 << 10, 400), ("16 KB", 16 << 10, 400), ("110 KB", 110 << 10, 400),
         ("1 MB", 1 << 20, 200))
STARTS = 9
PY_STARTS = 11
GOALS = {("shm", "110 KB"): 1.18, ("huge", "110 KB"): 1.0}
TIERS = {"shm": "/dev/shm", "huge": "tmpfs huge=within_size"}


class Files:
    """One size's files: at the origin, as plain files in the tier, and as entries there."""

    def __init__(self, directory, tier, name, size, count):
        key = name.replace(" ", "")
        self.name = name
        self.origin = os.path.join(directory, key)
        self.paths = ground.make_files(self.origin, count, size)
        self.on_disk = ground.write_list(directory, key + "-disk", self.paths)
        plain = ground.copy_files(self.paths, os.path.join(tier, "plain-" + key))
        self.plain = ground.write_list(directory, key + "-plain", plain)
        self.entries = os.path.join(directory, key + "-entries.list")


def fill(files, directory, tier):
    """Every file into the tier, and the names of the entries into lists."""
    origin_lists = [each.on_disk for each in files]
    lanes = ["any:read:" + path for path in origin_lists]
    ground.run_stoker(directory, tier, [ground.LOOP, "--slices", "1", "--slice-ms", "0"] + lanes)
    entries = ground.find_entries(tier)
    for each in files:
        own = [path for path in entries if "/" + os.path.basename(each.origin) + "/" in path]
        ground.warm(each.paths)
        ground.write_list(directory, os.path.basename(each.origin) + "-entries", own)


def measure_c(files, directory, tier):
    """For each size: from the disk's page cache, plain in the tier, hit; in each start in turn."""
    def one_start():
        found = []
        for each in files:
            lanes = ["libc:read:" + each.on_disk, "libc:read:" + each.plain,
                     "any:read:" + each.on_disk]
            printed, summary = ground.run_stoker(
                directory, tier, [ground.LOOP, "--slices", "10"] + lanes)
            ground.check_hits(summary, len(each.paths))
            found += ground.slices(printed)
        return found
    return ground.collect(times(STARTS), one_start)


def measure_python(files, directory, tier):
    """The same, without the library and with it in processes in turn."""
    python = [sys.executable, ground.LOOP_PY, "--slices", "8"]

    def one_start():
        lanes = ["read:" + path for each in files for path in (each.on_disk, each.plain)]
        bare = ground.slices(ground.run(python + lanes))
        lanes = ["read:" + each.on_disk for each in files]
        printed, _ = ground.run_stoker(directory, tier, python + lanes)
        hits = ground.slices(printed)
        return [lane for i, hit in enumerate(hits) for lane in (*bare[2 * i:2 * i + 2], hit)]
    return ground.collect(times(PY_STARTS), one_start)


def measure_open(files, directory, tier):
    """The time that a hit adds to opening the entry itself: open and close, nothing read."""
    def one_start():
        lanes = ["libc:open:" + files.entries, "any:open:" + files.on_disk]
        printed, _ = ground.run_stoker(directory, tier, [ground.LOOP, "--slices", "20"] + lanes)
        return ground.slices(printed)
    return ground.collect(times(15), one_start)


def measure_steps(files, directory, tier):
    """The steps of a hit, each alone, in ns."""
    def one_start():
        breakdown = os.path.join(ground.OUT, "breakdown")
        printed, _ = ground.run_stoker(directory, tier,
                                       ["env", "-u", "LD_PRELOAD", breakdown, files.on_disk])
        for line in printed.splitlines():
            name, *values = line.split()
            steps.setdefault(name, []).append([float(value) for value in values])
    steps = {}
    for _ in range(times(5)):
        one_start()
    return steps


def add_rows(table, files, lanes, language, tier):
    for i, each in enumerate(files):
        disk, plain, hit = lanes[3 * i:3 * i + 3]
        what = "%s: open, read %s, close; hit in %s" % (language, each.name, TIERS[tier])
        goal = GOALS.get((tier, each.name)) if language == "Python" else None
        table.row(what, "us", in_us(hit), in_us(disk), peer_name="page cache of the disk",
                  goal=goal)
        table.row(what, "us", in_us(hit), in_us(plain), peer_name="plain file in the same tmpfs")


def measure_tier(table, tier, tier_directory):
    with ground.scratch() as directory:
        files = [Files(directory, tier_directory, *size) for size in SIZES]
        ground.let_age()
        fill(files, directory, tier_directory)
        add_rows(table, files, measure_c(files, directory, tier_directory), "C", tier)
        add_rows(table, files, measure_python(files, directory, tier_directory), "Python", tier)
        if tier == "shm":
            middle = files[2]
            entry, hit = measure_open(middle, directory, tier_directory)
            table.row("C: open and close of a hit", "us", in_us(hit), in_us(entry), kind="more",
                      peer_name="open and close of the entry itself", goal=0.3)
            table.steps = {name: spread([sum(each) / len(each) for each in starts])
                           for name, starts in
                           measure_steps(middle, directory, tier_directory).items()}
        ground.clear(directory)


def measure():
    table = Table("hit")
    measure_tier(table, "shm", "/dev/shm")
    try:
        with ground.scratch("/dev/shm") as parent:
            with ground.huge_tmpfs(os.path.join(parent, "huge")) as huge:
                measure_tier(table, "huge", huge)
    except ground.Skip as reason:
        table.note("tmpfs huge=within_size is left out: %s" % reason)
    return table
