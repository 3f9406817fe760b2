"""A case: one way in which a library reads a file, and how its file is made.

    @case("numpy.load of .npy", "numpy", suffix=".npy", make=save_array)
    def load_npy(path):
        return numpy.load(path)

`make` writes a good file with the library itself. The function's result, or its exception, is
compared between runs without and with Stoker. `sees` is the part that the library must have had in
it.
"""

import importlib

HITS = "hits"  # opens come from the cache
STATS = "stats"  # only metadata is asked for
NEVER = "never"  # reads the origin, unseen or on purpose
OPENS = "opens"  # seen, but passed on
BAD_FILES = ("missing", "closed", "directory", "short", "garbage", "empty")
BAD_DIRECTORIES = ("missing", "closed", "empty")

cases = {}


class Case:
    def __init__(self, name, needs, suffix, make, read, sees, main, bad, threads, facts):
        self.name, self.suffix, self.make, self.read = name, suffix, make, read
        self.needs = needs.split()
        self.sees, self.main, self.bad = sees, main, bad
        self.threads, self.facts = threads, facts

    def missing(self):
        """The module that is not installed, with the reason, or None."""
        for module in self.needs:
            try:
                importlib.import_module(module)
            except Exception as error:  # whatever a broken installation raises
                return f"{module}: {type(error).__name__}: {error}"
        return None

    def version(self):
        for module in self.needs:
            found = importlib.import_module(module)
            version = getattr(found, "__version__", None) or getattr(found, "version", None)
            if isinstance(version, str):
                return version
        return ""


def case(name, needs="", suffix=".bin", make=None, sees=HITS, main=True, bad=BAD_FILES, but=(),
         threads=True, facts=True):
    """Registers a case.

    needs    modules, the first of which gives the version
    main     it belongs to the slice that always runs
    bad      the files, besides a good one, that it is given; without those in `but`, on which the
             library itself does not always do the same, or crashes
    threads  whether the library can be used from several threads
    facts    whether the file's metadata stays the same while it is read
    """
    def add(read):
        assert name not in cases, name
        cases[name] = Case(name, needs, suffix, make or make_bytes, read, sees, main,
                           [one for one in bad if one not in but], threads, facts)
        return read
    return add


def some_bytes(size=60000):
    """Returns fixed bytes that look random."""
    import hashlib

    return hashlib.shake_128(b"some bytes").digest(size)


def make_bytes(path):
    with open(path, "wb") as file:
        file.write(some_bytes())
