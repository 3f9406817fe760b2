"""Errors that arise in this package. A hook that catches one calls the library's own function instead."""

_PACKAGE = __package__.rpartition(".")[0] + "."


def _is_here(frame):
    name = frame.f_globals.get("__name__")
    return type(name) is str and name.startswith(_PACKAGE)


def is_own(error):
    """Returns true if an error arose in this package. The hook's caller gets all other errors: of a library, the
    program or a signal handler. Another thread may raise an error in this one, at any line: it is taken for another one
    by its class, which is the program's own or TimeoutError, since this package raises no such error."""
    if type(error).__module__ not in ("builtins", "struct") or isinstance(error, TimeoutError):
        return False
    at = error.__traceback__
    while at is not None and _is_here(at.tb_frame):
        at = at.tb_next
    return at is None


def attempt(function, /, *arguments, **named):
    """Returns the result of a function of this package, or None after an error of the package's own: the caller then
    calls the library's own function, or does without."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        if not is_own(error):
            raise
        return None
