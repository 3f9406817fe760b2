"""The Python side of `stoker verify`: compares each form of a sample store with the form of the file's bytes now, and
removes the forms that differ.

    main(STORE, SHARE, SEED, PATH...)

STORE is a value of STOKER_DECODED, SHARE the part of the files that is compared, from 0 to 1. The standard output gets
records that end with a NUL:

    dPATH                     a form differed and was removed
    kPATH                     a form differed and could not be removed
    pFORMS BYTES UNREADABLE   right forms, their files' bytes, and unreadable files, so far
"""

import hashlib
import os
import signal
import sys
import threading

from . import _core
from ._store.samples import Store, _setting

_ENDS = (".jpg", ".jpeg", ".jpe", ".jfif")
_THREADS = 4  # each waits for the origin most of the time
_OFTEN = 64


def _is_below(path, others):
    return any(path != other and (path + "/").startswith(other.rstrip("/") + "/")
               for other in others)


def _files(paths):
    """Yields the files as a job would see them, with links to files, and without links to directories."""
    for path in paths:
        if os.path.isfile(path):
            yield path
        for directory, directories, names in os.walk(path):
            directories.sort()
            for name in sorted(names):
                if name.lower().endswith(_ENDS):
                    yield os.path.join(directory, name)


def _is_chosen(path, share, seed):
    """Returns true if the file is in the sample: the same files for each seed, by a hash."""
    digest = hashlib.blake2b(os.fsencode(path), digest_size=6, key=seed.encode()).digest()
    return int.from_bytes(digest, "big") < share * (1 << 48)


class Check:
    def __init__(self, store, paths):
        self._store, self._paths = store, paths
        self._lock = threading.Lock()
        self._right = self._bytes = self._unreadable = self._looks = 0

    def _next(self):
        with self._lock:
            return next(self._paths, None)

    def _tell(self, record):
        sys.stdout.buffer.write(os.fsencode(record) + b"\0")
        sys.stdout.buffer.flush()

    def tell_figures(self):
        self._tell(f"p{self._right} {self._bytes} {self._unreadable}")

    def _note(self, path, size, found):
        with self._lock:
            self._looks += 1
            self._unreadable += size is None
            if found is not None and found[1]:
                self._right += 1
                self._bytes += size
            elif found is not None:
                self._tell(("d" if self._store.void(found[0]) else "k") + path)
            if self._looks % _OFTEN == 0:
                self.tell_figures()

    def _look(self, path):
        try:
            with open(path, "rb", buffering=0) as file:
                data = file.read()
            return len(data), _core.check_stored(data) if data else None
        except (OSError, MemoryError):
            return None, None

    def work(self):
        for path in iter(self._next, None):
            self._note(path, *self._look(path))


def main(value, share, seed, *paths):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.nice(10)
    store = Store(_setting(value)[0], 0)
    if not store.attach():
        return 1
    roots = [path for path in dict.fromkeys(paths) if not _is_below(path, paths)]
    check = Check(store, (path for path in _files(roots) if _is_chosen(path, float(share), seed)))
    threads = [threading.Thread(target=check.work) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check.tell_figures()
    return 0
