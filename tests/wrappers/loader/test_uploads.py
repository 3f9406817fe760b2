"""Checks the counters of uploads."""

import pytest


@pytest.fixture(scope="module")
def seen(say):
    return say("uploads.py")


def test_what_is_sent_is_counted(seen):
    assert seen["busy"] == {"uploads": 1, "upload_bytes": 96 + 8, "upload_float_bytes": 8,
                            "upload_unlocked_bytes": 8}


def test_sending_holds_up_who_has_nothing_else_to_do(seen):
    """And what torch has locked is not unlocked."""
    assert seen["idle"] == {"uploads": 1, "upload_bytes": 104, "upload_float_bytes": 8,
                            "upload_sending_ns": 10**9}


def test_a_batch_that_is_there_holds_nobody_up(seen):
    """Nor is the device asked for the time."""
    assert (seen["there"], seen["noted"]) == ({}, 0)


def test_how_long_a_batch_was_waited_for_is_counted_when_it_is_there(seen):
    assert seen["late"] == {}
    assert seen["arrived"] == {"upload_stalled_ns": 1001} and seen["both"] == {"upload_stalled_ns": 1002}
