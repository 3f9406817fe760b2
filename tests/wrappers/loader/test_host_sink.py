"""stoker.Loader on this processor: the batches of the plain DataLoader, with torchvision's own numbers."""

import collections

import pytest
import torch

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
    """An error in a __del__ is lost."""
    batches = iter(stoker.Loader([[1], [2]], device="cpu"))
    assert not hasattr(batches, "__del__") and list(batches) == [[1], [2]]


@pytest.mark.parametrize("kind", [collections.deque, collections.UserList, list, tuple])
def test_images_in_sequences(kind):
    batch = kind([torch.full((2, 3, 4, 4), 255, dtype=torch.uint8), torch.arange(2), "said"])
    (made,) = stoker.Loader([batch], device="cpu", mean=0.5, std=0.5)
    assert type(made) is kind and batch[0].dtype is torch.uint8
    assert torch.equal(made[0], torch.ones(2, 3, 4, 4)) and made[1] is batch[1] and made[2] == "said"


def test_a_deque_stays_as_long_as_it_may_be():
    batch = collections.deque([torch.zeros(2, 3, 4, 4, dtype=torch.uint8)], maxlen=1)
    (made,) = stoker.Loader([batch], device="cpu", mean=0.5, std=0.5)
    assert made.maxlen == 1 and made[0].dtype is torch.float32
    batch = collections.deque([torch.zeros(3, 4, 4, dtype=torch.uint8)])
    with pytest.raises(ValueError, match="no images are found"):
        list(stoker.Loader([batch], device="cpu", mean=0.5, std=0.5))


@pytest.mark.parametrize("prefetch, error", [(-1, ValueError), (1.5, TypeError), ("1", TypeError)])
def test_how_many_batches_ahead_is_a_whole_number(prefetch, error):
    with pytest.raises(error, match="prefetch is"):
        stoker.Loader([[1]], device="cpu", prefetch=prefetch)
