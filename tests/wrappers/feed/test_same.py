"""A Feed gives the batches of torch's DataLoader, with any number of threads."""

import random

import numpy
import pytest
import torch
from PIL import Image
from torchvision import transforms as T

import pictures
import plain
import stoker
from stoker import _core
from stoker import transforms as S
from stoker._feed import Feed
from stoker._feeding.pixels import Maker
from stoker._pillow import check, take
from stoker._store import sources

try:
    from torchvision.transforms import v2
    MODULES = [T, v2] if hasattr(v2, "ToImage") else [T]
except ImportError:
    MODULES = [T]

NORMALIZE = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)


def by_anybody(image):
    """A transform that draws from all generators there are."""
    box = random.randrange(20), numpy.random.randint(20), 60, 40
    return T.functional.to_tensor(image.crop(box).resize((32, 32))) + torch.rand(1)


def scaled(tensor):
    return tensor * 2


def pipelines(M):
    """By name: what is noted as a whole, what is not, and what is noted as far as it goes."""
    flip = M.RandomHorizontalFlip()
    return {
        "float": [M.RandomResizedCrop(48), flip, M.ToTensor(), M.Normalize(*NORMALIZE)],
        "bytes": [M.Resize(60), M.RandomCrop(48), flip, M.PILToTensor()],
        "padded": [M.Resize((30, 30)), M.RandomCrop(32, 4, fill=9), flip, M.ToTensor()],
        "in the middle": [M.RandomResizedCrop(48), M.ColorJitter(0.3, 0.3), M.ToTensor()],
        "in the end": [M.RandomResizedCrop(48), M.ToTensor(), scaled],
        "two resizes": [M.Resize(90), flip, M.RandomResizedCrop(40), M.ToTensor()],
        "grey": [M.Grayscale(), M.CenterCrop(40), M.ToTensor()],
        "anybody": [by_anybody],
    }


CASES = [(M, name) for M in MODULES for name in pipelines(M)]


def case_name(value):
    return value if isinstance(value, str) else value.__name__.rpartition(".")[2]


@pytest.mark.parametrize("module, name", CASES, ids=case_name)
def test_values(paths, module, name):
    transform = module.Compose(pipelines(module)[name])
    labels = list(range(len(paths)))
    torch.manual_seed(5)
    expected = plain.epochs(plain.loader(paths, labels, transform, batch_size=9, shuffle=True), 2)
    state = torch.get_rng_state()
    for threads in (1, 2, 4):
        torch.manual_seed(5)
        others = random.getstate(), numpy.random.get_state()[1].tolist()
        feed = Feed(paths, labels, transform=transform, batch_size=9, shuffle=True, threads=threads)
        assert len(feed) == len(expected[0])
        plain.assert_same(expected, plain.epochs(feed, 2))
        assert torch.equal(torch.get_rng_state(), state)
        assert (random.getstate(), numpy.random.get_state()[1].tolist()) == others


def test_transforms_of_stoker(paths):
    transform = S.ResizeCenterCrop(60, 48)
    theirs = T.Compose(transform.transforms)
    labels = [0.5] * len(paths)
    expected = plain.epochs(plain.loader(paths, labels, theirs, num_workers=0, batch_size=8))
    plain.assert_same(expected, plain.epochs(Feed(paths, labels, transform=transform, batch_size=8)))


@pytest.mark.parametrize("size", [240, (230, 241)], ids=str)
def test_large_batches(jpegs, size):
    """They go past the caches, as far as they lie in whole lines of these."""
    transform = S.RandomResizedCropFlip(size)
    options = dict(batch_size=20, shuffle=True)
    assert 20 * 3 * 230 * 240 * 4 > 8 << 20
    torch.manual_seed(2)
    theirs = T.Compose(transform.transforms)
    expected = plain.epochs(plain.loader(jpegs, jpegs, theirs, **options))
    torch.manual_seed(2)
    plain.assert_same(expected, plain.epochs(Feed(jpegs, jpegs, transform=transform, **options)))


def test_most_is_done_by_threads(jpegs):
    """All of what is noted; and none of it is noted in vain."""
    before = stoker.counts()["images"]
    feed = Feed(jpegs, transform=S.RandomResizedCropFlip(48), batch_size=7)
    epoch = iter(feed)
    made = [batch for batch in epoch]
    assert stoker.counts()["images"] - before == len(jpegs)
    assert sum(len(images) for images, _ in made) == len(jpegs)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_orders(jpegs, shuffle, drop_last):
    """The order is that of a generator, of a seed, and epoch after epoch."""
    transform = T.Compose([T.CenterCrop(32), T.ToTensor()])
    options = dict(batch_size=6, shuffle=shuffle, drop_last=drop_last)
    labels = list(range(len(jpegs)))
    loader = plain.loader(jpegs, labels, transform, num_workers=0,
                          generator=torch.Generator().manual_seed(8), **options)
    expected = plain.epochs(loader, 3)
    for generator in (torch.Generator().manual_seed(8), 8):
        feed = Feed(jpegs, labels, transform=transform, generator=generator, **options)
        assert len(feed) == len(loader)
        plain.assert_same(expected, plain.epochs(feed, 3))


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_what_the_program_draws(jpegs, prefetch):
    """It changes nothing, and gets what it would get beside a worker."""
    transform = S.RandomResizedCropFlip(32)
    loader = plain.loader(jpegs, jpegs, T.Compose(transform.transforms), batch_size=4, shuffle=True)
    feed = Feed(jpegs, jpegs, transform=transform, batch_size=4, shuffle=True, prefetch=prefetch)
    seen = []
    for each in loader, feed:
        torch.manual_seed(11)
        seen.append([[(*batch, torch.rand(3)) for batch in each] for _ in range(2)])
    plain.assert_same(*seen)


