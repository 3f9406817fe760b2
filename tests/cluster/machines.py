"""Machines of a cluster: each has network, mounts, processes, name, /dev/shm and boot of its own.

    with Network() as network, Machine(network, 1, scratch) as machine:
        machine.run(["prog", "argument"])
"""

import os
import pathlib
import signal
import subprocess

from isolated import CLEAN
from lacking import Lacking

ADDRESS = "10.78.0.{}"


def holder(line, script):
    """A process that holds namespaces until its input ends. As the first one of a machine it has to wait for
    orphans: the shell does, while cat runs."""
    process = subprocess.Popen([*line, "sh", "-ec", f"{script}\necho ready; cat; true"], env=CLEAN,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if process.stdout.readline() != b"ready\n":
        raise Lacking(f"no namespaces of a machine: {process.communicate()[1].decode().strip()}")
    return process


def let_go(process):
    process.kill()
    process.communicate()


class Network:
    """A bridge that no other process of this computer sees."""

    def __enter__(self):
        self._holder = holder(["unshare", "-n"], "ip link add cluster type bridge; ip link set cluster up")
        self.enter = ["nsenter", "-t", str(self._holder.pid), "-n"]
        return self

    def __exit__(self, *_):
        let_go(self._holder)

    def plug(self, number, pid):
        """Gives the machine with that first process a network card."""
        for line in (f"link add port{number} type veth peer name eth0 netns {pid}",
                     f"link set port{number} master cluster", f"link set port{number} up"):
            subprocess.run([*self.enter, "ip", *line.split()], check=True)


class Machine:
    """A place, as Jobs wants one (isolated.py), that can be killed."""

    def __init__(self, network, number, scratch):
        self.network, self.number = network, number
        self.name, self.own = f"node{number}", pathlib.Path(scratch) / f"node{number}"

    def __enter__(self):
        own = self.own
        for name in ("glusterd", "log", "mount", "disk"):
            (own / name).mkdir(parents=True)
        (own / "boot").write_text(f"00000000-0000-0000-0000-{self.number:012}\n")
        (own / "hosts").write_text("127.0.0.1 localhost\n" + "".join(
            f"{ADDRESS.format(number)} node{number}\n" for number in range(1, 10)))
        mounts = "\n".join(["mount -t proc proc /proc", "mount -t tmpfs -o mode=1777,size=256m own /dev/shm",
                            "mount -t tmpfs own /run", f"mount --bind {own}/hosts /etc/hosts",
                            f"mount --bind {own}/boot /proc/sys/kernel/random/boot_id",
                            f"hostname {self.name}", "ip link set lo up"])
        self._holder = holder([*self.network.enter, "unshare", "-n", "-m", "-u", "-p", "-f", "--kill-child"],
                              mounts)
        children = pathlib.Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        self.pid = int(children.read_text().split()[0])
        self.network.plug(self.number, self.pid)
        self.run(["ip", "addr", "add", f"{ADDRESS.format(self.number)}/24", "dev", "eth0"])
        self.run(["ip", "link", "set", "eth0", "up"])
        return self

    def __exit__(self, *_):
        self.kill()
        let_go(self._holder)

    def kill(self):
        """Ends the machine as a power cut does: all of its processes at the same time."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def command(self, argv, env=None):
        variables = [f"{key}={value}" for key, value in {**CLEAN, **(env or {})}.items()]
        return ["nsenter", "-t", str(self.pid), "-n", "-m", "-u", "-p", "-r", "--", "env", "-C", "/", "-i",
                *variables, *map(str, argv)]

    def run(self, argv, env=None, check=True, timeout=120, **more):
        done = subprocess.run(self.command(argv, env), timeout=timeout, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)
        if check and done.returncode != 0:
            raise AssertionError(f"{argv} ended with {done.returncode}: {done.stdout} {done.stderr}")
        return done
