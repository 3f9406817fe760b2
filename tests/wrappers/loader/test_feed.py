"""stoker.Loader of a list of paths: what threads of this process decode comes as any other batch does."""

import os

import numpy as np
import pytest
import torch
from torchvision.transforms import functional as F

import stoker

pytest.importorskip("stoker._feed")
Image = pytest.importorskip("PIL.Image")

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.fixture
def paths(tmp_path):
    random, made = np.random.RandomState(0), []
    for i in range(10):
        pixels = np.repeat(np.repeat(random.randint(0, 256, (8, 6, 3)), 8, 0), 8, 1).astype(np.uint8)
        made.append(tmp_path / f"{i}.jpg")
        Image.fromarray(pixels).save(made[-1])
    return made


@pytest.mark.parametrize("kind", [str, os.fsencode, None])
def test_paths_and_labels(paths, kind):
    """Bytes, in the order of the paths, with a last batch that is smaller."""
    named = [kind(path) for path in paths] if kind else paths
    loader = stoker.Loader(named, list(range(10)), batch_size=4, device="cpu", mean=MEAN, std=STD)
    batches = [batch for _ in range(2) for batch in loader]
    assert len(loader) == 3 and len(batches) == 6
    images = torch.cat([images for images, _ in batches])
    plain = torch.stack([F.normalize(F.to_tensor(Image.open(path).convert("RGB")), MEAN, STD)
                         for path in paths * 2])
    assert torch.equal(images, plain)
    assert torch.cat([labels for _, labels in batches]).tolist() == list(range(10)) * 2


@pytest.mark.parametrize("further", [{"labels": []}, {"batch_size": 4, "labels": [1]}], ids=repr)
@pytest.mark.parametrize("none", [[], (), np.array([], str)], ids=repr)
def test_no_paths(none, further):
    """As when a pattern matched nothing: it is said so."""
    with pytest.raises(ValueError, match="^there are no images: the list of paths is empty$"):
        stoker.Loader(none, device="cpu", **further)