@pytest.mark.parametrize("label", [3, 2.5, True, "a cat", numpy.int32(4), (1, 2.0),
                                   torch.tensor([1, 2]), {"box": torch.zeros(4)}], ids=repr)
def test_labels(jpegs, label):
    transform = T.Compose([T.CenterCrop(32), T.ToTensor()])
    labels = [label] * len(jpegs)
    (expected,) = plain.epochs(plain.loader(jpegs, labels, transform, 0, batch_size=8))
    (given,) = plain.epochs(Feed(jpegs, labels, transform=transform, batch_size=8))
    for (_, one), (_, other) in zip(expected, given):
        assert type(one) is type(other) and repr(one) == repr(other)


def test_labels_in_one_piece_and_none(jpegs):
    transform = T.Compose([T.CenterCrop(32), T.ToTensor()])
    labels = torch.arange(len(jpegs))
    given = [label for _, label in Feed(jpegs, labels, transform=transform, batch_size=8)]
    assert torch.equal(torch.cat(given), labels)
    assert all(label is None for _, label in Feed(jpegs, transform=transform, batch_size=8))
    with pytest.raises(ValueError, match="19 labels for 20 paths"):
        Feed(jpegs, labels[1:], transform=transform)


@pytest.mark.parametrize("geometry", [[T.RandomResizedCrop(40)], [T.CenterCrop(40), T.Grayscale()],
                                      [T.Pad(300), T.CenterCrop(280)]], ids=repr)
def test_images_as_bytes(paths, geometry):
    """Without a tensor in the end: what an array of the image holds."""
    theirs = T.Compose([*geometry, numpy.array])
    torch.manual_seed(1)
    expected = plain.epochs(plain.loader(paths, paths, theirs, batch_size=8))
    torch.manual_seed(1)
    plain.assert_same(expected, plain.epochs(
        Feed(paths, paths, transform=T.Compose(geometry), batch_size=8)))


def test_no_transform(jpegs):
    with Image.open(jpegs[0]) as file:
        image = numpy.array(file.convert("RGB"))
    ((given, _),) = Feed(jpegs[:1] * 3, batch_size=3)
    assert given.shape == (3, *image.shape) and all((each == image).all() for each in given.numpy())


def test_one_image_and_batches_of_one(jpegs):
    transform = T.Compose([T.CenterCrop(32), T.PILToTensor()])
    for chosen, size in ((jpegs[:1], 4), (jpegs[:5], 1), (jpegs[:5], 4), ([], 4)):
        expected = plain.epochs(plain.loader(chosen, chosen, transform, 0, batch_size=size))
        plain.assert_same(expected, plain.epochs(
            Feed(chosen, chosen, transform=transform, batch_size=size)))


def test_paths_of_any_kind(jpegs):
    import pathlib
    transform = T.Compose([T.CenterCrop(32), T.ToTensor()])
    expected = plain.epochs(Feed(jpegs, transform=transform, batch_size=4))
    mixed = [kind(path) for path, kind in zip(jpegs, (pathlib.Path, str, str.encode) * 9)]
    for given in mixed, tuple(mixed), iter(mixed), numpy.array(jpegs):
        plain.assert_same(expected, plain.epochs(Feed(given, transform=transform, batch_size=4)))


def test_the_transform_may_change(jpegs):
    """Between batches, as some schedules do."""
    crop = T.CenterCrop(32)
    feed = Feed(jpegs, transform=T.Compose([crop, T.ToTensor()]), batch_size=4, prefetch=0)
    sizes = []
    for images, _ in feed:
        sizes.append(images.shape[-1])
        crop.size = (32, 32 + len(sizes))
    assert sizes == [32, 33, 34, 35, 36]


def variants(tmp_path):
    """JPEGs of many kinds, sound and not."""
    picture = pictures.image(120, 90)
    options = [dict(subsampling=i) for i in range(3)] + [
        dict(progressive=True), dict(optimize=True), dict(quality=1), dict(quality=100),
        dict(comment=b"x" * 300), dict(exif=b"Exif\0\0" + b"y" * 500)]
    datas = [pictures.jpeg(picture, **each) for each in options]
    datas += [pictures.jpeg(picture.convert(mode)) for mode in ("L", "CMYK")]
    datas += [jpeg for _, _, jpeg in check.samples()]
    plain_one = datas[0]
    datas += [plain_one[:-2], plain_one[:-40], plain_one[:300], plain_one + b"more", b"\xff\xd8",
              plain_one[:2] + b"\xff\xff" + plain_one[2:], plain_one.replace(b"\xff\xdb", b"\xff\xe5", 1)]
    for i, data in enumerate(datas):
        (tmp_path / f"{i:03}.jpg").write_bytes(data)
    return sorted(tmp_path.iterdir())


@pytest.mark.parametrize("proven, least", [
    (None, 30), (check.Proven([((2, 2), (1, 1), (1, 1))], [2], False), 8)], ids=["here", "little"])
def test_what_threads_take_is_what_is_taken(paths, tmp_path, monkeypatch, proven, least):
    """All files that are decoded here are known by their headers: no more, and no fewer."""
    if proven is not None:
        monkeypatch.setattr(check, "proven", lambda: proven)
    chosen = [*map(str, variants(tmp_path)), *paths]
    pool = _core.feed_thread_pool(2)
    files = pool.files()
    files.read(chosen)
    while not files.are_done():
        pool.wait(pool.ends())
    maker, taken = Maker([]), 0
    for path, head in zip(chosen, map(files.head, range(len(chosen)))):
        size = take.jpeg_size(sources.of_path(path))
        is_taken = head is not None and maker._is_taken(*head)
        assert (head[:2] if is_taken else None) == size, path
        taken += is_taken
    assert least < taken < len(chosen) - 15
