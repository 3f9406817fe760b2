"""Where the files of a batch lie until they are decoded."""

import contextlib
import subprocess
import sys

from torchvision import transforms as T

import pictures
import plain
from stoker import _core
from stoker._feed import Feed
from stoker._feeding import memory

CROP = T.Compose([T.CenterCrop(32), T.ToTensor()])


def decoded(function):
    """Returns the function's result, and the number of images that were decoded here meanwhile."""
    before = _core.counts()["images"]
    return function(), _core.counts()["images"] - before


def wanted(paths, room):
    pool = _core.feed_thread_pool(2)
    files = pool.files()
    files.read(paths, room)
    while not files.are_done():
        pool.wait(pool.ends())
    return files.wanted()


def test_memory_too_small_is_learned_from(jpegs, monkeypatch):
    """A file that does not fit lies elsewhere; the next batch fits."""
    monkeypatch.setattr(memory, "_LIKELY_BYTES", 800)
    labels = list(range(len(jpegs)))
    feed = Feed(jpegs, labels, transform=CROP, batch_size=4, threads=2)
    room = feed.files.take(4)
    assert wanted(jpegs[:4], room) > memoryview(room).nbytes
    given, count = decoded(lambda: plain.epochs(feed, 2))
    plain.assert_same(plain.epochs(plain.loader(jpegs, labels, CROP, batch_size=4), 2), given)
    assert count == 2 * len(jpegs)
    for i in range(0, len(jpegs), 4):
        room = feed.files.take(len(jpegs[i:i + 4]))
        assert wanted(jpegs[i:i + 4], room) <= memoryview(room).nbytes


def test_no_memory_in_one_piece(jpegs, monkeypatch):
    """Each file lies by itself then."""
    monkeypatch.setattr(memory, "_LIKELY_BYTES", 1 << 50)
    given, count = decoded(lambda: plain.epochs(Feed(jpegs, jpegs, transform=CROP, batch_size=4)))
    plain.assert_same(plain.epochs(plain.loader(jpegs, jpegs, CROP, batch_size=4)), given)
    assert count == len(jpegs)


@contextlib.contextmanager
def command_line(jpeg):
    """The path of a plain file with these bytes, that is said to have none: a process's command line. A
    comment behind the first two bytes makes these one that Python runs: 45 bytes long, it begins with
    a hyphen."""
    script = b"import time; time.sleep(1000)".ljust(40)
    data = jpeg[:2] + b"\xff\xfe\0-c\0" + script + b"\0" + jpeg[2:]
    with subprocess.Popen(data.split(b"\0"), executable=sys.executable) as process:
        try:
            yield f"/proc/{process.pid}/cmdline"
        finally:
            process.kill()


def test_a_file_that_is_longer_than_it_says():
    """It moves to where there is room for it, with what has been read."""
    jpeg = pictures.jpeg(pictures.image(90, 70), quality=90)
    assert len(jpeg) > 1000
    with command_line(jpeg) as path:
        expected = plain.epochs(plain.loader([path], [1], CROP))
        given, count = decoded(lambda: plain.epochs(Feed([path], [1], transform=CROP)))
    plain.assert_same(expected, given)
    assert count == 1
