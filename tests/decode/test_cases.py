"""The random cases are what they are said to be: every kind is among them, and in the files."""
import collections
import itertools

import pytest

import cases
from cases import Case

ALL_CASES = [Case(seed) for seed in range(1, 10001)]  # what `make test-exact` runs
SLICE = [case for case in ALL_CASES[:400] if case.size[0] * case.size[1] < 100000]
CODINGS = ("baseline", "optimised", "progressive", "arithmetic", "arithmetic progressive")
# The markers of their frames; 0xC1 where the quality is so low that it takes large numbers.
FRAMES = {"baseline": (0xC0, 0xC1), "optimised": (0xC0, 0xC1), "progressive": (0xC2,),
          "arithmetic": (0xC9,), "arithmetic progressive": (0xCA,)}


def counted(values):
    return collections.Counter(values)


def test_every_coding_of_every_sampling():
    found = counted((case.kind["sampling"] or case.kind["mode"], case.kind["coding"])
                    for case in ALL_CASES)
    rare = {key: found[key] for key in itertools.product((*cases.SAMPLINGS, "grey", "rgb"), CODINGS)
            if found[key] < 25}
    assert not rare


def test_every_sampling_with_and_without_restarts_and_scans():
    for part in ("restart", "multiscan"):
        found = counted((case.kind["sampling"] or case.kind["mode"], case.kind[part])
                        for case in ALL_CASES)
        values = {case.kind[part] for case in ALL_CASES}
        rare = {key: found[key] for key in itertools.product(cases.SAMPLINGS, values)
                if found[key] < 8}
        assert len(values) > 1 and not rare


def test_every_quality():
    found = counted(case.kind["quality"] for case in ALL_CASES)
    assert set(found) == set(range(1, 101)) and min(found.values()) > 50


def test_sizes():
    found = counted(case.size for case in ALL_CASES)
    assert found[1, 1] >= 10 and found[3000, 2000] >= 10
    assert max(map(max, found)) == 3000 and (3000, 2000) in found
    assert sum(width * height > 1000000 for width, height in found.elements()) > 100
    odd = sum(width % 2 and height % 2 for width, height in found.elements())
    assert odd > 2000


def direction(inner, out):
    """Returns the direction of one axis: -1 smaller, 0 as it is, 1 larger."""
    return (out > inner) - (out < inner)


def test_every_filter_in_every_direction():
    found = counted(
        (case.filter, *(direction(*pair) for pair in zip(case.inner, case.out or case.inner)))
        for case in ALL_CASES)
    rare = {key: found[key] for key in itertools.product(cases.FILTERS, (-1, 0, 1), (-1, 0, 1))
            if found[key] < 10}
    assert not rare


@pytest.mark.parametrize("part,values,least", [
    ("flip", (0, 1, 2, 3), 1500), ("turn", range(8), 200), ("channels", (1, 3, 4), 500), ("planes", (True, False), 3000),
    ("floats", (True, False), 2500)])
def test_every_way_of_laying_out(part, values, least):
    found = counted(getattr(case, part) for case in ALL_CASES)
    assert set(found) == set(values) and min(found.values()) > least


def test_crops_boxes_and_windows():
    assert sum(case.crop != (0, 0) + case.size for case in ALL_CASES) > 6000
    assert sum(case.box is not None for case in ALL_CASES) > 2000
    assert sum(case.window is not None for case in ALL_CASES) > 2000


def segments(data):
    """{marker: [content...]} of what stands before the first scan's data, and of later tables."""
    found, at = collections.defaultdict(list), 2
    while data[at + 1] != 0xDA:
        size = int.from_bytes(data[at + 2:at + 4], "big")
        found[data[at + 1]].append(data[at + 4:at + 2 + size])
        at += 2 + size
    return found


def factors(frame):
    return ["%dx%d" % (each >> 4, each & 15) for each in frame[7::3]]


def wanted_factors(kind):
    if kind["mode"] == "grey":
        return None  # of one component they mean nothing
    return cases.SAMPLINGS[kind["sampling"]].split(",") if kind["sampling"] else ["1x1"] * 3


def test_files_are_of_the_kind_that_was_asked_for():
    for case in SLICE:
        data, kind = case.make(), case.kind
        found = segments(data)
        marker, = {0xC0, 0xC1, 0xC2, 0xC9, 0xCA} & found.keys()
        assert marker in FRAMES[kind["coding"]], case
        frame = found[marker][0]
        height, width = int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:5], "big")
        assert (width, height) == case.size, case
        assert wanted_factors(kind) in (None, factors(frame)), case
        assert frame[5] == (1 if kind["mode"] == "grey" else 3), case
        assert bool(kind["restart"]) == (0xDD in found), case
        assert (kind["mode"] == "rgb") == (bytes(frame[6::3]) == b"RGB"), case
        scans = data.count(b"\xff\xda")
        several = kind["multiscan"] and kind["mode"] == "color" or "progressive" in kind["coding"]
        assert (scans > 1) == several, case


def table_bytes(case, coding):
    case.kind = dict(case.kind, coding=coding)
    return sum(map(len, segments(case.make())[0xC4]))


def test_optimised_tables_are_the_files_own():
    some = [case for case in SLICE if case.kind["coding"] == "optimised"][:20]
    assert len(some) == 20
    for case in some:
        assert table_bytes(case, "optimised") < table_bytes(case, "baseline"), case
