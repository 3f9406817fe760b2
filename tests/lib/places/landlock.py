"""Landlock that denies a path, as a function and as a command:

    landlock.py PATH with|without COMMAND...    # no_new_privs, or CAP_SYS_ADMIN in its place
"""

import ctypes
import os
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
READ_FILE, READ_DIR = 1 << 2, 1 << 3
PATH_BENEATH = 1
SET_NO_NEW_PRIVS = 38
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return result


def version():
    """Returns the version of the kernel's Landlock, or 0 if it has none."""
    return max(libc.syscall(ctypes.c_long(CREATE_RULESET), None, ctypes.c_size_t(0), 1), 0)


def beside(path):
    """Yields all paths beside a path and beside the directories above it."""
    above = os.path.dirname(path)
    for name in os.listdir(above):
        if os.path.join(above, name) != path:
            yield os.path.join(above, name)
    if above != b"/":
        yield from beside(above)


def allow(ruleset, path):
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
    rule = rights.to_bytes(8, "little") + fd.to_bytes(4, "little")
    call(ADD_RULE, ruleset, PATH_BENEATH, rule, 0)
    os.close(fd)


def confine(path, no_new_privs):
    """Denies reads below a path to this thread and its children from now on."""
    attributes = (READ_FILE | READ_DIR).to_bytes(8, "little")
    ruleset = call(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    for other in beside(os.path.realpath(path)):
        allow(ruleset, other)
    if no_new_privs:
        libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


if __name__ == "__main__":
    confine(os.fsencode(sys.argv[1]), sys.argv[2] == "with")
    os.execvp(sys.argv[3], sys.argv[3:])
