"""Which files a data set's samples are made of, by its lists."""

import collections
import os
import pathlib
import resource
import signal
from array import array

import numpy
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset

from stoker._base.own import is_own
from stoker._torch.name_lists import encoded
from stoker._torch.sample_paths import names_of, paths_of

COUNT = 6
Row = collections.namedtuple("Row", "label path")


class Data(Dataset):
    """A data set with these attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def __len__(self):
        raise AssertionError("the program's code runs")

    __getitem__ = __getattr__ = __len__


class Reader:
    """An object of a data set."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Has images in two directories, and masks."""
    path = tmp_path_factory.mktemp("root")
    for name in "images", "more", "masks":
        (path / name).mkdir()
        for number in range(10):
            (path / name / f"{number}.jpg").touch()
    return path


@pytest.fixture
def names(root):
    return lambda directory="images", count=COUNT: [f"{root}/{directory}/{number}.jpg" for number in range(count)]


def files(data, indices=range(COUNT), most=COUNT - 1):
    each = zip(*(taken(names, indices) for names in paths_of(data, most)))
    return [name for names in each for name in names]


def taken(names, indices):
    """Returns the names of these samples. Encoded they must be the same."""
    found = names.take(indices)
    for kind in "iq":
        assert encoded(names, array(kind, indices)) == b"".join(os.fsencode(os.path.abspath(name)) + b"\0" for name in found)
    return found


def pandas_frame(names):
    return pytest.importorskip("pandas").DataFrame({"label": range(COUNT), "kind": ["cat"] * COUNT, "file": names})


LISTS = {
    "paths": list,
    "a tuple": tuple,
    "pathlib": lambda names: [*map(pathlib.Path, names)],
    "bytes": lambda names: [*map(os.fsencode, names)],
    "pairs": lambda names: [(name, 0) for name in names],
    "a target before the path": lambda names: [(0, name) for name in names],
    "named tuples": lambda names: [Row(1, name) for name in names],
    "lists": lambda names: [[name, 1] for name in names],
    "dicts": lambda names: [{"url": "http://a/b", "label": 1, "file": name} for name in names],
    "a dict by index": lambda names: dict(enumerate(names)),
    "a dict of dicts by index": lambda names: {index: {"file": name} for index, name in enumerate(names)},
    "an array": numpy.array,
    "an array of bytes": lambda names: numpy.array([*map(os.fsencode, names)]),
    "an array of objects": lambda names: numpy.array(names, dtype=object),
    "rows of an array": lambda names: numpy.array([("cat", name) for name in names]),
    "rows of an array of objects": lambda names: numpy.array([(0, name) for name in names], dtype=object),
    "a table": pandas_frame,
    "a table with an index of its own": lambda names: pandas_frame(names).set_index("label").rename(lambda label: -label),
    "a column": lambda names: pandas_frame(names)["file"],
}


@pytest.mark.parametrize("kind", LISTS)
def test_lists(kind, names):
    data = Data(classes=["a", "b"], samples=LISTS[kind](names()), targets=[0] * COUNT)
    assert files(data) == names() and files(data, (3, 1)) == [names()[3], names()[1]]


