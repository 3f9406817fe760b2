"""The one sample store of a process, opened at its first use.

STOKER_DECODED is DIR[:SIZE]: a directory on a local file system (a tmpfs or a disk), and the bytes that the store may
use there. On a disk the store may be larger than memory. If the variable is unset or 0, or the store cannot be opened,
there is none, and everything is computed each time. `stoker run` sets the variable; its tally then has the bytes that
the store may use at any moment.
"""

import atexit
import importlib
import os
import shutil
import sys
import time
import warnings

from .. import _core
from . import setting

_PATIENCE_S = 0.5
_SHARE = 4  # without a size the store may use a quarter of the free room
_COUNTS = "gets", "hits", "puts", "bytes", "refused", "damaged", "used_bytes"


class Store:
    """Calls stoker._samples_core for one store (store/store.h)."""

    def __init__(self, directory, budget, run="", setting=""):
        """Opens the store. With the command's `run` and `setting` it follows the command's quotas."""
        self._core = importlib.import_module(".._samples_core", __package__)
        self._handle = self._core.open(directory, budget)
        if run:
            self._core.join(self._handle, run, setting)
        self.directory = directory

    def attach(self):
        """Gives the store to the decoder. Returns true if that was possible."""
        return _core.attach(self._core.api, self._handle)

    def key(self, data, seed=0):
        """Returns the key of these bytes. The seed of a form's key is the form's version."""
        return self._core.key(data, seed)

    def get(self, key):
        """Returns a read-only memoryview, or None. The caller may keep it."""
        return self._core.get(self._handle, key)

    def put(self, key, data):
        return self._core.put(self._handle, key, data)

    def void(self, key):
        """Removes a wrong value, so that no process gets it. Returns true if it was removed."""
        return self._core.void(self._handle, key)

    def flush(self):
        """Writes the pending values. Returns false if another process holds the write lock."""
        return self._core.flush(self._handle)

    def counts(self):
        return dict(zip(_COUNTS, self._core.counts(self._handle)))


def _setting(value):
    """Returns (directory, bytes) of STOKER_DECODED."""
    directory, size = importlib.import_module(".._samples_core", __package__).place(value)
    if size >= 0:
        return directory, size
    os.makedirs(directory, mode=0o700, exist_ok=True)
    return directory, shutil.disk_usage(directory).free // _SHARE


def _write_the_rest():
    """Writes the pending values at the end of a process."""
    end = time.monotonic() + _PATIENCE_S
    while not _store.flush() and time.monotonic() < end:
        time.sleep(0.001)


def _write_in_the_end(_=None):
    multiprocessing = sys.modules.get("multiprocessing.util")
    if multiprocessing is not None:
        multiprocessing.Finalize(None, _write_the_rest, exitpriority=0)


def _write_in_children():
    """multiprocessing's children end without atexit, and forget what their parent registered."""
    multiprocessing = sys.modules.get("multiprocessing.util")
    if multiprocessing is not None:
        multiprocessing.register_after_fork(_store, _write_in_the_end)


def _write_at_exit():
    atexit.register(_write_the_rest)
    os.register_at_fork(after_in_child=_write_in_children)
    _write_in_the_end()


_opened = False
_store = None
_failure = None
_lacking = None


def _open():
    """Returns the Store, or None."""
    global _opened, _store, _failure, _lacking
    if _opened:
        return _store
    value = setting()
    if value:
        try:
            _store = Store(*_setting(value), os.environ.get("STOKER_RUN", ""), value)
            _write_at_exit()
        except ModuleNotFoundError:
            _lacking = (f"STOKER_DECODED={value}: this build of stoker keeps no decoded copies, for want "
                        "of LMDB: apt-get install liblmdb-dev (Fedora: dnf install lmdb-devel), then "
                        "build it again; or unset it")
        except (ImportError, OSError, OverflowError, ValueError) as error:
            _failure = f"STOKER_DECODED={value}: {error}: nothing is kept in a store"
    _opened = True
    return _store


def store():
    """Returns the Store, or None. Warns of a failure once. Raises ImportError at each call if a store is set and
    this build has no LMDB."""
    global _failure
    opened, failure, _failure = _open(), _failure, None
    if _lacking is not None:
        raise ImportError(_lacking)
    if failure is not None:
        warnings.warn(failure, RuntimeWarning, stacklevel=3)
    return opened


def attach():
    """Gives the store to the decoder. Returns true if there is a store. Warns of no failure: a program that only opens
    images did not ask for a store."""
    opened = _open()
    return opened is not None and opened.attach()


def counts():
    """Returns the counters of this process's calls of the store, or None without a store."""
    return None if _store is None else _store.counts()
