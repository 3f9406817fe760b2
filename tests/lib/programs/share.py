"""Reads a folder twice while it shares memory as training jobs do: torch tensors sent between
processes, multiprocessing's shared memory, and files in /dev/shm. Prints "well".

    share.py DIRECTORY COPY      COPY has the right bytes
"""

import multiprocessing
import os
import sys
from multiprocessing import shared_memory

import torch

MIB = 1 << 20


def child(queue, back):
    for tensor in iter(queue.get, None):
        back.put(int(tensor.sum()))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main(directory, copy):
    queue, back = torch.multiprocessing.SimpleQueue(), multiprocessing.SimpleQueue()
    process = torch.multiprocessing.Process(target=child, args=(queue, back))
    process.start()
    kept = []
    names = sorted(os.listdir(directory))
    for number, name in enumerate(names * 2):
        assert read(os.path.join(directory, name)) == read(os.path.join(copy, name)), name
        if number % 10 == 0:
            queue.put(torch.ones(MIB, dtype=torch.uint8))
            assert back.get() == MIB
        if number % (len(names) // 2) == 0:
            block = shared_memory.SharedMemory(create=True, size=6 * MIB)
            block.buf[:] = bytes(range(256)) * (6 * MIB // 256)
            kept.append(block)
    queue.put(None)
    process.join()
    for block in kept:
        assert bytes(block.buf[:256]) == bytes(range(256))
        block.close()
        block.unlink()
    print("well")


if __name__ == "__main__":
    main(*sys.argv[1:])
