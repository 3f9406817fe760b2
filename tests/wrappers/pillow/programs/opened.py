"""Prints all that a program sees of Image.open() on files that were decoded before. Arguments: two
directories, the second with odd files."""

import builtins
import gc
import inspect
import io
import os
import pathlib
import pickle
import shutil
import sys
import threading
import warnings

import cases
from cases import Image, attempt, case, everything
from PIL import ImageFile, ImageOps, JpegImagePlugin

DIRECTORY, ODD = sys.argv[1], sys.argv.pop(2)
NAMES = sorted(os.listdir(DIRECTORY))


def path(name="color.jpg"):
    return os.path.join(DIRECTORY, name)


for directory in (DIRECTORY, ODD):  # the first touch
    for each in os.listdir(directory):
        with warnings.catch_warnings(), Image.open(os.path.join(directory, each)) as image:
            warnings.simplefilter("ignore")
            image.convert("RGB").crop((0, 0, 1, 1)).tobytes()


class Like:
    def __init__(self, name):
        self.name = name

    def __fspath__(self):
        return self.name


@case
def by_every_kind_of_name():
    return [[everything(Image.open(kind(path(name)))) for name in NAMES]
            for kind in (str, os.fsencode, pathlib.Path)]


@case
def by_like():
    return attempt(lambda: everything(Image.open(Like(path()))))


@case
def by_relative_name():
    os.chdir(DIRECTORY)
    return [everything(Image.open(kind("color.jpg"))) for kind in (str, pathlib.Path)]


@case
def by_descriptor():
    with open(os.open(path(), os.O_RDONLY), "rb") as file:
        return everything(Image.open(file)), file.tell()


@case
def by_file():
    seen = []
    for name in NAMES:
        with open(path(name), "rb") as file:
            image = Image.open(file)
            seen += [image.fp is file, file.tell(), everything(image), file.tell(), file.closed]
    return seen


@case
def odd_ones():
    seen = []
    for name in sorted(os.listdir(ODD)):
        seen.append(everything(Image.open(os.path.join(ODD, name))))
        with open(os.path.join(ODD, name), "rb") as file:
            image = Image.open(file)
            seen += [file.tell(), everything(image), file.tell()]
    return seen


@case
def by_other_files():
    seen = []
    for options in ({"buffering": 0}, {"mode": "r+b"}, {"buffering": 100}):
        with open(path(), **{"mode": "rb", **options}) as file:
            image = Image.open(file)
            seen += [image.fp is file, file.tell(), everything(image), file.tell()]
    return seen


@case
def where_something_was_read():
    seen = []
    for n in (0, 1, 5000):
        with open(path(), "rb") as file:
            file.read(n)
            file.peek(10)
            image = Image.open(file)
            seen += [file.tell(), everything(image), file.tell()]
    return seen


@case
def read_by_the_program_in_between():
    seen = []
    for at in (0, 20, 700, 10**6):
        with open(path("large.jpg"), "rb") as file:
            image = Image.open(file)
            behind = file.read(10)
            file.seek(at)
            seen += [behind, file.read(3), attempt(lambda: everything(image)), file.tell()]
    return seen


@case
def read_by_name_in_between():
    image = Image.open(path())
    behind = image.fp.read(100)
    image.fp.seek(3, 1)
    return behind, image.fp.tell(), everything(image)


@case
def closed_in_between():
    with open(path(), "rb") as file:
        image = Image.open(file)
    seen = [attempt(image.load), image.size]
    image = Image.open(path())
    file = image.fp
    image.close()
    return seen, file.closed, attempt(image.load), attempt(lambda: image.fp)


@case
def in_contexts():
    with Image.open(path()) as image:
        file = image.fp
    seen = [file.closed, attempt(image.load), image.fp]
    with Image.open(path()) as image:
        file = image.fp
        image.load()
        seen += [file.closed, image.fp]
    with open(path(), "rb") as file, Image.open(file) as image:
        pass
    return seen, file.closed, image.fp


