"""Opens an LMDB database for reading, and prints its last value for each line of input.

    follow_lmdb.py PATH LOCK HOW     LOCK is 0 or 1; HOW is main, fork or spawn: which process reads
"""

import multiprocessing
import os
import sys

import lmdb


def last_of(base):
    try:
        with base.begin() as reading:
            return reading.get(b"last").decode()
    except (lmdb.Error, AttributeError) as error:
        return repr(error)


def follow(pipe, path, lock, parents):
    """Answers each question in a transaction of its own. Closes the parent's end of the pipe first."""
    if parents is not None:
        parents.close()
    with lmdb.open(path, readonly=True, lock=lock, subdir=os.path.isdir(path)) as base:
        pipe.send("ready")
        while pipe.recv():
            pipe.send(last_of(base))


def main():
    path, lock, how = sys.argv[1:]
    world = multiprocessing.get_context("spawn" if how == "spawn" else "fork")
    ours, theirs = world.Pipe()
    reader = (multiprocessing.dummy if how == "main" else world).Process(
        target=follow, args=(theirs, path, lock == "1", None if how == "main" else ours))
    reader.start()
    if how != "main":
        theirs.close()
    print(ours.recv(), flush=True)
    for _ in sys.stdin:
        ours.send(True)
        print(ours.recv(), flush=True)
    ours.send(False)
    reader.join()


if __name__ == "__main__":
    import multiprocessing.dummy
    main()
