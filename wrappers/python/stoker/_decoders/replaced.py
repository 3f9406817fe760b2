"""Functions in the place of a library's."""


class Builtin:
    """Stands in the place of a function that is written in C, and calls `call`. As an attribute of a class, a function of
    Python gets the instance as its first argument. A function of C does not, and neither does a Builtin: it has no
    `__get__`. A pickle of a Builtin holds the name of the function, as a pickle of the function does."""

    def __init__(self, plain, call):
        self.__wrapped__ = plain
        self.__name__, self.__qualname__ = plain.__name__, plain.__qualname__
        self.__module__, self.__doc__, self.__self__ = plain.__module__, plain.__doc__, plain.__self__
        self._call = call

    def __call__(self, *arguments, **named):
        return self._call(*arguments, **named)

    def __reduce__(self):
        return self.__name__

    def __repr__(self):
        return repr(self.__wrapped__)


def request(name, default, arguments, named):
    """Returns (the first argument, the second) of a call of a function with the parameters `name` and `flags`, or None
    for any other call."""
    if len(arguments) == 2 and not named:
        return arguments
    values = dict(named)
    if len(arguments) == 1 and name not in values:
        values[name] = arguments[0]
    elif arguments:
        return None
    flags = values.pop("flags", default)
    return (values[name], flags) if list(values) == [name] and flags is not None else None
