"""Keeps numbered values in the store. Prints the result as JSON; with `wait` it then waits for the
end of its input. A value follows from its number. Usage: keep.py FIRST COUNT BYTES [wait]."""

import json
import os
import random
import sys


def value(number, most):
    dice = random.Random(number)
    return dice.randbytes(dice.randrange(most // 2, most))


def check(store, number, most):
    """Returns true if it is there; a value that is there must be right."""
    found = store.get(store.key(b"%d" % number))
    assert found is None or found == value(number, most), f"value {number} is wrong"
    return found is not None


def main():
    from stoker._store import samples
    first, count, most = map(int, sys.argv[1:4])
    store = samples.store()
    if store is None:
        print(json.dumps({"setting": os.environ.get("STOKER_DECODED"), "kept": None}))
        return
    numbers = range(first, first + count)
    before = sum(check(store, number, most) for number in numbers)
    kept = sum(store.put(store.key(b"%d" % number), value(number, most)) for number in numbers)
    store.flush()
    there = sum(check(store, number, most) for number in numbers)
    print(json.dumps({"setting": os.environ["STOKER_DECODED"], "before": before, "kept": kept,
                      "there": there, **store.counts()}), flush=True)
    if sys.argv[4:]:
        sys.stdin.read()


if __name__ == "__main__":
    main()
