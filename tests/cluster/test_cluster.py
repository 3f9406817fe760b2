"""Three machines train with a tier on a real file system that they share."""

import contextlib
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import slowfs
from engines import ENGINES
from jobs import YOUNG, Jobs
from lacking import Lacking, is_administrator
from machines import ADDRESS, Machine, Network
from origin import Origin

pytestmark = [pytest.mark.usefixtures("as_root"), pytest.mark.torch]

NODES, COUNT, SIZE = 3, 240, 24 << 10
RANK = Path(__file__).parent / "rank.py"


class Cluster:
    """The machines, the data that all of them see, and the tier on what they share."""

    def __init__(self, origin, machines, engine, build, scratch):
        self.origin, self.machines, self.engine = origin, machines, engine
        self.jobs = [Jobs(machine, build, machine.own) for machine in machines]
        source, mount = origin.files("data", COUNT, SIZE)
        names = [f"file{number:04}" for number in range(COUNT)]
        self.mount, self.paths = mount, [mount / name for name in names]
        self.sums = scratch / "sums.json"
        self.sums.write_text(json.dumps([zlib.crc32((source / name).read_bytes()) for name in names]))

    def start(self, node, epoch):
        """A rank on that node. Returns the process and the path of its run's figures."""
        machine, figures = self.machines[node], self.machines[node].own / f"epoch{epoch}.json"
        meeting = {"MASTER_ADDR": ADDRESS.format(1), "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "eth0"}
        env = {**YOUNG, "RANK": node, "WORLD_SIZE": NODES, **meeting}
        line = self.jobs[node].command_line(
            [sys.executable, RANK, self.sums, epoch, *self.paths], self.mount,
            flags=["--tier=/dev/shm:64M", f"--tier={machine.own}/mount", f"--json={figures}"])
        return subprocess.Popen(machine.command(line, env), text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE), figures

    def end(self, started):
        process, figures = started
        out, said = process.communicate(timeout=180)
        assert process.returncode == 0 and int(out.splitlines()[-1]) == COUNT, out + said
        return json.loads(figures.read_text())["shared"]

    def epoch(self, epoch):
        """An epoch of all nodes, in new runs. Returns the origin's cost, and each run's figures."""
        with self.origin.fs.counting() as counted:
            ranks = [self.start(node, epoch) for node in range(NODES)]
            told = [self.end(rank) for rank in ranks]
        return counted, told


@contextlib.contextmanager
def made(kind, build, scratch):
    if not is_administrator():
        raise Lacking("no right to mount")
    (scratch / "data").mkdir()
    with slowfs.SlowFS(scratch / "data", binary=str(build / "slowfs"), name="server:/data", latency_ms=1) as data, \
            Network() as network, contextlib.ExitStack() as stack:
        machines = [stack.enter_context(Machine(network, number, scratch)) for number in range(1, NODES + 1)]
        yield Cluster(Origin(data), machines, ENGINES[kind](machines), build, scratch)


@pytest.mark.parametrize("kind", ENGINES)
def test_epochs(build, scratch, kind):
    """The nodes read the data from the origin once together, and in the next epoch nothing of it."""
    with made(kind, build, scratch) as cluster:
        counted, told = cluster.epoch(0)
        assert counted["read_bytes"] <= 1.02 * COUNT * SIZE
        assert sum(one["published"] for one in told) == COUNT
        counted, told = cluster.epoch(1)
        assert counted["read_bytes"] == 0 and sum(one["fetched"] for one in told) == COUNT