@case
def unclosed_files():
    """Which warnings come when an image goes whose file is open."""
    gc.collect()
    seen = []
    for action in (lambda image: None, lambda image: image.load(), lambda image: image.close()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            image = Image.open(path())
            action(image)
            del image
            gc.collect()
        seen.append([(each.category.__name__, str(each.message)) for each in caught])
    return seen


@case
def descriptors_are_given_back():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        Image.open(path()).load()
        Image.open(path()).close()
        attempt(lambda: Image.open(path("no.jpg")))
    return len(os.listdir("/proc/self/fd")) - before


@case
def drafts():
    seen = []
    for mode, size in (("RGB", (30, 30)), ("L", (100, 100)), ("YCbCr", None)):
        image = Image.open(path("large.jpg"))
        result = image.draft(mode, size)
        seen.append([result, image.tile, image])
    return seen


@case
def thumbnails():
    image = Image.open(path("large.jpg"))
    image.thumbnail((50, 50))
    return image


@case
def verified():
    image = Image.open(path())
    file = image.fp
    image.verify()
    return file.closed, image.fp, attempt(image.load)


@case
def lenient():
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        return everything(Image.open(path()))
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


@case
def bombs():
    limit, seen = Image.MAX_IMAGE_PIXELS, []
    try:
        for Image.MAX_IMAGE_PIXELS in (None, 10, 123 * 97 - 1, 123 * 97):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                seen.append(attempt(lambda: everything(Image.open(path()))))
            seen.append([(each.category.__name__, str(each.message),
                          os.path.basename(each.filename)) for each in caught])
    finally:
        Image.MAX_IMAGE_PIXELS = limit
    return seen


@case
def named_formats():
    return [attempt(lambda: everything(Image.open(path(), formats=formats)))
            for formats in (None, ["JPEG"], ("jpeg",), ["PNG"], [], "JPEG", 5)]


@case
def wrong_arguments():
    return [attempt(lambda: Image.open(*arguments, **named)) for arguments, named in (
        ((), {}), ((path(), "rb"), {}), ((path(),), {"mode": "w"}), ((path(),), {"way": 1}),
        ((5,), {}), ((None,), {}), (("",), {}), ((b"",), {}), (([],), {}),
        ((path("no.jpg"),), {}), ((DIRECTORY,), {}), (("a\0b",), {}), ((io.StringIO("x"),), {}))]


@case
def by_keyword():
    return everything(Image.open(fp=path())), everything(Image.open(fp=path(), mode="r"))


@case
def what_it_is():
    return (Image.open.__name__, Image.open.__qualname__, Image.open.__module__,
            str(inspect.signature(Image.open)), bool(Image.open.__doc__),
            pickle.loads(pickle.dumps(Image.open)) is Image.open)


@case
def no_image():
    name = path("../no-image.jpg")
    with open(name, "wb") as file:
        file.write(b"\xff\xd8\xffnothing of the kind")
    seen = [attempt(lambda: Image.open(name)), attempt(lambda: Image.open(open(name, "rb")))]
    os.unlink(name)
    return seen


@case
def another_opener():
    """A plugin of the program's that looks at everything first."""
    looked, prefixes = [], set()

    def accept(prefix):
        prefixes.add(prefix)
        return True

    def factory(fp, filename):
        looked.append((type(fp).__name__, filename, fp.read(4), fp.seek(0, 2)))
        raise SyntaxError("not mine")

    Image.register_open("NOSY", factory, accept)
    Image.ID.remove("NOSY")
    Image.ID.insert(0, "NOSY")
    try:
        seen = [everything(Image.open(path()))]
        with open(path(), "rb") as file:
            seen.append(everything(Image.open(file)))
        return seen, looked, list(prefixes)
    finally:
        Image.ID.remove("NOSY")
        del Image.OPEN["NOSY"]


def first(accept):
    """A plugin of the program's that is asked first, and refuses all files."""
    Image.register_open("NOSY", lambda fp, filename: None, accept)
    Image.ID.remove("NOSY")
    Image.ID.insert(0, "NOSY")


class Opening(Like):
    """A name that an image is opened for."""

    def __fspath__(self):
        Image.open(path("422.jpg")).load()
        return self.name


@case
def within_one_another():
    """Images that are opened while another one is."""
    inner = [lambda: Image.open(path("422.jpg")),
             lambda: Image.open(path("422.jpg"), formats=["JPEG"]),
             lambda: Image.open(open(path("422.jpg"), "rb")),
             lambda: attempt(lambda: Image.open(path("no.jpg"))),
             lambda: Image.open(os.path.join(ODD, "two.jpg")), lambda: Image.open(path("grey.jpg"))]
    seen = []
    for function in inner:
        depth, within = [], []  # looks within; the number of calls of accept() is not compared

        def accept(prefix):
            if len(depth) < 3:
                depth.append(1)
                image = function()
                told = image if type(image) is tuple else everything(image)
                if told not in within:
                    within.append(told)
                depth.pop()
            return False

        first(accept)
        try:
            seen.append(everything(Image.open(path())))
            with open(path(), "rb") as file:
                seen += [everything(Image.open(file)), file.tell(), within]
        finally:
            Image.ID.remove("NOSY")
            del Image.OPEN["NOSY"]
    return seen


@case
def for_its_own_name():
    return attempt(lambda: everything(Image.open(Opening(path()))))


@case
def another_factory():
    plain = Image.OPEN["JPEG"]
    seen = []

    def factory(fp, filename):
        seen.append((type(fp).__name__, filename, len(fp.read())))
        fp.seek(0)
        return plain[0](fp, filename)

    Image.OPEN["JPEG"] = factory, plain[1]
    try:
        return everything(Image.open(path())), seen
    finally:
        Image.OPEN["JPEG"] = plain


@case
def another_marker():
    plain = JpegImagePlugin.MARKER[0xFFE0]
    seen = []

    def handler(image, marker):
        at = image.fp.tell()
        image.fp.seek(0)
        seen.append(len(image.fp.read()))
        image.fp.seek(at)
        plain[2](image, marker)

    JpegImagePlugin.MARKER[0xFFE0] = plain[:2] + (handler,)
    try:
        return everything(Image.open(path())), seen
    finally:
        JpegImagePlugin.MARKER[0xFFE0] = plain


@case
def another_way_to_read():
    """Methods of the program's that look at what comes behind the header."""
    kind, seen = JpegImagePlugin.JpegImageFile, []
    for name, back in (("_open", 0), ("_open", -9), ("_getmp", 0)):
        plain = kind.__dict__[name]

        def method(self):
            result = plain(self)
            self.behind = self.fp.read(9)
            self.fp.seek(back, 1)
            return result

        setattr(kind, name, method)
        try:
            image = Image.open(path())
            with open(path(), "rb") as file:
                other = Image.open(file)
                seen += [image.behind, everything(image), other.behind, everything(other),
                         file.tell()]
        finally:
            setattr(kind, name, plain)
    return seen


@case
def another_open():
    """The program's own open(), as of a library that looks into archives."""
    plain, seen = builtins.open, []

    def other(name, mode="r", *arguments, **named):
        seen.append((str(name), mode))
        return io.BytesIO(plain(name, mode).read())

    builtins.open = other
    try:
        return everything(Image.open(path())), seen
    finally:
        builtins.open = plain


@case
def names_of_builtins():
    return Image.builtins.__name__, Image.builtins.max is max, attempt(lambda: Image.builtins.no)


@case
def saved():
    name = path("../saved.png")
    Image.open(path()).save(name)
    with open(name, "rb") as file:
        seen = cases.digest(file.read())
    os.unlink(name)
    return seen


@case
def linked_and_renamed():
    """The identity holds for each name, or is another's."""
    other, third = path("../other.jpg"), path("../third.jpg")
    os.link(path(), other)
    seen = [everything(Image.open(other))]
    os.symlink(path(), third)
    seen.append(everything(Image.open(third)))
    os.unlink(third)
    os.unlink(other)
    return seen, everything(Image.open(path()))


@case
def turned():
    return [ImageOps.exif_transpose(Image.open(path(name))) for name in NAMES]


@case
def by_many_threads():
    """Each sees its own."""
    seen, names = {}, NAMES * 5

    def work(part):
        for number in range(part, len(names), 4):
            image = Image.open(path(names[number]))
            seen[number] = [image.fp.name, image.filename, image.size,
                            cases.digest(image.tobytes())]

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return [seen[number] for number in sorted(seen)]


@case
def replaced_in_between():
    """Opened as one file, replaced or written over, then loaded."""
    name, seen = path("../changing.jpg"), []
    for source in NAMES:
        shutil.copy(path("color.jpg"), name)
        image = Image.open(name)
        shutil.copy(path(source), name + ".new")
        os.replace(name + ".new", name)
        seen.append(everything(image))
    os.unlink(name)
    return seen


cases.tell()
