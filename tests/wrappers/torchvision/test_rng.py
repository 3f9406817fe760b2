"""Each way to draw gives the same numbers from torch's generator."""

import math
import random

import pytest
import torch
from PIL import Image
from torchvision import transforms as T

from slices import ALL
from stoker._torchvision import rng

COUNT = 20000 if ALL else 2000


def same(theirs, ours, seed):
    """Both return the same and leave the generator the same."""
    torch.manual_seed(seed)
    expected, state = theirs(), torch.get_rng_state()
    torch.manual_seed(seed)
    result = ours()
    assert result == expected, seed
    assert torch.equal(torch.get_rng_state(), state), seed
    return result


def test_region():
    dice = random.Random(1)
    fell_back = 0
    for seed in range(COUNT):
        any_size = dice.randint(1, 900), dice.randint(1, 900)
        size = dice.choice([(500, 375), (1, 1), (3, 700), any_size])
        scale = dice.choice([(0.08, 1.0), (0.5, 0.5), (0.9, 3), [0.001, 0.002]])
        ratio = dice.choice([(3 / 4, 4 / 3), (1, 1), [0.2, 5.0], (math.pi, 4)])
        image = Image.new("L", size)
        found = same(lambda: T.RandomResizedCrop.get_params(image, scale, ratio),
                     lambda: rng.region(*size, scale, ratio, rng.log_ratio(ratio)), seed)
        fell_back += found == rng._central_region(*size, ratio)
    assert fell_back > COUNT / 100


@pytest.mark.parametrize("p", [0.5, 0.1, 0.7, 1 / 3, 0, 1, 0.999999])
def test_chance(p):
    for seed in range(COUNT // 10):
        same(lambda: bool(torch.rand(1) < p), lambda: rng.chance(p), seed)


def test_chance_is_compared_in_single_precision(monkeypatch):
    """0.7 is a little less in single precision: a draw of exactly that is no success."""
    draw = torch.tensor([0.7], dtype=torch.float32)
    monkeypatch.setattr(torch, "rand", lambda size: draw)
    monkeypatch.setattr(rng, "are_ordinary", lambda: False)
    assert not torch.rand(1) < 0.7
    assert not rng.chance(0.7)
    assert draw.item() < 0.7


@pytest.mark.parametrize("setting", ["double", "inference", "no_grad"])
def test_where_torch_makes_other_tensors(setting):
    """Nothing of the draws stays in what the thread keeps for them."""
    image = Image.new("L", (500, 375))
    scale, ratio = (0.08, 1.0), (3 / 4, 4 / 3)

    def theirs():
        return T.RandomResizedCrop.get_params(image, scale, ratio), bool(torch.rand(1) < 0.3)

    def ours():
        return (rng.region(500, 375, scale, ratio, rng.log_ratio(ratio)), rng.chance(0.3))

    for seed in range(0, 60, 3):
        same(theirs, ours, seed)
        if setting == "double":
            torch.set_default_dtype(torch.float64)
            try:
                same(theirs, ours, seed + 1)
            finally:
                torch.set_default_dtype(torch.float32)
        else:
            with torch.inference_mode() if setting == "inference" else torch.no_grad():
                same(theirs, ours, seed + 1)
        same(theirs, ours, seed + 2)


@pytest.mark.skipif(not hasattr(torch, "set_default_device"), reason="torch has no default device")
def test_a_default_device():
    """Draws are made there, as torch makes them."""
    torch.set_default_device("meta")
    try:
        with pytest.raises(RuntimeError):
            rng.chance(0.5)
    finally:
        torch.set_default_device(None)
