"""Frames of functions that call load(), and their use of its result. A frame is that of the caller."""

import opcode

_LOADS = "load", "_load_file"  # names of Pillow's load functions, and of ours in their place
_PACKAGES = "PIL.", __package__.rpartition(".")[0] + "."
_POP_TOP, _CACHE = opcode.opmap.get("POP_TOP"), opcode.opmap.get("CACHE", 0)


def is_pillows(frame):
    """Returns true if the function of this frame is Pillow's or ours, and uses load()'s result itself.
    Pillow's own load() functions hand the result on, so their callers are looked at. A thread that C starts
    has no frame."""
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if type(name) is not str or not name.startswith(_PACKAGES):
            return False
        if frame.f_code.co_name not in _LOADS:
            return True
        frame = frame.f_back
    return False


def drops_result(frame):
    """Returns true if the program drops the result: in its code the call is followed by POP_TOP."""
    if frame is None:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while at < len(code) and code[at] == _CACHE:
        at += 2
    return at < len(code) and code[at] == _POP_TOP
