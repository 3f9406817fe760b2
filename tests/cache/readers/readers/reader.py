"""A reader: one way in which a library reads a big file, and how its file is made.

    @reader("numpy.memmap", "numpy", ".bin", make_rows, sees=UNSEEN)
    def rows(path):
        return numpy.memmap(path).reshape(ROWS, -1)

`make` writes the file with the library itself. The function's result has items, which are read in
any order, or can only be gone through; each is bytes or an array. `sees` is the cache's part in it.
"""

import hashlib
import importlib

READS = "reads"    # by read, pread and their kin: from blocks as soon as these are there
UNSEEN = "unseen"  # by a map or a FILE: from the entry, when it is opened once the file is whole
PASSES = "passes"  # the origin's, always

SIZE = 3 << 20  # of a file, about
ROWS, ROW_BYTES = 384, 8192
readers = {}


class Reader:
    def __init__(self, name, needs, suffix, make, open, sees, alone):
        self.name, self.suffix, self.make, self.open = name, suffix, make, open
        self.needs, self.sees, self.alone = needs.split(), sees, alone

    def missing(self):
        """Returns which module is not installed, or None."""
        for module in self.needs:
            module, _, least = module.partition(">=")
            try:
                found = importlib.import_module(module)
            except Exception as error:  # whatever a broken installation raises
                return f"{module}: {type(error).__name__}: {error}"
            if least and numbers(found.__version__) < numbers(least):
                return f"{module} {found.__version__} is older than {least}"
        return None


def numbers(version):
    """2.1.0+cpu as (2, 1)."""
    return tuple(int(word) for word in version.split(".")[:2])


def reader(name, needs="", suffix=".bin", make=None, sees=READS, alone=False):
    """Registers a reader.

    needs    modules, of which a version may be wanted
    alone    what is open must not be taken along over a fork
    """
    def add(open):
        assert name not in readers, name
        readers[name] = Reader(name, needs, suffix, make or make_rows, open, sees, alone)
        return open
    return add


def some_bytes(name, size=ROW_BYTES):
    """Returns fixed bytes that look random."""
    return hashlib.shake_128(str(name).encode()).digest(size)


def make_rows(path):
    with open(path, "wb") as file:
        for row in range(ROWS):
            file.write(some_bytes(row))


def raw(value):
    return value.tobytes() if hasattr(value, "tobytes") else bytes(value)


def digest(number, value):
    return hashlib.md5(b"%d " % number + raw(value)).hexdigest()


def items(source, draw, part):
    """(number, digest) of all items or a part of them, in an order that is drawn if it can be."""
    if not hasattr(source, "__getitem__"):
        yield from ((number, digest(number, value)) for number, value in enumerate(source))
        return
    for number in chosen(len(source), draw, part):
        yield number, digest(number, source[number])


def chosen(count, draw, part):
    """Numbers of items; a part is the same for all draws."""
    order = list(range(0, count, part))
    draw.shuffle(order)
    return order


class Each:
    """A sequence of items by their number."""

    def __init__(self, count, item):
        self._count, self._item = count, item

    def __len__(self):
        return self._count

    def __getitem__(self, number):
        return self._item(number)

    def __iter__(self):
        return map(self._item, range(self._count))


class Stream:
    """An iterable that can only be gone through, as often as wanted."""

    def __init__(self, begin):
        self._begin = begin

    def __iter__(self):
        return self._begin()
