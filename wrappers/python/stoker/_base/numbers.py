"""Checks of arguments that are numbers."""

import operator


def whole_number(name, value, least):
    """Returns the value as an int; NumPy's whole numbers will do. Raises TypeError, or ValueError below `least`,
    with the argument's name."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, and no {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{name} is {least} or more, and not {number}")
    return number
