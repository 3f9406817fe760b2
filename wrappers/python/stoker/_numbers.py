"""Numbers that are arguments, checked where they are given."""

import operator


def whole_number(name, value, least):
    """Returns an int, of NumPy's whole numbers, too; TypeError, ValueError, with the argument's name."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, and no {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{name} is {least} or more, and not {number}")
    return number
