"""stoker.Loader with the driver of tests/gpu: what arrives, what is held meanwhile, what goes wrong."""

import collections

import pytest

from stoker._gpu.fences import passed

CALLS = {  # that a pass makes, and its beginning and end
    "cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
    "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
    "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuModuleLoadData", "cuModuleUnload",
    "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
    "cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemcpyHtoDAsync_v2", "cuStreamCreate",
    "cuStreamDestroy_v2", "cuStreamWaitEvent", "cuEventCreate", "cuEventDestroy_v2", "cuEventRecord",
    "cuEventSynchronize", "cuLaunchKernel"}
FIRST = "every_call_fails_for_good"  # in children, before the driver is begun with
LAST = "every_call_fails_once", "a_thousand_loaders"
CASES = ("slots_are_not_written_before_their_copies_have_ended", "slots_are_locked_once",
         "slots_of_all_sizes_come_and_go", "kept_workers", "what_threads_decode_is_locked_once",
         "two_devices_have_the_same_slots", "floats_in_slots_are_held", "structures", "channels_last",
         "what_moves_itself", "floats_that_are_there_already", "order_of_asking", "images_that_are_not_found",
         "errors_have_their_turn", "no_memory_to_lock", "no_memory_of_the_device", "a_child_of_fork",
         "a_child_of_fork_amid_workers", "a_worker_that_is_killed", "early_break", "passes_of_several_threads")


@pytest.fixture(scope="module")
def seen(say):
    return say("device.py", FIRST, *CASES, *LAST, driver=True)


@pytest.mark.parametrize("name", [FIRST, *CASES])
def test_what_arrives_and_what_goes_wrong(seen, name):
    assert seen[name] is True


def test_every_call_fails_once(seen):
    """Some calls have another number each time, so some may be left out."""
    seen = seen["every_call_fails_once"]
    assert len(CALLS - seen.keys()) <= 4, CALLS - seen.keys()
    assert {name: wrong for name, wrong in seen.items() if wrong} == {}


def test_nothing_is_left_of_a_thousand_loaders(seen):
    before, after = seen["a_thousand_loaders"]
    assert all(now <= then for now, then in zip(after, before)), (before, after)


def test_what_is_past_is_taken_once():
    """Another thread's pass takes from the row as well, while this one asks."""
    class Fence:
        def __init__(self, is_past, meanwhile=lambda: None):
            self.is_past, self.meanwhile = is_past, meanwhile

        def query(self):
            self.meanwhile()
            return self.is_past
    first, second = Fence(True, lambda: others.extend(passed(row))), Fence(False)
    row, others = collections.deque([(first,), (second,)]), []
    assert list(passed(row)) == [(first,)]
    assert others == [] and list(row) == [(second,)]
