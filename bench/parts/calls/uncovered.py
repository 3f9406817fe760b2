"""The cost of calls that the library only passes on."""

import os

import ground
from measure import Table, in_us, times

STARTS = 11
FILES = 400
SMALL_TIER = "/dev/shm:2M"  # room for the catalogue, and for a few of the files


def measure_elsewhere(directory, absolute, relative):
    """Paths that are not covered, while another directory is."""
    environment = ground.covering(["/data/elsewhere"])
    command = [ground.LOOP, "--chdir", directory]
    lanes = [("open", "absolute", absolute), ("open", "relative", relative),
             ("stat", "absolute", absolute), ("stat", "relative", relative),
             ("statat", "", absolute), ("fstat", "", absolute)]
    for what, _, paths in lanes:
        command += ["%s:%s:%s" % (who, what, paths) for who in ("libc", "any")]
    found = ground.collect(times(STARTS), lambda: ground.slices(ground.run(command, environment)))
    return [(what, kind, found[2 * i], found[2 * i + 1])
            for i, (what, kind, _) in enumerate(lanes)]


def name_call(what, kind):
    if what == "fstat":
        return "fstat"
    if what == "statat":
        return "fstatat of a name in an open directory"
    return "%s of %s path" % ({"open": "open and close"}.get(what, what),
                              {"absolute": "an absolute", "relative": "a relative"}[kind])


def add_elsewhere(table, directory, absolute, relative):
    for what, kind, libc, ours in measure_elsewhere(directory, absolute, relative):
        far = kind == "relative" or what == "statat"
        table.row("C: uncovered: " + name_call(what, kind), "us", in_us(ours), in_us(libc),
                  kind="more", peer_name="without the library", goal=0.6 if far else 0.1,
                  decimals=3)


def measure_bypassed(directory, paths, tier, before, why):
    """Covered files that are known to be none of the cache's business."""
    def one_start():
        lanes = ["libc:open:" + paths, "any:open:" + paths]
        printed, summary = ground.run_stoker(directory + "/data", tier,
                                             [ground.LOOP] + before + lanes)
        bypassed = summary["bypassed"]
        if bypassed.get(why, 0) < FILES // 2:
            raise RuntimeError("these opens were not bypassed (%s): %s" % (why, bypassed))
        ground.clear(directory + "/data")
        return ground.slices(printed)
    return ground.collect(times(STARTS), one_start)


def add_bypassed(table, directory, paths):
    with open(paths) as file:
        last = ground.write_list(directory, "refused", file.read().splitlines()[FILES // 2:])
    libc, ours = measure_bypassed(directory, last, SMALL_TIER, ["--before", "any:open:" + paths],
                                  "budget")
    table.row("C: open of a file refused for want of budget", "us", in_us(ours), in_us(libc),
              kind="more", peer_name="without the library", decimals=3)
    libc, ours = measure_bypassed(directory, paths, "/dev/shm",
                                  ["--before", "any:write:" + paths], "written")
    table.row("C: open of a file written in this run", "us", in_us(ours), in_us(libc), kind="more",
              peer_name="without the library", decimals=3)


def measure():
    table = Table("uncovered")
    with ground.scratch() as directory:
        paths = ground.make_files(os.path.join(directory, "data"), FILES, 16 << 10)
        absolute = ground.write_list(directory, "absolute", paths)
        relative = ground.write_list(directory, "relative",
                                     [os.path.relpath(path, directory) for path in paths])
        ground.let_age()
        add_elsewhere(table, directory, absolute, relative)
        add_bypassed(table, directory, absolute)
    return table
