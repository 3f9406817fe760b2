"""The machines train on while a part of their file system fails, and comes back.

Each epoch compares every byte. An epoch that ends while a server is stopped has not waited for it.
"""

import signal
import time

import pytest

from cluster import COUNT, NODES, made
from jobs import wait_for

pytestmark = [pytest.mark.usefixtures("as_root"), pytest.mark.torch]


@pytest.fixture
def cluster(build, scratch):
    """With GlusterFS, and all files in the tier."""
    with made("GlusterFS", build, scratch) as cluster:
        _, told = cluster.epoch(0)
        assert sum(one["published"] for one in told) == COUNT
        yield cluster


def is_served_whole(cluster, epoch):
    """Returns true if the nodes' next runs have all files from the tier, and none from the origin."""
    counted, told = cluster.apart(epoch)
    return counted["read_bytes"] == 0 and sum(one["fetched"] for one in told) == COUNT


def wait_for_the_tier(job, numbers):
    """Reads four files a second, until one comes from the tier."""
    wait_for(lambda: time.sleep(0.25) or job.read(next(numbers)) == 0)


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_brick_that_comes_back(cluster, how):
    """Meanwhile its part comes from the origin, and the runs that begin then end."""
    cluster.engine.signal_brick(cluster.machines[2], signal.SIGKILL if how == "killed" else signal.SIGSTOP)
    counted, told = cluster.apart(1)
    assert counted["read_bytes"] > 0 and sum(one["fetched"] for one in told if one) < COUNT
    if how == "killed":
        cluster.engine.restart_bricks()
    else:
        cluster.engine.signal_brick(cluster.machines[2], signal.SIGCONT)
    cluster.wait_until_all_read()
    assert is_served_whole(cluster, 2)


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_bricks_that_come_back_within_a_run(cluster, how):
    """The run takes the tier up again."""
    numbers = iter(range(COUNT))
    with cluster.reading(1) as job:
        assert job.read(next(numbers)) == 0
        for machine in cluster.machines:
            cluster.engine.signal_brick(machine, signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        assert all(job.read(next(numbers)) > 0 for _ in range(20))
        if how == "killed":
            cluster.engine.restart_bricks()
        else:
            for machine in cluster.machines:
                cluster.engine.signal_brick(machine, signal.SIGCONT)
        wait_for_the_tier(job, numbers)
        told = job.end()
    assert told["state"] == "well" and told["pauses"] > 0


def test_bricks_that_are_down_at_the_start(cluster):
    """The run begins without the tier, and takes it up when it is there."""
    numbers = iter(range(COUNT))
    for machine in cluster.machines:
        cluster.engine.signal_brick(machine, signal.SIGKILL)
    with cluster.reading(0) as job:
        assert job.read(next(numbers)) > 0
        cluster.engine.restart_bricks()
        wait_for_the_tier(job, numbers)
        assert job.end()["state"] == "well"


def test_a_node_that_is_killed(cluster):
    """Its processes and its brick end at once, while it reads. The others read on."""
    victim, _ = cluster.start(2, 1)
    ranks = [cluster.start(node, 1) for node in (0, 1)]
    cluster.machines[2].kill()
    for rank in ranks:
        cluster.end(rank)
    assert victim.wait(timeout=60) != 0
    victim.communicate()


def test_a_mount_that_takes_nothing(cluster):
    """A read-only mount gives all files. Without the mount the run goes on, and fills no disk below it."""
    machine = cluster.machines[2]
    machine.run(["umount", machine.own / "mount"])
    counted, told = cluster.apart(1, [2])
    assert counted["read_bytes"] > 0 and told == [None]
    assert machine.run(["ls", "-A", machine.own / "mount"]).stdout == ""
    machine.run(["mount", "-t", "glusterfs", "-o", "ro", "node1:/cache", machine.own / "mount"])
    counted, told = cluster.apart(2, [2])
    assert counted["read_bytes"] == 0 and told[0]["fetched"] == COUNT // NODES
    assert told[0]["published"] == told[0]["errors"] == 0


def test_bricks_that_are_full(build, scratch):
    """The files that they do not take come from the origin. With room, the next run puts them there."""
    with made("GlusterFS", build, scratch) as cluster:
        for machine in cluster.machines:
            cluster.engine.fill(machine)
        _, told = cluster.apart(0)
        assert sum(one["published"] for one in told) < COUNT
        for machine in cluster.machines:
            cluster.engine.empty(machine)
        cluster.apart(0)
        assert is_served_whole(cluster, 0)


