"""Functions in the place of a library's."""


class Builtin:
    """Stands for a function that is written in C. Such a function has no method of binding: a class that holds it calls
    it without the instance. A pickle holds its name."""

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
