"""Errors that arise in this package. A hook that meets one calls Pillow's own function, as if nothing had been
tried."""

_PACKAGE = __package__.partition(".")[0] + "."


def _is_here(frame):
    name = frame.f_globals.get("__name__")
    return type(name) is str and name.startswith(_PACKAGE)


def is_own(error):
    """Returns true if an error arose in this package. What Pillow raises, the program, a signal's handler, or
    another thread that interrupts this one, is for the hook's caller."""
    if type(error).__module__ not in ("builtins", "struct"):
        return False
    at = error.__traceback__
    while at is not None and _is_here(at.tb_frame):
        at = at.tb_next
    return at is None
