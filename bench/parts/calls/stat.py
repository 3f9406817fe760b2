"""stat of a known file through the library against a local stat."""

import sys

import ground
from measure import Table, in_us, times

STARTS = 11
FILES = 400


def measure_c(directory, paths):
    def one_start():
        lanes = ["%s:%s:%s" % (who, what, paths) for what in ("stat", "fstat")
                 for who in ("libc", "any")]
        printed, summary = ground.run_stoker(
            directory + "/data", "/dev/shm", [ground.LOOP, "--before", "any:open:" + paths] + lanes)
        if summary["stats_served"] < FILES:
            raise RuntimeError("stat was not answered from the catalogue")
        return ground.slices(printed)
    return ground.collect(times(STARTS), one_start)


def measure_python(directory, paths):
    python = [sys.executable, ground.LOOP_PY, "stat:" + paths]

    def one_start():
        printed, _ = ground.run_stoker(directory + "/data", "/dev/shm", python)
        return ground.slices(ground.run(python)) + ground.slices(printed)
    return ground.collect(times(STARTS), one_start)


def measure():
    table = Table("stat")
    with ground.scratch() as directory:
        paths = ground.make_files(directory + "/data", FILES, 4096)
        listed = ground.write_list(directory, "files", paths)
        ground.let_age()
        stat, known, fstat, fstat_entry = measure_c(directory, listed)
        table.row("C: stat of a known file", "us", in_us(known), in_us(stat), goal=0.1,
                  peer_name="stat on the local disk", decimals=3)
        table.row("C: fstat of a served descriptor", "us", in_us(fstat_entry), in_us(fstat),
                  kind="more", peer_name="fstat on the local disk")
        bare, known = measure_python(directory, listed)
        table.row("Python: os.stat of a known file", "us", in_us(known), in_us(bare),
                  peer_name="os.stat on the local disk")
        ground.clear(directory + "/data")
    return table
