"""Nodes with a shared tier, one after the other: how much of the data each still reads from the origin."""

import contextlib
import os
import pathlib
import sys
import zlib

import ground
from measure import QUICK, Table, times

sys.path += [os.path.join(ground.REPOSITORY, each) for each in ("tests/lib", "tests/lib/places", "tests/lib/storage")]

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "cluster_script.py")
LATENCY_MS = 1
FILES, SIZE = (600 if QUICK else 3000), 24 << 10
PROCESSES, NODES = 8, 3
STARTS = 3
FIRST_NODE, OTHER_NODES = 1.02, 0.02  # of the data


def make_nodes(stack, directory, count):
    from isolated import Isolated
    from nodes import Node
    places = [stack.enter_context(Isolated(shm_size="2g")) for _ in range(count)]
    return [Node(place, pathlib.Path(ground.BUILD), directory, number) for number, place in enumerate(places)]


def run_on(node, servers, paths, right, seed):
    """One epoch: the origin's bytes and opens, and what the summary says of the shared tier."""
    data, cache = servers
    with data.counting() as counted:
        ran = node.jobs.run(["/usr/bin/python3", SCRIPT, seed, PROCESSES, *paths], path=data.mountpoint,
                            flags=["--tier=/dev/shm:200M", "--tier=%s" % cache.mountpoint])
    assert int(ran.stdout) == right, "wrong bytes"
    ground.say("node: %.1f s, %d bytes from the origin, %d opens; %s" % (
        ran.json["seconds"], counted["read_bytes"], counted["open"], ran.json["shared"]))
    return counted["read_bytes"], counted["open"]


def one_start():
    """For each node's first epoch, then the first node's second: parts of the data read from the origin; opens."""
    import slowfs
    with ground.scratch() as name, contextlib.ExitStack() as stack:
        directory = pathlib.Path(name)
        sources = ground.make_files(name + "/data", FILES, SIZE)
        right = sum(zlib.crc32(pathlib.Path(each).read_bytes()) for each in sources)
        (directory / "cache").mkdir()
        servers = [stack.enter_context(slowfs.SlowFS(directory / each, name="server:/" + each, latency_ms=LATENCY_MS))
                   for each in ("data", "cache")]
        paths = [os.path.join(servers[0].mountpoint, os.path.basename(each)) for each in sources]
        nodes = make_nodes(stack, directory, NODES)
        ground.let_age()
        read = [run_on(node, servers, paths, right, seed) for seed, node in enumerate([*nodes, nodes[0]])]
    return [[each / (FILES * SIZE)] for each, _ in read] + [[each / FILES] for _, each in read]


def measure():
    import slowfs
    table = Table("cluster")
    try:
        lanes = ground.collect(times(STARTS), one_start)
    except slowfs.SlowFSError as error:
        raise ground.Skip(str(error)) from error
    bytes_, opens = lanes[:NODES + 1], lanes[NODES + 1:]
    table.note("%d files of %d KiB, %d processes a node, origin and shared tier at %d ms an operation; one node "
               "after the other" % (FILES, SIZE >> 10, PROCESSES, LATENCY_MS))
    table.row("first node's origin bytes, of the data", "x", bytes_[0], goal=FIRST_NODE)
    for number in range(1, NODES):
        table.row("node %d's origin bytes, of the data" % (number + 1), "x", bytes_[number], decimals=3, goal=OTHER_NODES)
        table.row("node %d's opens at the origin, a file" % (number + 1), "", opens[number])
    table.row("second epoch's origin bytes, in a new run", "x", bytes_[NODES], decimals=3, goal=0)
    return table
