"""stoker.Loader on this processor: the batches of the plain DataLoader, with torchvision's own numbers."""

import pytest

import stoker


def test_batches_are_the_plain_loader_s(say):
    seen = say("same.py", "fork")
    assert len(seen) == 19 and {name: said for name, said in seen.items() if said is not True} == {}


@pytest.mark.parametrize("method, slots", [("spawn", True), ("fork", False)])
def test_however_batches_come(say, method, slots):
    assert say("same.py", method, "one_worker", slots=slots) == {"one_worker": True}


def test_what_goes_wrong_is_torch_s(say):
    seen = say("trouble.py")
    assert seen.pop("a_thousand_loaders") == {} and seen.pop("some_loaders_with_workers") == {}
    assert len(seen) == 7 and {name: said for name, said in seen.items() if said is not True} == {}


def test_paths_are_for_the_feed():
    """And what is the feed's own is no argument for anything else."""
    with pytest.raises(TypeError, match="batch_size"):
        stoker.Loader([None], batch_size=3)


def test_no_interrupt_is_lost_at_the_end_of_a_pass():
    """What is raised in a __del__ goes nowhere."""
    batches = iter(stoker.Loader([[1], [2]], device="cpu"))
    assert not hasattr(batches, "__del__") and list(batches) == [[1], [2]]
