"""Starts two ranks of a script, as torchrun does. It is for a PyTorch whose torchrun does not run
on the installed Python (1.13 on 3.11).

    launch.py SCRIPT ARGUMENTS...
"""

import os
import socket
import subprocess
import sys

RANKS = 2


def main(command):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable, *command], env={
        **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}) for rank in range(RANKS)]
    return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
