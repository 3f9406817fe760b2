"""Opens of images of which only the form is cached. Usage: later.py DIRECTORY. Decodes all of its
JPEGs until enough of them have a form and no entry. Then it does with these what programs do
between opening an image and loading it. Prints "sound" when all is as Pillow has it."""

import errno
import itertools
import os
import pathlib
import pickle
import sys

from PIL import Image
from stoker._store import sources


def pixels(path):
    with Image.open(path) as image:
        return image.convert("RGB").tobytes()


def are_later(paths):
    """Those that need not be opened."""
    for path in paths:
        with Image.open(path) as image:
            if sources.is_lazy(image.fp):
                yield path


def descriptors():
    return set(os.listdir("/proc/self/fd"))


def unopened(path, expected, data):
    before = descriptors()
    image = Image.open(path)
    assert descriptors() == before, "it was opened"
    assert image.fp.name == image.filename == path and image.fp.mode == "rb" and image.fp.seekable()
    assert image.convert("RGB").tobytes() == expected and image.fp is None


def read(path, expected, data):
    image = Image.open(path)
    image.fp.seek(0)
    assert image.fp.read() == data
    assert image.convert("RGB").tobytes() == expected
    image = Image.open(path)
    assert os.pread(image.fp.fileno(), 100, 0) == data[:100] and image.fp.tell() > 0
    assert image.convert("RGB").tobytes() == expected
    with open(path, "rb") as file:
        assert file.read() == data


def closed(path, expected, data):
    image = Image.open(path)
    file = image.fp
    image.close()
    assert file.closed
    try:
        file.read()
    except ValueError:
        pass
    else:
        raise AssertionError("a closed file was read")
    assert pickle.loads(pickle.dumps(Image.open(path))).tobytes() == expected


def elsewhere(path, expected, data):
    """By a name that is relative to where the process was, beside others that are opened meanwhile."""
    os.chdir(os.path.dirname(path))
    image, other = Image.open(os.path.basename(path)), Image.open(os.path.basename(path))
    Image.open(path)
    os.chdir("/")
    assert other.fp.read(4) and image.filename == os.path.basename(path)
    assert image.convert("RGB").tobytes() == other.convert("RGB").tobytes() == expected


def removed(path, expected, data):
    image, other = Image.open(path), Image.open(path)
    os.unlink(path)
    assert other.convert("RGB").tobytes() == expected
    assert image.convert("RGB").tobytes() == expected
    try:
        Image.open(path)
    except FileNotFoundError as error:
        assert error.filename == path
    else:
        raise AssertionError("a file that is gone was opened")


def replaced(path, expected, data):
    image = Image.open(path)
    Image.new("RGB", image.size, (200, 10, 10)).save(path + ".new", "JPEG")
    os.rename(path + ".new", path)
    assert image.convert("RGB").tobytes() == expected
    assert pixels(path) != expected


def read_when_replaced(path, expected, data):
    """The file's bytes are needed: those of another file are no part of this image."""
    image, other = Image.open(path), Image.open(path)
    image.draft("RGB", (image.width // 2, image.height // 2))
    Image.new("RGB", other.size, (200, 10, 10)).save(path + ".new", "JPEG")
    os.rename(path + ".new", path)
    for use in image.load, other.fp.read:
        try:
            use()
        except OSError as error:
            assert (error.errno, error.filename) == (errno.ESTALE, path)
        else:
            raise AssertionError("another file was read")
    assert other.convert("RGB").tobytes() == expected


def renumbered(path, expected, data):
    """By a mount that makes up another inode number: it still is the file."""
    numbers, own = itertools.count(), sources._inode_of
    sources._inode_of = lambda file: (0, next(numbers))
    try:
        image = Image.open(path)
        image.fp.seek(0)
        assert image.fp.read() == data
    finally:
        sources._inode_of = own


def written(path, expected, data):
    """In its place, by another size than it had: as Pillow, which reads it when it is loaded."""
    image = Image.open(path)
    Image.new("RGB", image.size, (200, 10, 10)).save(path + ".new", "JPEG")
    with open(path + ".new", "rb") as new, open(path, "r+b") as file:
        file.write(new.read())
        file.truncate()
    os.unlink(path + ".new")
    assert image.convert("RGB").getpixel((3, 3))[0] > 150
    assert pixels(path) != expected


def main():
    paths = sorted(map(str, pathlib.Path(sys.argv[1]).glob("*.jpg")))
    expected = {path: pixels(path) for path in paths}  # nothing has a form yet
    for _ in range(4):
        assert all(pixels(path) == expected[path] for path in paths)
    found = list(are_later(paths))
    assert len(found) > 20, len(found)
    actions = (unopened, read, closed, elsewhere, removed, replaced, read_when_replaced, renumbered,
               written)
    for action, path in zip(actions, found):
        with open(path, "rb") as file:
            data = file.read()
        action(path, expected[path], data)
        print(action.__name__, flush=True)
    print("sound")


if __name__ == "__main__":
    main()