@pytest.mark.parametrize("name", ["猫.jpg", os.fsdecode(b"\xff.jpg"), "long" * 50 + ".jpg", "./x/../dot.jpg"])
@pytest.mark.parametrize("kind", ["paths", "pairs", "a target before the path"])
@pytest.mark.parametrize("relative", [False, True])
def test_odd_names(kind, name, relative, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    names = [(f"{number}-" if "/" not in name else "") + name for number in range(COUNT)]
    for each in names:
        (tmp_path / each).touch()
    names = names if relative else [f"{tmp_path}/{each}" for each in names]
    data = Data(samples=LISTS[kind](names))
    (found,) = paths_of(data, COUNT - 1)
    assert encoded(found, array("i", [4, 0])).split(b"\0")[0] == os.fsencode(
        os.path.join(tmp_path, names[4]) if relative else names[4])


@pytest.mark.parametrize("kind", ["paths", "pairs", "a tuple"])
def test_memory_that_workers_share_is_not_written(kind, tmp_path):
    """A reference to a name would have the kernel copy its page, in each pass, since each pass forks workers."""
    names = [f"{tmp_path}/{number:050}.jpg" for number in range(20000)]
    pathlib.Path(names[0]).touch()
    (found,) = paths_of(Data(samples=LISTS[kind](names)), 0)
    indices = array("q", range(len(names)))
    blocks = [indices[at:at + 250] for at in range(0, len(names), 250)]
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        faults = [faults_in(function, blocks) for function in (lambda block: encoded(found, block), found.take)]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert faults[0] < 100 < 500 < faults[1]


def faults_in(function, blocks):
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for block in blocks:
        function(block)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def test_a_list_alone(names):
    assert names_of(names())[0].take((2,)) == [names()[2]]
    assert names_of([1, 2, 3]) == names_of("a.jpg") == []


def test_one_list_by_two_names(names):
    samples = LISTS["pairs"](names())
    assert files(Data(samples=samples, imgs=samples), (3,)) == [names()[3]]


def test_images_and_masks(names):
    both = [names()[2], names("masks")[2]]
    assert files(Data(images=names(), masks=names("masks")), (2,)) == both
    assert files(Data(pairs=[*zip(names(), names("masks"))]), (2,)) == both


def test_names_beneath_a_directory(root):
    relative = [f"{number}.jpg" for number in range(COUNT)]
    for where in root / "images", str(root / "images"):
        assert files(Data(files=relative, root=str(root), where=where), (1,)) == [f"{root}/images/1.jpg"]
    data = Data(reader=Reader(files=relative), where=root / "images")
    assert files(data, (1,)) == [f"{root}/images/1.jpg"]


def test_ids(root):
    """As torchvision's CocoDetection has them."""
    images = {100 + number: {"coco_url": f"http://c/{number}.jpg", "file_name": f"{number}.jpg"} for number in range(10)}
    coco = Reader(anns={7: {"image_id": 100}}, imgs=images, cats={1: {"name": "cat"}})
    for ids in (ids := [103, 101, 102, 105, 104, 109]), numpy.array(ids), tuple(ids):
        data = Data(root=str(root / "images"), coco=coco, ids=ids)
        assert files(data, (0, 5)) == [f"{root}/images/3.jpg", f"{root}/images/9.jpg"]
    keys = Data(keys=["a", "b", "c"], files={key: f"{root}/more/{key}.jpg" for key in "cab"})
    assert paths_of(keys, 2) == []  # there are no such files
    keys.files = {key: f"{root}/more/{number}.jpg" for number, key in enumerate("cab")}
    assert files(keys, (0,), 2) == [f"{root}/more/1.jpg"]


def test_wrappers(names):
    inner = Data(samples=names(count=10))
    for indices in [7, 3, 5], numpy.array([7, 3, 5]), torch.tensor([7, 3, 5]), range(7, 0, -2):
        assert files(Subset(inner, indices), (0, 2), 2) == [names(count=10)[7], names(count=10)[indices[2]]]
    assert files(Data(dataset=Subset(inner, [7, 3, 5])), (1,), 2) == [names()[3]]
    both = Data(datasets=[inner, Data(samples=names("more", 4))], cumulative_sizes=[10, 14])
    assert files(both, (9, 11, 0), 13) == [names(count=10)[9], names("more")[1], names()[0]]
    assert files(Data(datasets=[inner, inner], cumulative_sizes=[10, 20]), (11, 1), 19) == [names()[1]] * 2
    torchs = ConcatDataset([names(), names()])
    assert paths_of(torchs, 11) == []  # lists have no attributes


def test_lists_that_lie_deeper(names):
    """As those of timm's readers."""
    reader = Reader(samples=LISTS["pairs"](names()), class_to_idx={"cat": 0})
    assert files(Data(transform=len, reader=reader), (4,)) == [names()[4]]
    assert files(Data(dataset=None, base=Data(inner=Data(reader=reader))), (4,)) == [names()[4]]


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_that_is_too_short(kind, names):
    """Is an error of ours, by which the order ends."""
    found = paths_of(Data(samples=LISTS[kind](names())), 0)
    for index in COUNT, 1 << 30:
        with pytest.raises(LookupError):
            encoded(found[0], array("q", [index]))
    with pytest.raises(LookupError) as raised:
        found[0].take((COUNT,))
    assert is_own(raised.value.with_traceback(raised.value.__traceback__.tb_next))


def test_tables_of_hugging_face(names):
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"label": range(COUNT), "image": names()})
    assert files(data, (1, 3)) == [names()[1], names()[3]]
    data = data.cast_column("image", datasets.Image())
    assert files(data, (1, 3)) == [names()[1], names()[3]]
    both = datasets.concatenate_datasets([data, data.select([2, 0])])
    assert files(both, (7, 6, 5), 7) == [names()[0], names()[2], names()[5]]
    shuffled = data.shuffle(seed=1)
    with pytest.raises(IndexError) as raised:
        files(shuffled, (COUNT,))
    at = raised.value.__traceback__
    while at.tb_frame.f_globals["__name__"] == __name__:
        at = at.tb_next
    assert is_own(raised.value.with_traceback(at))
    assert files(Data(dataset=shuffled)) == [names()[label] for label in shuffled["label"]]


