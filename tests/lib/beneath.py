"""The kernel's own name of what a process has open. Of a served descriptor that is the entry's, and
readlink under the library may say another: libc's realpath reads links without calling readlink.

    entry = beneath.name_of(fd)
    program = beneath.SOURCE + "print('/tree/' in name_of(int(sys.argv[1])))"
"""

import inspect


def name_of(fd):
    """Empty where there is none: of an unlinked file, a pipe, a path that is too long."""
    import ctypes
    import os
    realpath, name = ctypes.CDLL(None).realpath, ctypes.create_string_buffer(4096)
    realpath.restype = ctypes.c_void_p
    return os.fsdecode(name.value) if realpath(b"/proc/self/fd/%d" % fd, name) else ""


SOURCE = inspect.getsource(name_of)
