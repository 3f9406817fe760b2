"""stoker.Loader(paths, decode="nvjpeg") with the driver and the nvJPEG of tests/gpu: what arrives, what the
processor decodes, what goes wrong."""

import subprocess
import sys

import pytest
from conftest import HERE, ROOT, environment

CALLS = {  # of nvJPEG, in a pass, and its beginning and end
    "nvjpegCreateEx", "nvjpegDestroy", "nvjpegJpegStateCreate", "nvjpegJpegStateDestroy",
    "nvjpegJpegStreamCreate", "nvjpegJpegStreamDestroy", "nvjpegJpegStreamParseHeader",
    "nvjpegJpegStreamGetFrameDimensions", "nvjpegDecodeBatchedSupported", "nvjpegDecodeBatchedInitialize",
    "nvjpegDecodeBatched", "cuEventRecord", "cuEventSynchronize", "cuEventCreate"}
FIRST = "every_call_fails_for_good"  # in children, before the driver is begun with
CASES = ("without_resizing_pixels_are_equal", "resized_pixels_are_a_level_off",
         "filters_that_torch_lacks_are_the_processors", "transforms_that_are_not_known_are_the_processors",
         "the_engine_is_named", "late_batches", "files_are_held_until_their_batch_is_out",
         "files_that_cannot_be_read", "what_makes_no_sense", "no_library", "a_child_of_fork", "early_break")
LAST = "every_call_fails_once", "many_loaders"


@pytest.fixture(scope="module")
def seen(say, tmp_path_factory):
    return say("jpegs.py", tmp_path_factory.mktemp("jpegs"), FIRST, *CASES, *LAST, slots=False, driver=True)


@pytest.mark.parametrize("name", [FIRST, *CASES])
def test_what_arrives_and_what_goes_wrong(seen, name):
    assert seen[name] is True


def test_every_call_fails_once(seen):
    seen = seen["every_call_fails_once"]
    assert seen.keys() >= CALLS
    assert {name: wrong for name, wrong in seen.items() if wrong} == {}


def test_nothing_is_left_of_many_loaders(seen):
    before, after = seen["many_loaders"]
    assert all(now <= then for now, then in zip(after, before)), (before, after)


def on_a_device(driver, *arguments):
    return subprocess.run([sys.executable, "-B", HERE / "programs/nvjpeg_device.py", *arguments],
                          env=environment(False, driver), text=True, timeout=300, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_what_a_device_is_asked_for_runs_here():
    if not (ROOT / "build/gpu/kernel.txt").exists():
        pytest.skip("no nvcc: the kernel is not built")
    done = on_a_device(True, "--dry")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("12 images there and 0 here | 0 at most") == 3
    assert done.stdout.count("images/s") == 2


def test_no_device_is_said_and_skipped():
    done = on_a_device(False)
    assert done.returncode == 77 and done.stdout.startswith("skipped: no"), done.stdout + done.stderr
