"""Six rounds of four processes that decode all JPEGs of a directory, each in an order of its own.
One of them is killed in the middle. Prints how many images were wrong, and the most that HOME held.
Usage: crowd.py DIRECTORY HOME BUDGET."""

import hashlib
import json
import os
import pathlib
import random
import signal
import sys
import time

from PIL import Image
from shares import taken_bytes


def digest(path):
    with Image.open(path) as image:
        return hashlib.blake2b(image.convert("RGB").tobytes(), digest_size=8).digest()


def decode(paths, expected, seed):
    """In a process of its own; its exit status says whether all was right."""
    order = random.Random(seed).sample(paths, len(paths))
    os._exit(any(digest(path) != expected[path] for path in order))


def start(paths, expected, seed):
    pid = os.fork()
    if pid == 0:
        decode(paths, expected, seed)
    return pid


def main():
    home = sys.argv[2]
    paths, dice = sorted(map(str, pathlib.Path(sys.argv[1]).iterdir())), random.Random(5)
    expected = {path: digest(path) for path in paths}
    wrong, most = 0, 0
    for number in range(6):
        pids = [start(paths, expected, 100 * number + i) for i in range(4)]
        time.sleep(dice.random() * 0.3)
        os.kill(pids[0], signal.SIGKILL)
        most = max(most, taken_bytes(home))
        os.waitpid(pids[0], 0)
        wrong += sum(os.waitpid(pid, 0)[1] != 0 for pid in pids[1:])
        most = max(most, taken_bytes(home))
    print(json.dumps([wrong, most]))


if __name__ == "__main__":
    main()
