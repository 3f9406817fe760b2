"""The index of the cache at the size of large data sets: bytes a file, refused files, searches.

Made-up files, without a tier behind them. Sizes that would take more than half of the memory that is
available are left out.
"""

import os

import ground
from measure import QUICK, Table

PROGRAM = os.path.join(ground.OUT, "many")
SIZES = (65536, 100000, 1281167, 14197122, 33000000, 50000000)
MOST_BYTES = 160


def available_bytes():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if "MemAvailable" in line)


def fitting():
    most = available_bytes() / 2 / MOST_BYTES
    return [size for size in SIZES if size <= (most if not QUICK else 1e6)]


def measure():
    if not os.path.exists(PROGRAM):
        raise ground.Skip("bench/programs/many.c was not built")
    table = Table("many")
    with ground.scratch("/dev/shm") as directory:
        lines = ground.run([PROGRAM, directory] + [str(size) for size in fitting()]).splitlines()
    for line in lines[1:]:
        files, now, most, refused, search, longest, maps = line.split()
        name = "%.2f million files: " % (int(files) / 1e6)
        table.row(name + "index, at its most since the line before", "B a file", [[float(most)]],
                  goal=MOST_BYTES, decimals=1)
        table.row(name + "refused", "files", [[float(refused)]], goal=0, decimals=0)
        table.row(name + "a search at random", "us", [[float(search) / 1e3]])
        table.row(name + "longest insertion", "ms", [[float(longest)]])
    table.note("a process maps the index of %s files with %s maps in all; it then takes %s bytes a "
               "file" % (files, maps, now))
    return table
