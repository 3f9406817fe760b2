"""Every system call that the library makes for itself fails in turn. The program sees no trace of
it, and nothing wrong is ever in the cache. sweep.py does the work; to repeat one case:

    make test-faults T='open and cold' CASE='at 17 EIO'
"""

import json
import os
import pathlib
import platform
import sys

import pytest

import sweep
from matrix import record
from slices import ALL

PARTS = ["open", "stdio", "stat", "descriptor", "write", "streams", "names", "metadata", "children",
         "pointers", "list"]
STATES = ["cold", "warm", "known", "dropped", "forgotten", "replaced", "run", "full"]
DISK_STATES = ["disk", "booted"]  # a tier on a disk: empty, and from before the machine started
LIMIT = 150 if ALL else 20  # cases of each pair, besides those that halve a copy
SHIFT = int(os.environ.get("STOKER_SHIFT", "0"))  # other cases with another number
SLICE = {(part, STATES[(number + shift) % len(STATES)])
         for number, part in enumerate(PARTS) for shift in (0, 3)}
PAIRS = [(part, state) for part in PARTS for state in STATES if ALL or (part, state) in SLICE]
PAIRS += [(part, state) for part in (PARTS if ALL else PARTS[:1]) for state in DISK_STATES]
CASES = [case for case in os.environ.get("CASE", "").split(",") if case]

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64",
                                reason="tests/cache/faults/meddle.c knows the registers of x86-64 only")


def is_served(part, state, done):
    """Returns true if the cache had its part in it: later programs find it at work."""
    if part not in sweep.READERS or state == "full":
        return True
    return done["with_hits"] * 2 >= done["looks"]


@pytest.mark.parametrize("part, state", PAIRS)
def test_the_library_fails(place, build, scratch, part, state):
    script = pathlib.Path(sweep.__file__)
    argv = [sys.executable, "-B", script, build, scratch, part, state, LIMIT, SHIFT, *CASES]
    done = json.loads(place.run(argv, timeout=1200).stdout)
    for case, what in done["wrong"].items():
        print(f"CASE='{case}': {what}")
    assert not done["wrong"]
    assert done["calls"] > 50, done
    assert CASES or is_served(part, state, done), done
    record("Faults", f"{part}, {state}", "", f"{done['cases']} faults at {done['calls']} calls",
           "same")
