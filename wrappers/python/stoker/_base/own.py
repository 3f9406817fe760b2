"""Errors that arise in this package. A hook that catches one calls the library's own function instead."""

import sys

_WITHOUT_ARGUMENTS = MemoryError, StopIteration  # of this package's that have none
_HOMES = "builtins", "io", "struct", "zlib", "PIL"  # of the classes of other errors
_PACKAGE = __package__.rpartition(".")[0] + "."


def _is_here(frame):
    name = frame.f_globals.get("__name__")
    return type(name) is str and name.startswith(_PACKAGE)


def _is_programs(frame):
    name = str(frame.f_globals.get("__name__")).partition(".")[0]
    return not _is_here(frame) and name != "PIL" and name not in sys.stdlib_module_names


def _passed_program(error):
    """Returns true if a function of the program's let the error pass or raised it. It is not to be called again."""
    at = error.__traceback__
    while at is not None and not _is_programs(at.tb_frame):
        at = at.tb_next
    return at is not None


def is_from_elsewhere(error):
    """Returns true for an error that a library's function cannot have raised here: of the program's class or functions, or
    of another thread, which may raise an error in this one at any line. Python makes such an error without arguments, which
    errors of this package have. A signal handler's TimeoutError counts, too."""
    home = type(error).__module__.partition(".")[0]
    return (home not in _HOMES or isinstance(error, TimeoutError)
            or not error.args and not isinstance(error, _WITHOUT_ARGUMENTS) or _passed_program(error))


def is_own(error):
    """Returns true if an error arose in this package. The hook's caller gets all other errors: of a library, the
    program, a signal handler or another thread."""
    if type(error).__module__ not in ("builtins", "struct") or is_from_elsewhere(error):
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


def attempt_beside(function, /, *arguments):
    """Returns the result of a function that calls a library's, or None after an error that the library may have raised
    there. The caller then calls the library's own function, which meets the error once more and raises it."""
    try:
        return function(*arguments)
    except Exception as error:
        if is_from_elsewhere(error):
            raise
        return None


def tried(function, plain):
    """Returns a function that returns the result of `function`, or that of `plain` if `function` returns None or fails
    by an error of ours."""
    def either(*arguments, **named):
        result = attempt(function, *arguments, **named)
        return plain(*arguments, **named) if result is None else result
    return either
