"""Which files a data set's samples are made of, by its lists."""

import os
import pathlib

import numpy
import pytest
from torch.utils.data import ConcatDataset, Dataset, Subset

from stoker._torch.sample_paths import paths_of


class Data(Dataset):
    """A data set with these attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def __len__(self):
        raise AssertionError("the program's code runs")

    __getitem__ = __len__


def names(count=6, root="/data"):
    return [f"{root}/{number}.jpg" for number in range(count)]


LISTS = {
    "paths": names(),
    "a tuple": tuple(names()),
    "pathlib": [pathlib.Path(name) for name in names()],
    "pairs": [(name, 0) for name in names()],
    "a target before the path": [(0, name) for name in names()],
    "lists": [[name, 1] for name in names()],
    "dicts": [{"label": 1, "file": name} for name in names()],
    "an array": numpy.array(names()),
    "an array of objects": numpy.array(names(), dtype=object),
}


@pytest.mark.parametrize("kind", LISTS)
def test_lists(kind):
    paths = paths_of(Data(classes=["a", "b"], samples=LISTS[kind], targets=[0] * 6), 5)
    assert [list(paths(number)) for number in range(6)] == [[name] for name in names()]


def test_one_list_by_two_names():
    samples = LISTS["pairs"]
    assert list(paths_of(Data(samples=samples, imgs=samples), 5)(3)) == ["/data/3.jpg"]


def test_images_and_masks():
    data = Data(images=names(), masks=names(root="/masks"))
    assert list(paths_of(data, 5)(2)) == ["/data/2.jpg", "/masks/2.jpg"]


def test_names_beneath_a_directory(tmp_path):
    (tmp_path / "images").mkdir()
    for number in range(3):
        (tmp_path / "images" / f"{number}.png").touch()
    data = Data(files=["0.png", "1.png", "2.png"], root=str(tmp_path), where=tmp_path / "images")
    assert list(paths_of(data, 2)(1)) == [os.path.join(tmp_path, "images", "1.png")]


def test_wrappers():
    inner = Data(samples=names(10))
    assert list(paths_of(Subset(inner, [7, 3, 5]), 2)(0)) == ["/data/7.jpg"]
    assert list(paths_of(Data(dataset=Subset(inner, [7, 3, 5])), 2)(1)) == ["/data/3.jpg"]
    both = Data(datasets=[inner, Data(samples=names(4, "/more"))], cumulative_sizes=[10, 14])
    assert list(paths_of(both, 13)(9)) == ["/data/9.jpg"]
    assert list(paths_of(both, 13)(11)) == ["/more/1.jpg"]
    torchs = ConcatDataset([LISTS["paths"], LISTS["paths"]])
    assert paths_of(torchs, 11) is None  # lists have no attributes


@pytest.mark.parametrize("attributes", [
    {}, {"samples": []}, {"samples": ["one.jpg"]}, {"classes": ["cat", "dog"]}, {"samples": [1, 2, 3]},
    {"samples": names(3)}, {"samples": {0: "/data/0.jpg"}}, {"dataset": None}, {"files": ["missing.jpg"] * 6},
    {"indices": [1, 2], "dataset": 5}, {"samples": [(1, 2)] * 6}])
def test_no_list(attributes):
    assert paths_of(Data(**attributes), 5) is None


def test_what_looks_into_itself():
    data = Data()
    data.dataset = data
    assert paths_of(data, 1) is None


class Meddling(list):
    """A list of the program's own."""

    def __getitem__(self, _):
        raise AssertionError("the program's code runs")

    __len__ = __iter__ = __getitem__


def test_no_code_of_the_program_runs():
    assert paths_of(Data(samples=Meddling(names())), 5) is None
