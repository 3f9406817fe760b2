"""stoker.Loader(paths, decode="nvjpeg") with the driver and the nvJPEG of tests/cuda: what arrives, what the
processor decodes, what goes wrong."""

import pytest

CALLS = {  # of nvJPEG, in a pass, and its beginning and end
    "nvjpegCreateEx", "nvjpegDestroy", "nvjpegJpegStateCreate", "nvjpegJpegStateDestroy",
    "nvjpegJpegStreamCreate", "nvjpegJpegStreamDestroy", "nvjpegJpegStreamParseHeader",
    "nvjpegJpegStreamGetFrameDimensions", "nvjpegDecodeBatchedSupported", "nvjpegDecodeBatchedInitialize",
    "nvjpegDecodeBatched", "cuEventRecord", "cuEventSynchronize", "cuEventCreate"}
CASES = ("without_resizing_pixels_are_equal", "resized_pixels_are_a_level_off",
         "filters_that_torch_lacks_are_the_processors", "transforms_that_are_not_known_are_the_processors",
         "the_engine_is_named", "late_batches", "files_are_held_until_their_batch_is_out",
         "files_that_cannot_be_read", "what_makes_no_sense", "no_library", "a_child_of_fork", "early_break")
LAST = "every_call_fails_once", "many_loaders"


@pytest.fixture(scope="module")
def seen(say, tmp_path_factory):
    return say("jpegs.py", tmp_path_factory.mktemp("jpegs"), *CASES, *LAST, slots=False, driver=True)


@pytest.mark.parametrize("name", CASES)
def test_what_arrives_and_what_goes_wrong(seen, name):
    assert seen[name] is True


def test_every_call_fails_once(seen):
    seen = seen["every_call_fails_once"]
    assert seen.keys() >= CALLS
    assert {name: wrong for name, wrong in seen.items() if wrong} == {}


def test_nothing_is_left_of_many_loaders(seen):
    before, after = seen["many_loaders"]
    assert all(now <= then for now, then in zip(after, before)), (before, after)
