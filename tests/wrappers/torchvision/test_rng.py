"""The numbers that are drawn here are those of torch's generator."""

import importlib
import math
import random
import warnings

import numpy
import pytest
import torch
from PIL import Image
from torchvision import transforms as T

from slices import ALL
from stoker._pipeline import colours, exact, lazy_images, rng, steps
from stoker._torchvision import choices, recolouring, replaced

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
    """A number that is not certain to the last bit is left to torchvision, and the generator then is as it was."""
    dice = random.Random(1)
    fell_back = left = 0
    for seed in range(COUNT):
        any_size = dice.randint(1, 900), dice.randint(1, 900)
        size = dice.choice([(500, 375), (1, 1), (3, 700), any_size])
        scale = dice.choice([(0.08, 1.0), (0.5, 0.5), (0.9, 3), [0.001, 0.002]])
        ratio = dice.choice([(3 / 4, 4 / 3), (1, 1), [0.2, 5.0], (math.pi, 4)])
        image = Image.new("L", size)
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        if replaced._region(image, scale, ratio) is None:
            assert torch.equal(torch.get_rng_state(), before)
            left += 1
            continue
        top, left_edge, height, width = same(lambda: T.RandomResizedCrop.get_params(image, scale, ratio),
                                             lambda: replaced._region(image, scale, ratio), seed)
        fell_back += min(top, left_edge) == 0 and max(height, width) == max(size)
    assert fell_back > COUNT / 100
    assert left < COUNT / 10  # mostly of 1 x 1, where halves are rounded


def flipped(p):
    """Returns true if a flip with this chance was drawn."""
    lazy = lazy_images.of_image(Image.new("L", (2, 2)))
    assert lazy.note((steps.step_of(T.RandomHorizontalFlip(p)),)) == 1
    return lazy._plan.flip == 1


