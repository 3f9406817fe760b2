"""The version of a file that is seen: after every change, by every process, at every time. It is
seen under every freshness, with the file cached by every name it has. A model of a few lines
computes the promise (what a look must give). Looks are compared whole: contents, stat results,
errno.

    through the library, by whatever process: the next look sees it.
    behind its back: fresh=open sees it at the next look. fresh=run sees what changed before the run
    first asked, and after that keeps what it saw. fresh=never keeps what it saw for good.
"""

import contextlib
import itertools

import pytest

import matrix
from agent import Child
from changes import CHANGES, NAMES, Spot
from origin import settle
from slices import ALL
from volumes import mount_ext4

FRESH = ["run", "open", "never"]
# A process without the library; the one that looks; its child; one of another run at the same time.
WHO = ["behind", "self", "child", "other-run"]
# Between two runs; in a run that has not asked for the file yet; in one that has.
WHEN = ["between", "unvisited", "during"]

# These are answered from memory where the file is remembered; the rest is always the origin's.
REMEMBERED = ["open", "stat", "exists", "readable"]
REMEMBERED_OF_PLAIN = ["nofollow", "lstat"]  # the name itself is no link


def is_remembered(fresh, who, when):
    """The model: whether a look after the change gives what was seen before it."""
    if who != "behind" or fresh == "open":
        return False
    return fresh == "never" or when == "during"


def promised(fresh, who, when, name, old, new):
    """The sight that is promised of a name, of what was seen before and what is true now."""
    keys = []
    if is_remembered(fresh, who, when):
        keys = REMEMBERED + ([] if name == "link" else REMEMBERED_OF_PLAIN)
    return {**new.said, **{key: old.said[key] for key in keys}}


CASES = list(itertools.product(CHANGES, NAMES))  # each change and each name that the file is cached by


def cases_of(number):
    """Returns every other case of the table's row with this number, the others of the next row."""
    return CASES if ALL else [case for place, case in enumerate(CASES)
                              if (place // len(NAMES) + place + number) % 2]


def make_spots(place, root, cases):
    root.mkdir()
    mount_ext4(place, root, root.parent)
    spots = {(change, name): Spot(root / f"{change}-{name}") for change, name in cases}
    for spot in spots.values():
        Spot(place.path(spot.path)).make()
    settle()
    return spots


def visit(shim, spots):
    """Caches each spot's file by one of its names: what is seen."""
    seen = {}
    for (change, name), spot in spots.items():
        path = spot.name(name)
        shim.see(path)
        seen[change, name] = shim.see(path)
        assert seen[change, name].served["open"], path
    return seen


def doer(who, shim, plain, other):
    return {"behind": plain, "self": shim, "child": Child(shim), "other-run": other}[who]


def look(case, spot, old, shim, plain, promise):
    """Returns the differences between looks and promises, by the name that the file is cached by.
    By other names, of which nothing is remembered, a look must be true."""
    change, name = case
    found = []
    for other in [name, *(other for other in NAMES if other != name)]:
        path = spot.name(other)
        true, seen = plain.see(path), shim.see(path)
        expected = promise(name, old[case], true) if other == name else true.said
        wrong = [key for key in expected if seen.said[key] != expected[key]]
        found += [f"{change}, cached by {name}, {other}: {key} is {seen.said[key]}, promised"
                  f" {expected[key]}" for key in wrong]
    return found


@contextlib.contextmanager
def company(agents, root, fresh, who):
    """An agent without the library, and one of another run, where that has a part."""
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(agents.plain())
        other = None
        if who == "other-run":
            other = stack.enter_context(agents.shim(root, ["--keep", f"--fresh={fresh}"]))
        yield plain, other


def run_case(agents, place, root, cases, fresh, who, when):
    spots = make_spots(place, root, cases)
    flags = ["--keep", f"--fresh={fresh}"]

    def promise(name, old, new):
        return promised(fresh, who, when, name, old, new)

    def apply(shim, case):
        CHANGES[case[0]](doer(who, shim, plain, other), spots[case])

    wrong = []
    with company(agents, root, fresh, who) as (plain, other):
        with agents.shim(root, flags) as shim:
            old = visit(shim, spots)
            for case, spot in spots.items() if when == "during" else []:
                assert shim.see(spot.name(case[1])) == old[case]
                apply(shim, case)
                wrong += look(case, spot, old, shim, plain, promise)
            for case in spots if when == "between" else []:
                apply(shim, case)
        hits = shim.summary["hits"]
        settle()
        if when != "during":
            with agents.shim(root, flags) as shim:
                for case, spot in spots.items():
                    if when == "unvisited":
                        apply(shim, case)
                    wrong += look(case, spot, old, shim, plain, promise)
                settle()
                for case, spot in spots.items():
                    wrong += [f"later: {one}"
                              for one in look(case, spot, old, shim, plain, promise)]
    return wrong, hits


TABLE = list(itertools.product(FRESH, WHO, WHEN))
# Each freshness meets everybody at every time once, but not all of them in all of these.
SLICE = [(fresh, who, when) for fresh, who, when in TABLE
         if ALL or fresh == "run" and who in ("behind", "self") or
         (FRESH.index(fresh) + WHO.index(who) + WHEN.index(when)) % 3 == 0]


@pytest.mark.parametrize("fresh, who, when", SLICE)
def test_the_promised_version_is_seen(agents, place, scratch, fresh, who, when):
    cases = cases_of(SLICE.index((fresh, who, when)))
    wrong, hits = run_case(agents, place, scratch / "data", cases, fresh, who, when)
    assert not wrong, f"{len(wrong)} of {len(cases)} cases:\n" + "\n".join(wrong[:40])
    assert hits >= len(cases)
    matrix.record("Versions", f"changed {who}, {when}, --fresh {fresh}", "",
                  f"{len(CHANGES)} changes of files cached by {len(NAMES)} kinds of names", "same")
