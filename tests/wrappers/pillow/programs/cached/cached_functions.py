"""Functions that note each of their calls in the file CALLS, for tests/wrappers/pillow/test_cached.py.

    cached_functions.py METHOD PROCESSES KEYS     each of the processes asks for each of the keys
"""

import multiprocessing
import os
import random
import sys
import time

import numpy

import stoker


def note(what):
    fd = os.open(os.environ["CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, f"{what}\n".encode())
    os.close(fd)


@stoker.cached
def slow(number):
    note(number)
    time.sleep(0.02)
    return {"number": number, "array": numpy.arange(number, number + 5000, dtype=numpy.float32),
            "pair": (b"bytes", [number] * 3)}


@stoker.cached
def fails(number):
    note(number)
    raise KeyError(number)


def ask(seed, keys):
    order = list(range(keys))
    random.Random(seed).shuffle(order)
    for number in order:
        found = slow(number)
        assert found["number"] == number and found["pair"] == (b"bytes", [number] * 3)
        assert (found["array"] == numpy.arange(number, number + 5000)).all()
        assert not found["array"].flags.writeable and found["array"].flags.aligned


def main():
    method, processes, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    context = multiprocessing.get_context(method)
    slow(0)  # the store is open when others are forked
    workers = [context.Process(target=ask, args=(seed, keys)) for seed in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    ask(99, keys)


if __name__ == "__main__":
    main()
