"""Reads a file, by a descriptor and by a map. Writes to it when the process has used up a limit
(argv[2]: descriptors, maps). Prints what the two readers see then."""

import ctypes
import mmap
import os
import resource
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../places"))

from beneath import name_of  # noqa: E402

PAGE = mmap.PAGESIZE


def take_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    try:
        while True:
            os.open("/dev/null", os.O_RDONLY)
    except OSError:
        pass


def take_maps():
    """Each page with a protection of its own is a map to the kernel."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
    pages = 2 * int(open("/proc/sys/vm/max_map_count").read())
    start = libc.mmap(None, ctypes.c_size_t(pages * PAGE), 0, flags, -1, 0)
    for page in range(1, pages, 2):
        if libc.mprotect(ctypes.c_void_p(start + page * PAGE), PAGE, mmap.PROT_READ) != 0:
            return


def main():
    path, what = sys.argv[1:]
    for _ in range(2):
        fd = os.open(path, os.O_RDONLY)
    assert "/tree/" in name_of(fd)
    seen = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    if what == "descriptors":
        take_descriptors()
        os.truncate(path, 2)
    else:
        take_maps()
        writer = os.open(path, os.O_WRONLY)
        os.pwrite(writer, b"new", 0)
    print(os.pread(fd, 3, 0).decode(), seen[:3].decode())


main()