@pytest.mark.parametrize("attributes", [
    {}, {"samples": []}, {"samples": ["one.jpg"]}, {"classes": ["cat", "dog"]}, {"samples": [1, 2, 3]},
    {"samples": ["/tmp"] * 3}, {"dataset": None}, {"files": ["missing.jpg"] * 6}, {"files": ["/missing.jpg"] * 6},
    {"indices": [1, 2], "dataset": 5}, {"samples": [(1, 2)] * 6}, {"samples": numpy.zeros((6, 6), "U3")},
    {"samples": numpy.array("a.jpg")}, {"ids": [1, 2, 3, 4, 5, 6], "of": {1: (), 2: ()}}])
def test_no_list(attributes):
    assert paths_of(Data(**attributes), 5) == []


def test_what_looks_into_itself():
    data = Data()
    data.dataset = data
    data.again = Data(dataset=data)
    assert paths_of(data, 1) == []


def code_runs(*_):
    raise AssertionError("the program's code runs")


class Meddling(list):
    """A list of the program's own."""

    __getitem__ = __len__ = __iter__ = code_runs


class Hidden:
    __dict__ = property(code_runs)


class Name(str):
    __fspath__ = __add__ = __contains__ = code_runs


class Key(str):
    __eq__ = code_runs
    __hash__ = str.__hash__


def test_no_code_of_the_program_runs(names):
    ours = {Key(key): {"file": name} for key, name in zip("abcdef", names())}
    for attributes in ({"samples": Meddling(names())}, {"reader": Hidden()}, {"samples": [*map(Name, names())]},
                       {"ids": [*map(Key, "abcdef")], "images": ours}):
        assert paths_of(Data(**attributes), 5) == []


def test_an_item_unlike_the_first(names):
    """An object that is no name is an error of ours, by which the order ends."""
    found = paths_of(Data(samples=[*names()[:5], Hidden()]), 5)
    with pytest.raises(TypeError):
        found[0].take((5,))
    with pytest.raises(TypeError):
        encoded(found[0], array("q", [5]))


class Joined(str):
    __radd__ = startswith = code_runs


@pytest.mark.parametrize("is_relative", [True, False])
def test_a_name_of_the_programs_class_among_others(names, root, is_relative):
    """Its functions do not run: the order ends."""
    own = [name.rpartition("/")[2] for name in names()] if is_relative else names()
    data = Data(samples=[*[(name, 0) for name in own[:5]], (Joined(own[5]), 0)], root=root / "images")
    (found,) = paths_of(data, 5)
    with pytest.raises(TypeError):
        encoded(found, array("q", [5]))
