"""How much of a file is in the page cache, and putting it out of there."""

import ctypes
import mmap
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
_FAILED = ctypes.c_void_p(-1).value


def pages(path):
    """(pages in memory, pages) of a file. Looking brings none in."""
    size = os.path.getsize(path)
    count = -(-size // mmap.PAGESIZE)
    if not count:
        return 0, 0
    fd = os.open(path, os.O_RDONLY)
    try:
        address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        if address == _FAILED:
            raise OSError(ctypes.get_errno(), "mmap")
        seen = (ctypes.c_ubyte * count)()
        try:
            if _libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), seen):
                raise OSError(ctypes.get_errno(), "mincore")
        finally:
            _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    finally:
        os.close(fd)
    return sum(each & 1 for each in seen), count


def drop(paths):
    """Writes them to the disk and out of memory."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)
