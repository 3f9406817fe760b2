"""File systems that machines share: GlusterFS with a brick on each, sshfs with the files on the first."""

import os
import shutil
import subprocess

from jobs import wait_for
from lacking import Lacking

BRICK_MB = 96
SFTP = "/usr/lib/openssh/sftp-server"


def need(program):
    if shutil.which(program) is None and not os.path.exists(program):
        raise Lacking(f"{program} is not installed")


class Gluster:
    """A volume whose files are spread over bricks, one on a disk of each machine. No brick has a copy."""

    def __init__(self, machines):
        for program in ("glusterd", "gluster", "mkfs.ext4"):
            need(program)
        self.machines = machines
        for machine in machines:
            self._prepare(machine)
        for machine in machines[1:]:
            wait_for(lambda name=machine.name: self.tell("peer", "probe", name) == 0)
        wait_for(lambda: self.say("peer", "status").count("(Connected)") == len(machines) - 1)
        bricks = [f"{machine.name}:{machine.own}/disk/brick" for machine in machines]
        assert self.tell("volume", "create", "cache", *bricks, "force") == 0
        # A client leaves a brick alone after so long. No test lasts that long, so a job that ends has not waited.
        assert self.tell("volume", "set", "cache", "network.ping-timeout", "600") == 0
        wait_for(lambda: self.tell("volume", "start", "cache") == 0)
        for machine in machines:
            machine.run(["mount", "-t", "glusterfs", f"{machine.name}:/cache", machine.own / "mount"])

    def _prepare(self, machine):
        image = machine.own / "image"
        with open(image, "wb") as file:
            file.truncate(BRICK_MB << 20)
        subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], check=True)
        machine.run(["mount", "-o", "loop", image, machine.own / "disk"])
        for own, usual in (("glusterd", "/var/lib/glusterd"), ("log", "/var/log/glusterfs")):
            machine.run(["mount", "--bind", machine.own / own, usual])
        machine.run(["mkdir", "-p", "/run/gluster"])
        machine.run(["glusterd"])

    def signal_brick(self, machine, number):
        """Sends the machine's brick a signal."""
        found = machine.run(["pgrep", "glusterfsd"]).stdout.split()
        machine.run(["kill", f"-{int(number)}", *found])

    def restart_bricks(self):
        """Starts those that have ended."""
        assert self.tell("volume", "start", "cache", "force") == 0

    def fill(self, machine):
        """Takes all room of the machine's brick."""
        machine.run(["sh", "-c", f"cat /dev/zero >{machine.own}/disk/filler; true"])

    def empty(self, machine):
        machine.run(["rm", f"{machine.own}/disk/filler"])

    def _gluster(self, *arguments):
        return self.machines[0].run(["gluster", "--mode=script", *arguments], check=False)

    def tell(self, *arguments):
        return self._gluster(*arguments).returncode

    def say(self, *arguments):
        return self._gluster(*arguments).stdout


class Sshfs:
    """A directory of the first machine, which the others mount. No cipher: the network is a test's own."""

    def __init__(self, machines):
        for program in ("sshfs", SFTP, "socat"):
            need(program)
        machines[0].run(["mkdir", machines[0].own / "disk/files"])
        self._server = subprocess.Popen(machines[0].command(
            ["socat", "TCP-LISTEN:2222,fork,reuseaddr", f"EXEC:{SFTP}"]), stdin=subprocess.DEVNULL)
        for machine in machines:
            line = ["sshfs", "-o", "directport=2222", f"node1:{machines[0].own}/disk/files", machine.own / "mount"]
            wait_for(lambda machine=machine, line=line: machine.run(line, check=False).returncode == 0)


ENGINES = {"GlusterFS": Gluster, "sshfs": Sshfs}
