"""Data sets that join the names of their files, by a list of ids, or by the index alone. How names follow is learned from
the first samples."""

import os
import pathlib
import sys

import pytest

from origin import settle
from stoker._torch import opened, sample_paths

PROGRAM = pathlib.Path(__file__).parent / "programs/ids.py"
COUNT, SIZE = 200, 20000
OTHERS = 19  # files beside each that no sample opens, so that what is read ahead of a tree is none


LOADERS = ["texts:2", "texts:0", "numbers:2", "pairs:2", "index:2", "drawn:2"]


@pytest.fixture(scope="module")
def data(session_origin):
    source, mount = session_origin.directory("ids")
    empty = source / "empty"
    empty.touch()
    for at, loader in enumerate(LOADERS):
        for kind, suffix in (("images", "jpg"), ("masks", "png"))[:1 + loader.startswith("pairs")]:
            (source / str(at) / kind).mkdir(parents=True)
            for number in range(COUNT):
                name = f"{source}/{at}/{kind}/{number:04}"
                pathlib.Path(f"{name}.{suffix}").write_bytes(os.urandom(SIZE))
                for other in range(OTHERS):
                    os.link(empty, f"{name}_{other}.{suffix}")
    settle()
    return mount


def test_names_that_follow(jobs, plainly, origin, data, parts):
    """Nearly all files are there before they are wanted in the first epoch, but for the last data set, whose names do not
    follow. Each is read once. Batches and draws are those of a job without Stoker."""
    line = [sys.executable, PROGRAM, data, *LOADERS]
    plain = plainly(line)
    origin.fs.latency_ms = 2
    with origin.fs.counting() as counted:
        ran = jobs.run(line, path=data, flags=["--no-history"], env=parts.env, timeout=300)
    assert ran.stdout == plain and len(plain.splitlines()) == len(LOADERS)
    files = {loader: COUNT * (2 if loader == "pairs:2" else 1) for loader in LOADERS}
    figures = dict(zip(LOADERS, parts.figures(), strict=True))
    assert {loader: of["opens"] for loader, of in figures.items()} == files
    assert [loader for loader in LOADERS[:-1] if figures[loader]["there"] < 0.7 * files[loader]] == []
    assert [loader for loader in LOADERS if figures[loader]["bytes_origin"] > 1.02 * files[loader] * SIZE] == []
    assert counted.counts()["read_bytes"] <= 1.02 * sum(files.values()) * SIZE


class Data:
    def __init__(self, **values):
        self.__dict__.update(values)


def _ids(data, index, most=3):
    return [names.take((index,))[0] for names in sample_paths.ids_of(data, most)]


def test_what_may_be_an_id():
    assert _ids(Data(ids=["a", "b/c", "d", "e"]), 1) == ["/b/c"]
    assert _ids(Data(ids=[("a", 1), ("b", 1), ("c", 1), ("d", 1)]), 1) == ["/b"]  # labels are the same
    assert _ids(Data(numbers=[5, 7, 11, 13]), 2) == ["/11", "/" + "11".zfill(20)]
    assert _ids(Data(), 2) == ["/2", "/" + "2".zfill(20)]
    assert _ids(Data(few=["a", "b"], flags=[True, False, None, 1.5]), 1) == ["/1", "/" + "1".zfill(20)]


class Meddling:
    """An item whose use is code of the program's."""

    def __str__(self):
        raise AssertionError("code of the program ran")

    __index__ = __int__ = __str__

    def __getitem__(self, key):
        raise AssertionError("code of the program ran")


class Text(str):
    def __str__(self):
        raise AssertionError("code of the program ran")


@pytest.mark.parametrize("items", [[*"abcdefgh", Meddling()], [*"abcdefgh", Text("i")], [*range(8), Meddling()], [*range(8), 8.5],
                                   [*zip("abcdefgh", range(8)), Meddling()], [*"abcdefgh", "i" * 5000]])
def test_an_item_that_is_no_id(items):
    """It ends the order, and nothing of it is called."""
    found = sample_paths.ids_of(Data(ids=items), 8)
    assert len(found) > 0 and found[0].take((7,))[0] in ("/h", "/7")
    for names in found:
        with pytest.raises(TypeError):
            names.take((8,))


@pytest.mark.parametrize("items", [[("a",), Meddling(), ("b",)], ["a", Meddling(), "b"], ["a", 1, "b"],
                                   ["a" * 5000, "b" * 5000, "c" * 5000]])
def test_lists_of_other_things_than_ids(items):
    """The index is the id: a list of long texts would cost their bytes several times."""
    assert _ids(Data(items=items), 1, most=2) == ["/1", "/" + "1".zfill(20)]


def test_the_same_number_in_each_process():
    """A process knows other indices than another one."""
    data = Data(few=["a", "b"], ids=["x", "y", "z", "u"])
    assert {*opened.ids_of(data, 3, 9)} < {*opened.ids_of(data, 1, 9)}
