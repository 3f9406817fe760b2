"""The kernel's own name of an open file. A served descriptor has the entry's name there. readlink under the library
says the origin's name instead. libc's realpath reads links without calling readlink.

    entry = beneath.name_of(fd)
    program = beneath.SOURCE + "print('/tree/' in name_of(int(sys.argv[1])))"
"""

def name_of(fd):
    """Returns the empty string if the file has no name: an unlinked file, a pipe, a path that is too long."""
    import ctypes
    import os
    realpath, name = ctypes.pythonapi.realpath, ctypes.create_string_buffer(4096)  # pythonapi is open: a CDLL takes longer
    realpath.restype = ctypes.c_void_p
    return os.fsdecode(name.value) if realpath(b"/proc/self/fd/%d" % fd, name) else ""


def __getattr__(name):
    """Makes SOURCE only where it is wanted: inspect takes longer to import than an agent to start."""
    if name != "SOURCE":
        raise AttributeError(name)
    import inspect
    return inspect.getsource(name_of)
