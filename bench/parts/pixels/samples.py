"""The sample store: values a second that a node's processes put and get, and what is dropped."""

import os
import shutil

import ground
from measure import QUICK, Table, times

PROGRAM = os.path.join(ground.OUT, "samples")
STARTS = 5
BYTES = 100000  # the form of a photograph
VALUES = 1600 if QUICK else 8000  # of all processes together
PROCESSES = (1, 4, 16)
PACE_US = 2000  # what decoding takes of a core's time


def run(what, directory, processes, values, size, pace_us=0):
    """(a second, share that was dropped)"""
    printed = ground.run([PROGRAM, what, directory, str(processes), str(values), str(size),
                          str(pace_us)])
    seconds, written, found, dropped = map(float, printed.split())
    count = {"put": written, "get": found, "link": processes * values}[what]
    return count / float(seconds), dropped / (processes * values)


def measure_processes(table, processes):
    rates = {"put": [], "get": [], "link": [], "paced": []}
    dropped = []
    with ground.scratch("/dev/shm") as directory:
        for _ in range(times(STARTS)):
            store, each = os.path.join(directory, "store"), VALUES // processes
            rates["put"].append([run("put", store, processes, each, BYTES)[0]])
            rates["get"].append([run("get", store, processes, each, BYTES)[0]])
            shutil.rmtree(store)
            rate, share = run("put", store, processes, each, BYTES, PACE_US)
            rates["paced"].append([rate])
            dropped.append(share)
            shutil.rmtree(store)
            rates["link"].append([run("link", store, processes, each, 1)[0]])
            shutil.rmtree(store)
    many = "%d process%s" % (processes, "es" if processes > 1 else "")
    table.row("put 100 KB, %s" % many, "/s", rates["put"], decimals=0, per_us=True)
    table.row("put 100 KB each 2 ms, %s (%.1f%% dropped)" % (many, 100 * max(dropped)), "/s",
              rates["paced"], decimals=0)
    table.row("get 100 KB, %s" % many, "/s", rates["get"], decimals=0, per_us=True)
    table.row("link, %s" % many, "/s", rates["link"], decimals=0, per_us=True)


def measure():
    if not os.path.exists(PROGRAM):
        raise ground.Skip("the program was not built: liblmdb-dev")
    table = Table("samples")
    for processes in PROCESSES:
        measure_processes(table, processes)
    return table
