"""One process at a time works for a key. A claim is a lock on one byte of a file: when its owner ends, the kernel
releases it."""

import fcntl
import os
import struct
import time

_PLACES = 1 << 62
_PATIENCE_S = 60
_FIRST_NAP_S, _LONGEST_NAP_S = 0.001, 0.05
_FLOCK = "hhqqi4x"  # l_type, l_whence, l_start, l_len, l_pid


class Claim:
    """Holds the claim for a key: `with Claim(directory, key, is_done) as mine`.

    `mine` is true if this process is to do the work, and false if `is_done` returned true while it waited. After a
    minute a waiting process does the work as well: the claim's owner may be stopped for good."""

    def __init__(self, directory, key, is_done):
        self._path = os.path.join(directory, "claims")
        self._place = int.from_bytes(key[:8], "little") % _PLACES
        self._is_done = is_done
        self._fd = -1

    def _try(self):
        wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, self._place, 1, 0)
        try:
            fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, wanted)
        except OSError:
            return False
        return True

    def __enter__(self):
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return True
        nap, end = _FIRST_NAP_S, time.monotonic() + _PATIENCE_S
        while not self._try():
            if self._is_done():
                return False
            if time.monotonic() > end:
                return True
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP_S)
        return not self._is_done()

    def __exit__(self, *_):
        if self._fd >= 0:
            os.close(self._fd)
