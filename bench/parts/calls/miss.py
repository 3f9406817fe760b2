"""The first time: a fill against a plain cold read, and the first call of a process."""

import ground
from measure import Table, in_us, times

STARTS = 12
FILES = 200
ONE_PASS = [ground.LOOP, "--cold", "--slices", "1", "--slice-ms", "0"]


def measure_fill(directory, paths, listed):
    """Plain reads, then fills of the same files, both once and from the disk's page cache."""
    def one_start():
        ground.warm(paths)
        lanes = ["libc:read:" + listed, "any:read:" + listed]
        printed, summary = ground.run_stoker(directory + "/data", "/dev/shm", ONE_PASS + lanes,
                                             keep=False)
        if summary["fills"] != len(paths):
            raise RuntimeError("%d fills of %d files" % (summary["fills"], len(paths)))
        ground.clear(directory + "/data")
        return ground.slices(printed)
    return ground.collect(times(STARTS), one_start)


def measure_first_call(directory, listed):
    """The very first open of a process, of a file that is cached."""
    def one_start():
        lanes = ["libc:open:" + listed, "any:open:" + listed]
        printed, _ = ground.run_stoker(directory + "/data", "/dev/shm", ONE_PASS + lanes)
        return ground.slices(printed)
    one_start()
    return ground.collect(times(30), one_start)


def measure():
    table = Table("miss")
    with ground.scratch() as directory:
        paths = ground.make_files(directory + "/data", FILES, 110 << 10)
        listed = ground.write_list(directory, "files", paths)
        one = ground.write_list(directory, "one", paths[:1])
        ground.let_age()
        plain, filled = measure_fill(directory, paths, listed)
        table.row("C: first open and read of 110 KB, disk to /dev/shm", "us", in_us(filled),
                  in_us(plain), peer_name="page cache of the disk, without the library",
                  decimals=1)
        plain, first = measure_first_call(directory, one)
        table.row("C: first covered open of a process (known file)", "us", in_us(first),
                  in_us(plain), kind="more", peer_name="first open without the library",
                  decimals=1)
        ground.clear(directory + "/data")
    return table
