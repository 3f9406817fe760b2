"""Runs the parts, keeps their figures in build/bench/PART.json, prints the table."""

import importlib
import json
import os
import sys
import time

import ground
import report
from parts import ASKED_FOR, MODULES


def measure(part):
    module = importlib.import_module(MODULES[part])
    start = time.monotonic()
    ground.say("%s: %s" % (part, module.__doc__.splitlines()[0]))
    try:
        figures = module.measure().as_json()
    except ground.Skip as reason:
        ground.say("%s is left out: %s" % (part, reason))
        return
    figures["seconds"] = time.monotonic() - start
    with open(os.path.join(ground.OUT, part + ".json"), "w") as file:
        json.dump(figures, file, indent=1)


def main():
    wanted = sys.argv[1:] or [part for part in MODULES if part not in ASKED_FOR]
    for part in wanted:
        if part not in MODULES:
            sys.exit("bench: no part %s; there are: %s" % (part, ", ".join(MODULES)))
    start = time.monotonic()
    for part in wanted:
        measure(part)
    report.print_table(ground.OUT, wanted)
    ground.say("%.0f s in all" % (time.monotonic() - start))


if __name__ == "__main__":
    main()