@pytest.mark.parametrize("p", [0.5, 0.1, 0.7, 1 / 3, 0, 1, 0.999999])
def test_chance(p):
    for seed in range(COUNT // 10):
        same(lambda: bool(torch.rand(1) < p), lambda: flipped(p), seed)


def test_chance_is_compared_in_single_precision():
    """A draw that a chance equals in single precision is no success."""
    torch.manual_seed(5)
    drawn = torch.rand(1).item()
    for p in drawn, math.nextafter(drawn, 1), math.nextafter(drawn, 0):
        assert (torch.rand(1) < p).dtype is torch.bool
        same(lambda: bool(torch.rand(1) < p), lambda: flipped(p), 5)


@pytest.mark.parametrize("setting", ["inference", "no_grad"])
def test_where_torch_makes_other_tensors(setting):
    image = Image.new("L", (500, 375))
    scale, ratio = (0.08, 1.0), (3 / 4, 4 / 3)

    def theirs():
        return T.RandomResizedCrop.get_params(image, scale, ratio), bool(torch.rand(1) < 0.3)

    def ours():
        return replaced._region(image, scale, ratio), flipped(0.3)

    for seed in range(0, 60, 2):
        same(theirs, ours, seed)
        with torch.inference_mode() if setting == "inference" else torch.no_grad():
            same(theirs, ours, seed + 1)


def test_other_floats_are_torchs():
    torch.set_default_dtype(torch.float64)
    try:
        assert replaced._region(Image.new("L", (500, 375)), (0.08, 1.0), (3 / 4, 4 / 3)) is None
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.skipif(not hasattr(torch, "set_default_device"), reason="torch has no default device")
def test_a_default_device():
    """Draws are made there, by torch."""
    assert rng.can_draw()
    torch.set_default_device("meta")
    try:
        assert not rng.can_draw()
        assert replaced._region(Image.new("L", (500, 375)), (0.08, 1.0), (3 / 4, 4 / 3)) is None
    finally:
        torch.set_default_device(None)


# ---- automatic augmentations ----

def trivially(module, augmentation, image):
    """Returns what torchvision chooses."""
    made = []
    apply, module._apply_op = module._apply_op, lambda *arguments, **named: made.append(arguments[1:3])
    try:
        T.TrivialAugmentWide.forward(augmentation, image)
    finally:
        module._apply_op = apply
    return made[0]


def test_trivial_augment():
    module = importlib.import_module("torchvision.transforms.autoaugment")
    kind, image = T.TrivialAugmentWide, Image.new("RGB", (50, 40))
    space = kind.__dict__["_augmentation_space"]
    assert exact.has_names(kind.forward, choices.TRIVIAL_NAMES)
    for augmentation in kind(), kind(7), kind(1, fill=[1, 2, 3]):
        chosen = {same(lambda: trivially(module, augmentation, image), lambda: choices.drawn(kind, space, augmentation, image), seed)
                  for seed in range(COUNT)}
        assert len(chosen) >= 14
    patched = kind()
    patched._augmentation_space = patched._augmentation_space
    derived = type("Derived", (kind,), {})()
    before = torch.get_rng_state()
    for augmentation, of, given in ((patched, space, image), (derived, space, image), (kind(True), space, image),
                                    (kind(), None, image), (kind(), space, torch.zeros(3, 8, 8, dtype=torch.uint8))):
        assert choices.drawn(kind, of, augmentation, given) is None
    with torch.inference_mode():
        assert choices.drawn(kind, space, kind(), image) is None
    assert torch.equal(torch.get_rng_state(), before)


def test_timms_choices(monkeypatch):
    module = pytest.importorskip("timm.data.auto_augment")
    kind, operation = module.RandAugment, module.AugmentOp
    assert exact.has_names(kind.__call__, choices.TIMMS_NAMES)
    usual = module.rand_augment_transform("rand-m9-inc1", {"translate_const": 20}).ops
    for ops, count in ((usual, 2), (usual, 5), (usual[:1], 3), (usual[:8], 0)):
        for seed in range(COUNT):
            numpy.random.seed(seed)
            expected, state = numpy.random.choice(ops, count, replace=True, p=None), numpy.random.get_state()
            numpy.random.seed(seed)
            chosen, others = choices.chosen(kind, operation, kind(ops, count)), numpy.random.get_state()
            assert [id(each) for each in chosen] == [id(each) for each in expected]
            assert state[0] == others[0] and (state[1] == others[1]).all() and state[2:] == others[2:]
    derived, weighted = type("Derived", (kind,), {}), kind(usual, 2, [1 / len(usual)] * len(usual))
    for augmentation in derived(usual), weighted, kind(tuple(usual)), kind([*usual, str]), kind([]), kind(usual, None):
        assert choices.chosen(kind, operation, augmentation) is None
    monkeypatch.setattr(numpy.random, "choice", numpy.random.RandomState(3).choice)
    assert choices.chosen(kind, operation, kind(usual)) is None


def test_jitter():
    def theirs(*ranges):
        order, *factors = T.ColorJitter.get_params(*ranges)
        return [(kind, factors[kind]) for kind in order.tolist() if factors[kind] is not None]
    assert rng.can_draw_colours()
    dice = random.Random(2)
    for seed in range(COUNT):
        least = dice.uniform(-3, 3)
        ranges = tuple(dice.choice([None, (0.6, 1.4), (0, 2), (-0.5, 0.5), (1 / 3, 1 / 3), (least, least + dice.random()), (9, 999999.9)])
                       for _ in range(4))
        same(lambda: theirs(*ranges), lambda: rng.jitter(ranges), seed)
    assert not any(map(rng.is_range, ((2, 1), (0, math.inf), (math.nan, 1), ("0", 1), (1,), None)))


def test_what_jitters_here(monkeypatch):
    image, jitter = Image.new("RGB", (60, 50)), T.ColorJitter(0.4, 0, (0.5, 0.7), 0.1)
    colours.know(T)
    torch.manual_seed(1)
    wanted = recolouring.drawn(jitter, image)
    assert sorted(kind for kind, _ in wanted) == [0, 2, 3] and recolouring.changed(image, wanted).size == image.size
    before = torch.get_rng_state()
    odd = T.ColorJitter(0.4)
    odd.brightness = [2, 1]
    derived = type("Derived", (T.ColorJitter,), {"get_params": staticmethod(lambda *ranges: None)})(0.4)
    for other, given in ((odd, image), (derived, image), (jitter, image.convert("L")), (jitter, torch.zeros(3, 60, 50))):
        assert recolouring.drawn(other, given) is None
    monkeypatch.setattr(torch, "randperm", lambda count: torch.arange(count))
    assert recolouring.drawn(jitter, image) is None
    assert torch.equal(torch.get_rng_state(), before)


def test_a_function_that_warns_is_torchvisions(monkeypatch):
    """As those do that call Pillow 11.3's fromarray() with a mode."""
    plain = exact.F.F_pil.adjust_hue

    def warning(*arguments):
        warnings.warn("deprecated", DeprecationWarning)
        return plain(*arguments)
    assert colours._is_same("adjust_hue")
    monkeypatch.setattr(exact.F.F_pil, "adjust_hue", warning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert not colours._is_same("adjust_hue")
    assert not caught
