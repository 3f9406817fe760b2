"""Draws and plans without Python are those of Python, image by image, and the generator is left
equal."""

import random

import pytest
import torch
from torchvision import transforms as T

import pictures
from slices import ALL
from stoker import _core
from stoker._feeding import worker_rng
from stoker._feeding.pixels import Maker, PlannedImage
from stoker._pipeline import rng
from test_same import MODULES, case_name

SIZES = [(500, 375), (375, 500), (1, 1), (3, 700), (64, 64), (65, 64), (300, 301), (4000, 20)]
COUNT = 3000 if ALL else 300
END = 3, 1, 1, b""


def pipelines(M):
    flip, end = M.RandomHorizontalFlip(), [M.ToTensor(), M.Normalize((0.5,) * 3, (0.2,) * 3)]
    return {
        "training": [M.RandomResizedCrop(48), flip, *end],
        "small regions": [M.RandomResizedCrop((30, 40), scale=(0.001, 0.01), ratio=(0.2, 5)), *end],
        "one shape": [M.RandomResizedCrop(64, scale=(1, 1), ratio=(1, 1)), flip, *end],
        "wide": [M.RandomResizedCrop(64, scale=(0.9, 1), ratio=(3, 1.3)[::-1]), flip, *end],
        "validation": [M.Resize(64), M.CenterCrop((50, 61)), *end],
        "crops": [M.Resize((61, 64)), M.RandomCrop((60, 64)), flip, M.RandomVerticalFlip(0.3), *end],
        "flipped first": [flip, M.RandomVerticalFlip(), M.RandomCrop(60), M.CenterCrop(31), *end],
        "windows": [M.Resize(70, M.InterpolationMode.BICUBIC), M.RandomCrop(64), M.CenterCrop(9), flip],
        "flipped windows": [M.Resize(70), flip, M.RandomCrop(64), M.RandomVerticalFlip(1), M.CenterCrop(9)],
        "left as they are": [flip, *end],
        "two resizes": [M.Resize(90), M.RandomResizedCrop(40), flip, *end],
        "padded": [M.RandomCrop(32, 4), flip, *end],
    }


def sizes():
    dice = random.Random(3)
    return SIZES + [(dice.randint(1, 600), dice.randint(1, 600)) for _ in range(COUNT - len(SIZES))]


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    """JPEGs whose headers say so, with as many bytes as so large an image has at least."""
    directory, paths = tmp_path_factory.mktemp("headers"), []
    plain = pictures.jpeg(pictures.image(16, 16))
    at = plain.index(b"\xff\xc0") + 5
    for i, (width, height) in enumerate(sizes()):
        said = plain[:at] + height.to_bytes(2, "big") + width.to_bytes(2, "big") + plain[at + 4:]
        comment = b"\xff\xfe" + (60002).to_bytes(2, "big") + bytes(60000)
        paths.append(str(directory / f"{i}.jpg"))
        with open(paths[-1], "wb") as file:
            file.write(said[:2] + comment + said[2:])
    return paths


@pytest.fixture(scope="module")
def files(headers):
    pool = _core.feed_thread_pool(1)
    files = pool.files()
    files.read(headers)
    while not files.are_done():
        pool.wait(pool.ends())
    yield files
    pool.close()


def by_python(maker, files, paths, drawn):
    made = []
    with drawn.drawn(False):
        for i, path in enumerate(paths):
            try:
                row = maker.make(path, files.head(i))
            except Exception:  # what is not noted is decoded, and there is nothing
                row = None
            made.append(row.request(END) if type(row) is PlannedImage else None)
    return made


def at_once(maker, files, paths, drawn):
    """Returns (plans, how many were left to Python). For those that are, the plan is Python's."""
    made, at, left = [], 0, 0
    while at < len(paths):
        end = maker.draw(at, files, drawn.memory)
        made += [maker.noted(paths[i], files.head(i)[:2], files.drawn(i)).request(END)
                 for i in range(at, end)]
        at = end
        if at < len(paths) and not maker.learn(files.head(at)):
            with drawn.drawn(False):
                try:
                    row = maker.make(paths[at], files.head(at))
                except Exception:
                    row = None
            made.append(row.request(END) if type(row) is PlannedImage else None)
            at, left = at + 1, left + 1
    return made, left


CASES = [(M, name) for M in MODULES for name in pipelines(M)]


@pytest.mark.parametrize("module, name", CASES, ids=case_name)
def test_plans(headers, files, module, name):
    """Those that are not for it to take are few, but for what pads or resizes twice."""
    maker = Maker(pipelines(module)[name])
    assert maker.can_draw()
    generator = torch.Generator()
    one, other = (worker_rng.WorkerRng(generator.manual_seed(7)) for _ in range(2))
    expected = by_python(maker, files, headers, one)
    given, left = at_once(maker, files, headers, other)
    assert given == expected
    assert torch.equal(one._torch, other._torch)
    most = {"two resizes": 1, "validation": 0.3, "crops": 0.01, "flipped first": 0.5, "padded": 1}.get(name, 0.05)
    assert left <= most * len(headers), left


def test_a_generator_that_is_not_understood(monkeypatch):
    """torch draws then."""
    assert rng.can_draw()
    words = _core.words
    monkeypatch.setattr(_core, "words", lambda *given: [word ^ 1 for word in words(*given)])
    assert not rng._are_understood()
    monkeypatch.setattr(rng, "_understood", False)
    assert not Maker([T.CenterCrop(3)]).can_draw()


def test_states():
    """An object that is no generator's state is not drawn from."""
    state = bytearray(torch.Generator().manual_seed(1).get_state().numpy().tobytes())
    assert len(_core.words(2000, state)) == 2000
    for wrong in state[:-3000], state[:8] + b"\0\0\0\0" + state[12:], state[:16] + b"\xff" * 8 + state[24:]:
        with pytest.raises(ValueError, match="no state of a generator"):
            _core.words(1, bytearray(wrong))


def test_where_torch_draws_elsewhere():
    """A program that has another kind of numbers by default gets these."""
    maker = Maker([T.RandomResizedCrop(32)])
    assert maker.can_draw()
    torch.set_default_dtype(torch.float64)
    try:
        assert not maker.can_draw()
    finally:
        torch.set_default_dtype(torch.float32)
