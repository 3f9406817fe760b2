"""Makes files, and reads one of them epoch by epoch, on order.

    python -m readers all TOP AT AGE         makes the files of all readers below TOP, and reads all of them
                                             below AT some seconds later; prints {name: why there is none, or
                                             null} and {name: {part: digest}}
    python -m readers read TOP NAME HOW      a line {"seed": N, "part": N, "again": bool} for each
                                             epoch; prints a digest of what was read

HOW is one of
    main        in this process
    threads     by eight threads, which share what is open
    own         by eight processes, each of which opens the file itself
    inherited   by eight processes, which got what is open by a fork
    loader      by torch's DataLoader with eight workers
A part N is each N-th item. With "again" what is open is opened anew. The digest depends on what is read, not on its order.
"""

import json
import os
import sys
import time

from readers import readers
from readers.reading import WAYS, make_all, path_of, read_all


def answer(to, said):
    to.write(json.dumps(said) + "\n")
    to.flush()


def read(top, name, how, to):
    reading = WAYS[how](readers[name], path_of(top, readers[name]))
    answer(to, "ready")
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["again"]:
            reading.open()
        answer(to, reading.epoch(asked["seed"], asked["part"]))


def main():
    with os.fdopen(os.dup(1), "w") as to:
        os.dup2(2, 1)  # libraries print as they like
        if sys.argv[1] == "all":
            missing = make_all(sys.argv[2])
            os.sync()
            time.sleep(float(sys.argv[4]))
            answer(to, [missing, read_all(sys.argv[3])])
        else:
            read(*sys.argv[2:], to)


if __name__ == "__main__":
    main()
