"""Files that cannot be read, consumers that stop, signals, forks: clear errors, and nothing is left."""

import gc
import io
import os
import pathlib
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest
import torch
from PIL import Image
from torchvision import transforms as T

import pictures
import plain
from jobs import PATIENCE_S, read_line
from stoker import _core
from stoker import transforms as S
from stoker._feed import Feed

CROP = T.Compose([T.CenterCrop(32), T.ToTensor()])


@pytest.fixture(autouse=True)
def nothing_of_before():
    """Errors of the tests before hold what they came from."""
    gc.collect()


def threads():
    return len(os.listdir("/proc/self/task"))


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def assert_none_left(before):
    """Waits until there are as many threads as before: the kernel takes one away a moment after it
    was joined."""
    deadline = time.monotonic() + PATIENCE_S
    while threads() != before:
        assert time.monotonic() < deadline, f"{threads()} threads, {before} before"
        time.sleep(0.001)


def said(error):
    return str(error) + "".join(getattr(error, "__notes__", ()))


# ---- files ----

def broken(tmp_path, name):
    """A path that Pillow raises an error for."""
    path = tmp_path / name
    data = pictures.jpeg(pictures.image(200, 150))
    if name == "directory":
        path.mkdir()
    elif name == "nothing of an image":
        path.write_bytes(b"not an image" * 100)
    elif name == "empty":
        path.write_bytes(b"")
    elif name == "cut":
        path.write_bytes(data[:len(data) // 2])
    elif name == "cut, with an end":
        path.write_bytes(data[:len(data) // 2] + b"\xff\xd9")
    elif name == "a cut png":
        stream = io.BytesIO()
        pictures.image(200, 150).save(stream, "PNG")
        path.write_bytes(stream.getvalue()[:5000])
    return str(path)


NAMES = ("missing", "directory", "nothing of an image", "empty", "cut", "cut, with an end", "a cut png",
         "a\0b")


def opened(path):
    with Image.open(path) as file:
        return CROP(file.convert("RGB"))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_cannot_be_read(jpegs, tmp_path, name):
    """Pillow's error, with the path, at its batch; what Pillow reads all the same is the same."""
    path = broken(tmp_path, name)
    chosen = [*jpegs[:5], path, *jpegs[5:12]]
    given, expected = iter(Feed(chosen, transform=CROP, batch_size=3, threads=2)), []
    try:
        opened(path)
    except Exception as error:
        expected.append(error)
    for i in range(0, 12, 3):
        if i == 3 and expected:
            with pytest.raises(type(expected[0])) as raised:
                next(given)
            assert path in said(raised.value)
            assert str(raised.value) == str(expected[0])
            continue
        images, _ = next(given)
        assert torch.equal(images, torch.stack([opened(each) for each in chosen[i:i + 3]]))
    assert len(next(given)[0]) == 1
    assert next(given, None) is None and next(given, None) is None


def read_by_threads(feed):
    """A pass over it whose first batch's files were read."""
    epoch = iter(feed)
    deadline = time.monotonic() + PATIENCE_S
    while not epoch._batches[0].files.are_done() and time.monotonic() < deadline:
        time.sleep(0.001)
    return epoch


def test_a_file_that_goes_between_the_steps(jpegs, tmp_path):
    """It was read before; a second look at it does not find it."""
    path = tmp_path / "gone.jpg"
    path.write_bytes(pathlib.Path(jpegs[0]).read_bytes())
    feed = Feed([str(path), *jpegs[1:4]], transform=T.Compose([T.CenterCrop(32), T.ColorJitter(0.1),
                                                               T.ToTensor()]), batch_size=2)
    epoch = read_by_threads(feed)
    path.unlink()
    with pytest.raises(FileNotFoundError) as raised:
        next(epoch)
    assert str(path) in said(raised.value)
    assert len(next(epoch)[0]) == 2


def inverted_crop(image):
    return CROP(image.point(lambda value: 255 - value))


NEW_SIZES = (400, 300), (60, 50), (200, 150)


@pytest.mark.parametrize("size", NEW_SIZES)
@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_file_that_becomes_another_between_the_steps(tmp_path, size, is_replaced):
    """The second reader gets the new file's pixels, and no mixture of the two."""
    path, other = tmp_path / "image.jpg", tmp_path / "other.jpg"
    path.write_bytes(pictures.jpeg(pictures.image(200, 150)))
    other.write_bytes(pictures.jpeg(pictures.image(*size, seed=2)))
    with Image.open(other) as file:
        expected = inverted_crop(file.convert("RGB"))
    epoch = read_by_threads(Feed([str(path)], transform=inverted_crop))
    if is_replaced:
        other.rename(path)
    else:
        path.write_bytes(other.read_bytes())
    images, _ = next(epoch)
    assert torch.equal(images[0], expected)


def test_sizes_that_differ(jpegs):
    """torch's own error."""
    feed = iter(Feed(jpegs[:4], transform=T.Compose([T.ToTensor()]), batch_size=2))
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        next(feed)


def test_a_pipe_is_pillows(jpegs, tmp_path):
    """A thread that cannot be interrupted does not wait for its opening; Pillow reads it."""
    os.mkfifo(tmp_path / "pipe")
    epoch = iter(Feed([str(tmp_path / "pipe")], transform=CROP))
    data = pathlib.Path(jpegs[0]).read_bytes()
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(data))
    writer.start()
    images, _ = next(epoch)
    writer.join()
    assert torch.equal(images[0], opened(jpegs[0]))


class Unnoted(OSError):
    """An error as those before Python 3.11."""

    @property
    def add_note(self):
        raise AttributeError("add_note")


class Picky:
    """A transform of the program's that fails once."""

    def __init__(self, fails_at, kind=KeyError):
        self.left = fails_at
        self.kind = kind

    def __call__(self, image):
        self.left -= 1
        if self.left == 0:
            raise self.kind("not this one")
        return CROP(image)


@pytest.mark.parametrize("kind", [KeyError, Unnoted])
def test_a_transform_that_raises(jpegs, kind):
    epoch = iter(Feed(jpegs[:9], transform=Picky(5, kind), batch_size=3))
    assert len(next(epoch)[0]) == 3
    with pytest.raises(kind, match="not this one") as raised:
        next(epoch)
    assert jpegs[4] in said(raised.value)
    assert len(next(epoch)[0]) == 3
    assert next(epoch, None) is None


# ---- who stops ----

def test_no_thread_is_left(jpegs):
    before, open_before = threads(), descriptors()
    feed = Feed(jpegs, transform=CROP, batch_size=4, threads=3)
    assert_none_left(before)
    for _ in feed:
        assert threads() == before + 3
    assert_none_left(before)
    for _ in feed:
        break
    assert_none_left(before)
    epoch = iter(feed)
    next(epoch)
    epoch.close()
    epoch.close()
    assert_none_left(before)
    assert next(epoch, None) is None
    with pytest.raises(ZeroDivisionError):
        for _ in feed:
            1 / 0
    assert_none_left(before)
    epoch = iter(feed)
    epoch.itself = epoch  # for the garbage collector alone
    del epoch
    gc.collect()
    assert_none_left(before)
    assert descriptors() == open_before


def test_a_thousand_of_them(jpegs):
    """Some run to their end, most do not."""
    def one(i):
        feed = Feed(jpegs[:6], transform=CROP, batch_size=2, threads=2)
        epoch = iter(feed)
        for _ in range(i % 4):
            next(epoch)
        if i % 3 == 0:
            epoch.close()
        return feed
    for i in range(300):
        one(i)
    before, open_before, memory_before = threads(), descriptors(), resident_bytes()
    for i in range(1000):
        one(i)
    assert_none_left(before)
    assert descriptors() == open_before
    assert resident_bytes() - memory_before < 4 << 20


def test_memory_is_given_again(jpegs):
    """When the last tensor over it has ended; not before."""
    feed = Feed(jpegs, transform=CROP, batch_size=2, prefetch=2)
    places = {images.data_ptr() for _ in range(4) for images, _ in feed}
    assert len(places) <= 2 + 2
    kept, rows = [], []
    for images, _ in feed:
        kept.append((images, images.clone()))
        rows.append(images[1].numpy())
        del images
    assert len({images.data_ptr() for images, _ in kept}) == len(kept) == 10
    for _ in feed:
        pass
    assert all(torch.equal(images, copy) for images, copy in kept)
    copies = [copy[1].numpy() for _, copy in kept]
    del kept, feed
    assert all((row == copy).all() for row, copy in zip(rows, copies))


def test_what_was_held_goes_back():
    """All that a pool does not keep."""
    pool = _core.feed_buffer_pool(2, False)
    before = resident_bytes()
    held = [pool.take(4 << 20) for _ in range(10)]
    for memory in held:
        memoryview(memory)[:] = bytes(4 << 20)
    assert resident_bytes() - before > 36 << 20
    held.clear()
    del memory
    assert 4 << 20 < resident_bytes() - before < 12 << 20
    del pool
    assert resident_bytes() - before < 4 << 20


def test_several_at_once(jpegs):
    feed = Feed(jpegs, jpegs, transform=CROP, batch_size=4, threads=2)
    for one, other, third in zip(feed, feed, Feed(jpegs, jpegs, transform=CROP, batch_size=4)):
        plain.assert_same([[one]], [[other]])
        plain.assert_same([[one]], [[third]])


def test_arguments(jpegs):
    for wrong in dict(threads=0), dict(threads=-1), dict(prefetch=-1), dict(batch_size=0):
        with pytest.raises((ValueError, OverflowError)):
            iter(Feed(jpegs, transform=CROP, **wrong))


# ---- forks ----

def in_a_child(function):
    """Returns the function's result in a child of fork. The child has a minute and a half: longer
    than it may wait for something."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(90)
            os.write(writer, repr(function()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as file:
        answer = file.read()
    assert os.waitpid(child, 0)[1] == 0
    return answer


def test_shared_memory_that_is_kept_is_the_parent_s():
    """A child sees lent memory, and its own memory lies elsewhere."""
    pool = _core.feed_buffer_pool(2, True)
    lent, kept = pool.take(4096), pool.take(4096)
    memoryview(kept)[:] = bytes([1]) * 4096
    del kept

    def ask():
        memoryview(lent)[:1] = bytes([2])
        taken = [pool.take(4096) for _ in range(3)]
        for memory in taken:
            memoryview(memory)[:] = bytes([3]) * 4096
    assert in_a_child(ask) == "None"
    assert bytes(memoryview(lent)[:1]) == bytes([2])
    assert bytes(pool.take(4096)) == bytes([1]) * 4096


def test_a_fork_in_the_middle(jpegs):
    feed = Feed(jpegs, list(range(len(jpegs))), transform=CROP, batch_size=4, threads=2)
    expected = plain.epochs(feed)
    epoch = iter(feed)
    first = next(epoch)

    def ask():
        try:
            next(epoch)
        except RuntimeError as error:
            return str(error)

    assert "begun by another process" in in_a_child(ask)
    assert in_a_child(lambda: [epoch.close(), epoch.close()]) == "[None, None]"
    assert in_a_child(lambda: [len(batch) for batch in feed] + [assert_none_left(1)]) == repr([2] * 5 + [None])
    assert in_a_child(lambda: first[0].sum().item()) == repr(first[0].sum().item())
    plain.assert_same(expected, [[first, *epoch]])


def test_a_fork_while_a_child_lets_go(jpegs):
    """At whatever moment its parent's threads were interrupted."""
    feed = Feed(jpegs, transform=S.RandomResizedCropFlip(64), batch_size=4, threads=3)
    for _ in range(10):
        epoch = iter(feed)
        next(epoch)
        holders = [epoch]
        del epoch
        assert in_a_child(lambda: (holders.clear(), gc.collect()) and len(list(feed))) == "5"


# ---- signals, and the end of a process ----

def started(text, *arguments):
    """A program, with the packages that the tests have."""
    return subprocess.Popen([sys.executable, "-B", "-c", textwrap.dedent(text), *arguments], text=True,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


SLOW = """
    import signal, sys
    from torchvision import transforms as T
    from stoker._feed import Feed
    import stoker._pillow.check as check
    check.proven()
    transform = T.Compose([T.CenterCrop(32), T.ToTensor()])
    epoch = iter(Feed(sys.argv[1:], transform=transform, batch_size=2, threads=2))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which is ignored below a shell's "&"
    try:
        print("waiting", flush=True)
        next(epoch)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        print(len(next(epoch)[0]), flush=True)
"""


def test_waiting_is_interrupted(jpegs, tmp_path):
    """By Ctrl-C, while the files of an origin that hangs are still to come; they come all the same."""
    slowfs = pytest.importorskip("slowfs")
    for path in jpegs[:4]:
        (tmp_path / os.path.basename(path)).write_bytes(pathlib.Path(path).read_bytes())
    try:
        slow = slowfs.SlowFS(str(tmp_path)).__enter__()
    except slowfs.SlowFSError as error:
        pytest.skip(str(error))
    try:
        names = [os.path.join(slow.mountpoint, name) for name in sorted(os.listdir(tmp_path))[:2]]
        with started(SLOW, *names) as process:
            with slow.faults(hang_ns=slowfs.HOUR_NS):
                assert read_line(process) == "waiting"
                time.sleep(0.3)  # until it is
                process.send_signal(signal.SIGINT)
                assert read_line(process) == "interrupted"
            out, err = process.communicate(timeout=PATIENCE_S)
            assert (process.returncode, out) == (0, "2\n"), err
    finally:
        slow.__exit__(None, None, None)


LEFT_OPEN = """
    import sys
    from torchvision import transforms as T
    from stoker._feed import Feed
    transform = T.Compose([T.CenterCrop(32), T.ToTensor()])
    feed = Feed(sys.argv[1:], transform=transform, batch_size=2, threads=2)
    epoch, other = iter(feed), iter(feed)
    next(epoch), next(other)
    other.itself = other
    print("end", flush=True)
"""


def test_a_process_that_may_start_no_thread(run_forked, jpegs):
    """Python's threading says it in these words."""
    assert run_forked("no_thread.py", jpegs[0]) == "can't start new thread\n"


def test_the_end_of_a_process(jpegs):
    """The program ends with passes that are still open."""
    with started(LEFT_OPEN, *jpegs[:8]) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out, err) == (0, "end\n", "")


def test_one_at_a_time(jpegs):
    """A signal's handler that asks for the batch that is waited for gets an error, not a deadlock."""
    def transform(image):
        os.kill(os.getpid(), signal.SIGUSR1)
        return CROP(image)

    errors = []

    def handler(*_):
        with pytest.raises(RuntimeError) as raised:
            next(epoch)
        errors.append(str(raised.value))

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        epoch = iter(Feed(jpegs[:2], transform=transform, batch_size=2))
        assert len(next(epoch)[0]) == 2
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(errors) == 2 and "waits for this batch" in errors[0]


# ---- arguments ----

@pytest.mark.parametrize("wrong, says", [
    ({"threads": -2}, "threads is 1 or more"), ({"threads": 0}, "threads is 1 or more"),
    ({"threads": 2.5}, "threads is a whole number"), ({"prefetch": -1}, "prefetch is 0 or more"),
    ({"prefetch": 1.5}, "prefetch is a whole number"), ({"generator": "3"}, "generator is a torch.Generator"),
    ({"generator": 3.0}, "generator is a torch.Generator"), ({"transform": 3}, "cannot be called"),
    ({"transform": T.Compose([CROP, None])}, "cannot be called"), ({"labels": "ab"}, "labels is a sequence"),
    ({"paths": "a.jpg"}, "paths is a sequence"), ({"paths": pathlib.Path("a.jpg")}, "paths is a sequence"),
    ({"paths": {0: "a.jpg", 1: "b.jpg"}}, "paths is a sequence"),
], ids=repr)
def test_what_is_wrong_is_said_at_once(wrong, says):
    with pytest.raises((TypeError, ValueError), match=says):
        Feed(**{"paths": ["a.jpg", "b.jpg"], **wrong})


def test_whole_numbers_of_numpy(tmp_path):
    Image.new("RGB", (40, 40)).save(tmp_path / "a.jpg")
    feeds = [Feed([tmp_path / "a.jpg"] * 9, list(range(9)), transform=CROP, shuffle=True, generator=kind(3),
                  threads=kind(1), prefetch=kind(1), batch_size=2) for kind in (int, numpy.int64)]
    first, second = ([labels.tolist() for _, labels in feed] for feed in feeds)
    assert first == second and sorted(sum(first, [])) == list(range(9))
