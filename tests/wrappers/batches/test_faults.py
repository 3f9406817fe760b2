"""A function of the package that fails is as if nothing had been tried."""


def test_a_function_of_ours_that_fails_is_as_if_nothing_had_been_tried(lines):
    """Each, once, in the main process and in a worker."""
    *different, failed = lines("faults.py")
    assert not different, "\n".join(different[:20])
    assert int(failed.split()[0]) > 50


def test_indices_without_a_length(say):
    """torch only iterates over them."""
    assert say("indices.py") == [[[0, 1], [2, 3], [3, 0], [1, 2]]]
