"""Random 100 KB preads of a big file: from blocks, from its entry, from the same bytes elsewhere."""

import os
import sys

import ground
from measure import Table, in_us, times

STARTS = 9
MB = 1 << 20
SIZE = 96 * MB  # above STOKER_MAX_FILE
TIER = "/dev/shm:300M"

# The last block is not asked for in the first lane, so that the file does not become an entry.
READER = """
import os, random, sys, time
fd, size = os.open(sys.argv[1], os.O_RDONLY), int(sys.argv[2])
draw = random.Random(5)
places = [draw.randrange(0, size - 100000) for _ in range(200)]
for at in range(0, size, 1 << 20):
    os.pread(fd, 1 << 20, at)
for _ in range(10):
    begun = time.perf_counter_ns()
    for at in places:
        os.pread(fd, 100000, at)
    print((time.perf_counter_ns() - begun) / len(places), end=" ")
print()
"""


def one_start(path, plain):
    def read(of, size):
        return [sys.executable, "-c", READER, of, str(size)]
    ground.clear()
    part = SIZE - 2 * MB
    environment = ground.covering([os.path.dirname(path)], TIER)
    printed = [ground.run(read(path, part)), ground.run(read(plain, part)),
               ground.run(read(path, part), environment)]
    ground.run(read(path, SIZE), environment)  # the rest, with which it becomes an entry
    printed.append(ground.run(read(path, part), environment))
    return ground.slices("".join(printed))


def measure():
    table = Table("big")
    with ground.scratch() as directory:
        path = ground.make_files(os.path.join(directory, "data"), 1, SIZE)[0]
        plain = ground.copy_files([path], "/dev/shm/plain")[0]
        ground.let_age()
        disk, memory, blocks, entry = ground.collect(times(STARTS),
                                                     lambda: one_start(path, plain))
    table.row("Python: pread of 100 KB, in blocks", "us", in_us(blocks), in_us(memory),
              peer_name="plain file in the tier")
    table.row("Python: the same, of a file that is whole", "us", in_us(entry), in_us(memory),
              peer_name="plain file in the tier")
    table.row("Python: in blocks", "us", in_us(blocks), in_us(disk),
              peer_name="page cache of the disk")
    return table
