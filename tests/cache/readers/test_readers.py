"""Real libraries read big files: the same bytes as plainly, each block once from the origin."""

import pytest

from harness import BLOCK, PAGES, forget
from readers.reader import PASSES, READS, UNSEEN, readers
from slices import ALL

EPOCHS = 3


def those(sees):
    return [name for name in readers if readers[name].sees == sees]


@pytest.fixture
def name(request, files):
    """A reader that can be run here."""
    why = files.why_missing(request.param)
    if why:
        pytest.skip(why)
    return request.param


def each(names):
    return pytest.mark.parametrize("name", names, indirect=True)


def counted_epochs(files, reading, name):
    """Returns the origin's counters for each of some epochs: right bytes all the time."""
    counts = []
    for seed in range(EPOCHS):
        forget(files.big(name)[0])
        with files.origin.fs.counting() as counted:
            assert reading.epoch(seed) == files.plain(name), f"epoch {seed}"
        counts.append(counted)
    return counts


def assert_next_process_asks_nothing(files, name):
    """Another process that imports torch again would find what each other library's does."""
    if not ALL and any(one.startswith("torch") for one in readers[name].needs):
        return
    with files.origin.fs.counting() as counted:
        with files.reading(name) as reading:
            for seed in range(EPOCHS):
                assert reading.epoch(seed) == files.plain(name)
    assert counted["open"] == counted["read_bytes"] == 0, counted.counts()


@each(those(READS))
def test_what_is_read(files, name):
    """By a descriptor that stays open, then by one that is opened when the file is whole."""
    with files.origin.fs.counting() as beginning, files.reading(name) as reading:
        counts = counted_epochs(files, reading, name)
        first = beginning["read_bytes"]
    assert first <= files.size(name) + PAGES, [one.counts() for one in counts]
    assert [one["read"] for one in counts[1:]] == [0] * (EPOCHS - 1)
    files.complete(name)
    assert_next_process_asks_nothing(files, name)


@each(those(UNSEEN))
def test_what_is_mapped(files, name):
    """The opens are the origin's until the file has been read. From then on each is served."""
    with files.reading(name) as reading:
        counted_epochs(files, reading, name)
        files.complete(name)
        assert reading.epoch(9) == files.plain(name)
        with files.origin.fs.counting() as counted:
            assert reading.epoch(10, again=True) == files.plain(name)
            assert reading.epoch(11) == files.plain(name)
        assert counted["read_bytes"] == 0, counted.counts()
    assert_next_process_asks_nothing(files, name)


@each(those(PASSES))
def test_what_passes(files, name):
    for _ in range(2):
        with files.origin.fs.counting() as counted:
            with files.reading(name) as reading:
                counted_epochs(files, reading, name)
        assert counted["read"] > 0
        files.complete(name)
    assert files.cached_blocks() == 0


# ---- many at once ----

MANY = ["os.pread", "open(), seek and read", "h5py, chunked, locking", "h5py, contiguous, no locking",
        "zipfile", "tarfile, streaming", "webdataset", "RecordIO with index", "Parquet, by row groups",
        "numpy.memmap", "lmdb, without its lock"]


STREAMS = ["tarfile, streaming", "webdataset", "readinto, unbuffered"]


# Processes that share an open file share its mode of reading ahead. One sets it back to the
# program's while another still reads, and the kernel asks ahead of that. Seen once in ten runs
# under load.
SHARED = 4 * BLOCK


def assert_each_block_once(files, reading, name, slack=PAGES):
    """First a quarter of the items are asked for, then four times as many."""
    with files.origin.fs.counting() as counted:
        assert reading.epoch(0, part=4) == files.plain(name, 4)
        assert reading.epoch(1) == files.plain(name)
    # Such a reader opens the file anew, and the kernel forgets all that it has read ahead. On a
    # busy machine some of the opens meet much of that. By themselves they would read it once each.
    under_way = files.size(name) * (counted["open"] // 2 - 1) if name in STREAMS else slack
    if readers[name].sees == READS:
        assert counted["read_bytes"] <= files.size(name) + under_way, counted.counts()
    forget(files.big(name)[0])
    with files.origin.fs.counting() as counted:
        assert reading.epoch(2) == files.plain(name)
    if readers[name].sees == READS:
        assert counted["read"] == 0


@each(MANY)
def test_eight_processes(files, name):
    with files.reading(name, "own") as reading:
        assert_each_block_once(files, reading, name)
    files.complete(name)
    assert_next_process_asks_nothing(files, name)


@each([name for name in MANY if not readers[name].alone and readers[name].sees != PASSES])
def test_eight_processes_with_what_was_open_before_the_fork(files, name):
    with files.reading(name, "inherited") as reading:
        assert_each_block_once(files, reading, name, slack=SHARED)


@each(["os.pread", "os.preadv", "tarfile, streaming", "readinto, unbuffered", "numpy.memmap"])
def test_eight_threads(files, name):
    with files.reading(name, "threads") as reading:
        assert_each_block_once(files, reading, name, slack=SHARED)


@each(["h5py, chunked, locking", "lmdb, without its lock", "Parquet, by row groups", *["os.pread"] * ALL])
def test_eight_workers_of_torch(files, name):
    pytest.importorskip("torch", reason="no torch")
    with files.reading(name, "loader") as reading:
        assert_each_block_once(files, reading, name)

