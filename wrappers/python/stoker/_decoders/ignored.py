"""A library's warning that the program's filters ignore.

Python searches the filters at each call, since it does not remember that it ignored a warning. The answer is the same until
the filters change.
"""

import functools
import sys
import types
import warnings

_warn = warnings.warn


def is_possible():
    """Returns true if all warnings of the process go by one list of filters, and nothing has replaced warnings.warn()."""
    return type(_warn) is types.BuiltinFunctionType and not getattr(sys.flags, "context_aware_warnings", False)


def _matches(pattern, text):
    return pattern is None or (pattern == text if type(pattern) is str else bool(pattern.match(text)))


def _is_ignored(filters, text, kind, module):
    """Returns true if these filters ignore a warning of a text, a class and a module. A filter for one line is not
    understood."""
    for action, pattern, wanted, place, line in filters:
        if _matches(pattern, text) and issubclass(kind, wanted) and _matches(place, module):
            return action == "ignore" and not line
    return False


def unless_ignored(plain, text, kind, module):
    """Returns a function that does what plain() does, which warns by this text and class for code of a module, and nothing
    if the warning would be ignored. Safe in threads."""
    known = None, False  # the filters, and if they ignore the warning

    @functools.wraps(plain)
    def warn():
        nonlocal known
        filters, is_ignored = known
        if filters != warnings.filters:
            filters = list(warnings.filters)
            is_ignored = _is_ignored(filters, text, kind, module)
            known = filters, is_ignored
        if not is_ignored or warnings.warn is not _warn:
            plain()
    return warn
