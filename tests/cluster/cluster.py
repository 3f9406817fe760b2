"""Three machines, the data that all of them see, and a tier on the file system that they share.

    with made("GlusterFS", build, scratch) as cluster:
        counted, figures = cluster.epoch(0)
"""

import contextlib
import json
import subprocess
import sys
import zlib
from pathlib import Path

import slowfs
from engines import ENGINES
from jobs import HOME, YOUNG, Jobs, wait_for
from lacking import Lacking, is_administrator
from machines import ADDRESS, Machine, Network
from origin import Origin

NODES, COUNT, SIZE = 3, 240, 24 << 10
RANK = Path(__file__).parent / "rank.py"

# Reads the file of each line of its input, and prints the sum of its bytes.
READING = "\n".join(["import sys, zlib", "print('begun', flush=True)", "for line in sys.stdin:",
                     "    print(zlib.crc32(open(line[:-1], 'rb').read()), flush=True)"])


class Reading:
    """A job on a node that reads the files that a test names, one after the other."""

    def __init__(self, cluster, process, figures):
        self._cluster, self._process, self._figures = cluster, process, figures
        assert process.stdout.readline() == "begun\n"

    def read(self, number):
        """Reads a file. Returns how many of its bytes came from the origin."""
        with self._cluster.origin.fs.counting() as counted:
            self._process.stdin.write(f"{self._cluster.paths[number]}\n")
            self._process.stdin.flush()
            assert int(self._process.stdout.readline()) == self._cluster.sums[number]
        return counted["read_bytes"]

    def end(self):
        """Ends the job. Returns the run's figures of the shared tier."""
        said = self._process.communicate(timeout=180)[1]
        assert self._process.returncode == 0, said
        return json.loads(self._figures.read_text())["shared"]


class Cluster:
    def __init__(self, origin, machines, engine, build, scratch):
        self.origin, self.machines, self.engine = origin, machines, engine
        self.jobs = [Jobs(machine, build, machine.own) for machine in machines]
        source, mount = origin.files("data", COUNT, SIZE)
        names = [f"file{number:04}" for number in range(COUNT)]
        self.mount, self.paths = mount, [mount / name for name in names]
        self.sums = [zlib.crc32((source / name).read_bytes()) for name in names]
        self._list = scratch / "sums.json"
        self._list.write_text(json.dumps(self.sums))

    def _line(self, node, argv, figures):
        return self.jobs[node].command_line(
            argv, self.mount, flags=["--tier=/dev/shm:64M", f"--tier=shared:{self.machines[node].own}/mount",
                                     f"--json={figures}"])

    def start(self, node, epoch, together=False):
        """A rank on that node, which may be one job with the others. Returns the process and the path of its
        run's figures."""
        figures = self.machines[node].own / f"epoch{epoch}.json"
        meeting = {"MASTER_ADDR": ADDRESS.format(1), "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "eth0"}
        env = {**YOUNG, "RANK": node, "WORLD_SIZE": NODES, **(meeting if together else {})}
        line = self._line(node, [sys.executable, RANK, self._list, epoch, *self.paths], figures)
        return subprocess.Popen(self.machines[node].command(line, env), text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE), figures

    def end(self, started, right=COUNT // NODES):
        """Waits for a rank, which counts so many files as right. Returns the run's figures of the
        shared tier."""
        process, figures = started
        out, said = process.communicate(timeout=180)
        assert process.returncode == 0 and int(out.splitlines()[-1]) == right, out + said
        return json.loads(figures.read_text())["shared"]

    def epoch(self, epoch):
        """An epoch of all nodes as one job, in new runs. Returns the origin's cost, and each run's figures."""
        with self.origin.fs.counting() as counted:
            ranks = [self.start(node, epoch, together=True) for node in range(NODES)]
            told = [self.end(rank, COUNT) for rank in ranks]
        return counted, told

    def apart(self, epoch, nodes=range(NODES)):
        """As epoch(), of ranks that know nothing of each other."""
        with self.origin.fs.counting() as counted:
            ranks = [self.start(node, epoch) for node in nodes]
            told = [self.end(rank) for rank in ranks]
        return counted, told

    @contextlib.contextmanager
    def reading(self, node):
        """A Reading on that node, which reads nothing else ahead."""
        figures = self.machines[node].own / "reading.json"
        line = self._line(node, [sys.executable, "-SEBc", READING], figures)
        with self.jobs[node].started(line, env={"STOKER_AHEAD": "off"}) as process:
            yield Reading(self, process, figures)

    def can_read_all(self, node):
        """Returns true if that node gets each entry of the tier by its mount."""
        home = self.machines[node].own / "mount" / HOME / "shared"
        line = f"find {home} -type f -exec cat {{}} + | wc -c"
        read = self.machines[node].run(["sh", "-c", line], check=False).stdout
        return int(read) > COUNT * SIZE

    def wait_until_all_read(self):
        for node in range(NODES):
            wait_for(lambda node=node: self.can_read_all(node))


@contextlib.contextmanager
def made(kind, build, scratch):
    if not is_administrator():
        raise Lacking("no right to mount")
    (scratch / "data").mkdir()
    with slowfs.SlowFS(scratch / "data", binary=str(build / "slowfs"), name="server:/data", latency_ms=1) as data, \
            Network() as network, contextlib.ExitStack() as stack:
        machines = [stack.enter_context(Machine(network, number, scratch)) for number in range(1, NODES + 1)]
        yield Cluster(Origin(data), machines, ENGINES[kind](machines), build, scratch)
