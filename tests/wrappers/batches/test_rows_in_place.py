"""Rows in place: batches that were made where they lie equal torch's own, and no held part of them ever changes."""

import os
import subprocess
import sys

import pytest
from checkout import BUILD
from direct import run


@pytest.fixture(scope="module")
def expected(say):
    return dict(say("rows.py", batches=False))


@pytest.fixture(scope="module")
def ran(expected, tmp_path_factory):
    """Returns what the cases saw, and what was counted of each."""
    return run(tmp_path_factory.mktemp("run"), "rows.py", *expected)


@pytest.fixture(scope="module")
def seen(ran):
    return dict(ran[0])


def test_batches_are_the_same(seen, expected):
    assert list(seen) == list(expected)
    for name, said in seen.items():
        assert said == expected[name], name


def test_nothing_that_is_held_changes(seen):
    for name in ("kept", "some_kept", "views_kept", "bytes_kept"):
        assert all(same for _, same in seen[name]), name


def test_a_child_of_fork_sees_what_there_was(seen):
    assert "right" in str(seen["seen_by_a_child"]) and "wrong" not in str(seen["seen_by_a_child"])


PLANES = """
import random
import numpy
from stoker import _core
for dtype in numpy.uint8, numpy.float32:
    for count in (*range(200), 5000):
        pixels = numpy.frombuffer(random.randbytes(3 * count * numpy.dtype(dtype).itemsize), dtype).reshape(count, 3)
        planes = numpy.full((3, count + 1), 7, dtype).ravel()[:3 * count]
        _core.split(memoryview(planes).cast("B"), memoryview(pixels.ravel()).cast("B"), pixels.itemsize)
        assert planes.tobytes() == pixels.T.tobytes(), (dtype, count)
        assert (planes.base[3 * count:] == 7).all(), (dtype, count)
for wrong in (bytearray(6), bytes(9), 1), (bytearray(8), bytes(8), 1), (bytearray(6), bytes(6), 2):
    try:
        _core.split(*wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
"""


@pytest.mark.parametrize("simd", ["c", "avx2", "avx512"])
def test_planes_of_pixels(simd):
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "STOKER_SIMD": simd}
    subprocess.run([sys.executable, "-c", PLANES], env=environment, check=True)


# Each of 2 workers learns from its first batch, of 64 samples in 8 batches.
ROWS = {"to_tensor": 48, "last_is_smaller": 45, "two_views": 96, "changed_in_place": 48, "stream": 59, "given_later": 0,
        "views_kept": 0, "in_containers": 48, "bytes_": 48, "bytes_kept": 0, "bytes_changed_in_place": 0, "chain": 48,
        "one_by_one": 48, "by_batch": 48, "decoded_by_threads": 48, "the_same_twice": 48, "made_anew": 0,
        "collated_by_another": 0, "collated_inside": 48, "loader_inside": 96, "collated_for_all": 48,
        "seen_by_a_child": 48, "made_lazily": 0, "pairs_by_the_map": 0}


def test_how_many_are_made_in_place(ran):
    _, counted = ran
    assert {case: counted[case]["rows"] for case in ROWS} == ROWS
    assert [case for case in ROWS if counted[case]["slots"] == 0 or counted[case]["left"]] == []


def test_how_many_pickles_lie_in_slots(ran):
    _, counted = ran
    pickles, slots = ({case: counted[case][kind] for case in ("of_arrays", "of_images", "of_large_arrays", "of_several_arrays", "chain")}
                      for kind in ("pickles", "slots"))
    # The pipe takes what is sent before a slot is mapped: two batches for each of a few slots of two workers.
    assert all(64 - 2 * 8 <= pickles[case] < 64 for case in ("of_arrays", "of_images")) and pickles["chain"] == 0
    assert all(64 - 2 * 8 <= slots[case] < 64 for case in ("of_large_arrays", "of_several_arrays"))
    assert slots["of_arrays"] == slots["of_images"] == 0
    assert slots["chain"] == 8 and max(pickles["of_large_arrays"], pickles["of_several_arrays"]) <= 2 * 8
