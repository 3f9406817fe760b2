"""Reads files with the loaders, in the way and number of the plan, and prints the results.

    python -m loaders make TOP NAMES      makes the files of those of these cases that can be run here; NAMES is JSON
    python -m loaders read TOP PLAN       reads them; PLAN and what is printed are JSON

PLAN has
    cases      names
    passes     a list of "read", "count" (reads, and asks for the counters of each case), "drop" (every second entry
               goes) and "rain" (reads while entries keep vanishing)
    how        "main", "threads", or the name of a start method of multiprocessing
    counters   the program that prints a run's counters
Printed is a list with {"said": {case: {file: what came of it}}, "counts": {case or "": counters}}
for each pass that reads.
"""

import json
import os
import sys

from loaders import cases
from loaders.files import make_all
from loaders.reading import quiet, run


def main():
    quiet()
    with os.fdopen(os.dup(1), "w") as answer:
        os.dup2(2, 1)  # libraries print as they like
        if sys.argv[1] == "make":
            said = make_all(sys.argv[2], [cases[name] for name in json.loads(sys.argv[3])])
        else:
            said = run(sys.argv[2], json.loads(sys.argv[3]))
        json.dump(said, answer)


if __name__ == "__main__":
    main()
