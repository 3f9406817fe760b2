"""The sample store as this process uses it: one, opened when it is first wanted.

STOKER_SAMPLES says where: DIR[:SIZE], a directory on a local file system (a tmpfs, or a disk, where
the store may be larger than memory) and what it may use of it. Unset or 0, or where the store cannot
be opened, there is none, and everything is computed each time. `stoker run` sets it, and then says by
the run's tally how much may be used at any moment.
"""

import atexit
import importlib
import os
import re
import shutil
import sys
import time
import warnings

from .. import _core
from . import setting

_SIZE = re.compile(r"([0-9]+)(?:\.([0-9]*))?(?:([KMGTPkmgtp])i?)?B?")
_PATIENCE_S = 0.5
_SHARE = 4  # without a size: this part of what is free
_COUNTS = "gets", "hits", "puts", "bytes", "refused", "damaged", "used_bytes"


class Store:
    """stoker._samples_core's functions, on one store; see store/store.h."""

    def __init__(self, directory, budget, run="", setting=""):
        """`run` and `setting`: of the command, whose grants are then followed."""
        self._core = importlib.import_module(".._samples_core", __package__)
        self._handle = self._core.open(directory, budget)
        if run:
            self._core.join(self._handle, run, setting)
        self.directory = directory

    def attach(self):
        """For what is decoded in this process from now on."""
        return _core.attach(self._core.api, self._handle)

    def key(self, data, seed=0):
        """A form's seed is its version."""
        return self._core.key(data, seed)

    def get(self, key):
        """A read-only memoryview that may be kept, or None."""
        return self._core.get(self._handle, key)

    def put(self, key, data):
        return self._core.put(self._handle, key, data)

    def void(self, key):
        """For a value that is wrong: nobody gets it any more. Whether that was done."""
        return self._core.void(self._handle, key)

    def flush(self):
        """Writes what waits for its turn. False when another process was in the way."""
        return self._core.flush(self._handle)

    def counts(self):
        return dict(zip(_COUNTS, self._core.counts(self._handle)))


def parse_size(text):
    """Bytes of '512M' and the like, as the command reads them (base/text.c); ValueError."""
    found = _SIZE.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no size")
    whole, fraction, unit = found.groups()
    one = 1024 ** " KMGTP".index((unit or " ").upper())
    if int(whole) >= (1 << 62) // one:
        raise ValueError(f"{text!r} is no size")
    return int(whole) * one + int(int(f"{fraction or ''}000000000"[:9]) / 1e9 * one)


def _setting(value):
    """(directory, bytes) of STOKER_SAMPLES."""
    directory, colon, size = value.rpartition(":")
    if colon:
        return directory, parse_size(size)
    os.makedirs(value, mode=0o700, exist_ok=True)
    return value, shutil.disk_usage(value).free // _SHARE


def _write_the_rest():
    """Of what waits for its turn, at the end of a process."""
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
    """The Store, or None."""
    global _opened, _store, _failure, _lacking
    if _opened:
        return _store
    value = setting()
    if value:
        try:
            _store = Store(*_setting(value), os.environ.get("STOKER_RUN", ""), value)
            _write_at_exit()
        except ModuleNotFoundError:
            _lacking = (f"STOKER_SAMPLES={value}: this build of stoker has no sample store, for want "
                        "of LMDB: apt-get install liblmdb-dev (Fedora: dnf install lmdb-devel), then "
                        "build it again; or unset it")
        except (ImportError, OSError, OverflowError, ValueError) as error:
            _failure = f"STOKER_SAMPLES={value}: {error}: nothing is kept in a store"
    _opened = True
    return _store


def store():
    """The Store, or None where there is none. A failure is told once; ImportError at each call where
    one is asked for and this build has none."""
    global _failure
    opened, failure, _failure = _open(), _failure, None
    if _lacking is not None:
        raise ImportError(_lacking)
    if failure is not None:
        warnings.warn(failure, RuntimeWarning, stacklevel=3)
    return opened


def attach():
    """Gives the store to the decoder; whether there is one. Nothing is told: who only opens images
    has asked for none."""
    opened = _open()
    return opened is not None and opened.attach()


def counts():
    """What this process asked of the store; None where there is none."""
    return None if _store is None else _store.counts()
