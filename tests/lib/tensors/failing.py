"""Has each function of the package fail at one of its calls, for programs that compare what comes out.

A function's code is exchanged for code that raises at the n-th call and else works as before. Calls are counted over
all processes that are forked meanwhile.
"""

import contextlib
import functools
import mmap
import types


def functions(modules):
    """Yields Python's functions of the modules and their classes, each by its name."""
    for module in modules:
        for name, value in list(vars(module).items()):
            inner = vars(value).items() if isinstance(value, type) and value.__module__ == module.__name__ else ()
            for part, each in [(name, value), *((f"{name}.{part}", each) for part, each in inner)]:
                each = getattr(each, "fget", None) or getattr(each, "__func__", each)
                if type(each) is types.FunctionType and each.__module__ == module.__name__ and (
                        not each.__code__.co_freevars):
                    yield f"{module.__name__}.{part}", each


def stand_in(*arguments, **named):
    if _failing():  # noqa: F821
        raise RuntimeError("a fault")
    return _plain(*arguments, **named)  # noqa: F821


def _named(code, name):
    """Returns the stand-in's code with global names of its own, so that functions of one module may have one each."""
    return code.replace(co_names=tuple(f"{each} of {name}" if each in ("_failing", "_plain") else each
                                       for each in code.co_names))


class _Failing:
    """A context in which only the n-th call of a function raises."""

    def __init__(self, number):
        self.number = number
        self._count = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("q")

    @property
    def count(self):
        return self._count[0]

    def fails(self):
        self._count[0] += 1
        return self._count[0] == self.number

    def globals(self, plain, name):
        return {f"_failing of {name}": self.fails, f"_plain of {name}": plain}


class _FailingFunction(_Failing):
    """Makes a function of Python's fail. The function keeps its identity."""

    def __init__(self, function, number):
        super().__init__(number)
        self.function, self.code = function, function.__code__

    def __enter__(self):
        function = self.function
        plain = types.FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__)
        plain.__kwdefaults__ = function.__kwdefaults__
        name = f"{function.__qualname__} {id(function)}"
        function.__globals__.update(self.globals(plain, name))
        function.__code__ = _named(stand_in.__code__, name)
        return self

    def __exit__(self, *_):
        self.function.__code__ = self.code


class _FailingCore(_Failing):
    """Makes a function of C's fail, by its name in _core."""

    def __init__(self, core, name, number):
        super().__init__(number)
        self.core, self.name, self.plain = core, name, getattr(core, name)

    def __enter__(self):
        space = {"__name__": self.core.__name__, **self.globals(self.plain, self.name)}
        setattr(self.core, self.name, types.FunctionType(_named(stand_in.__code__, self.name), space))
        return self

    def __exit__(self, *_):
        setattr(self.core, self.name, self.plain)


def subjects(modules, core, bounds):
    """Yields (name, failing) of each function but those of these names, which do nothing but call the library's. Entering
    failing(n) has the n-th call raise, and failing(0) counts calls."""
    found = {function: name for name, function in functions(modules)}  # each once, whatever its names
    for function, name in found.items():
        if name[len(function.__module__) + 1:] not in bounds:
            yield name, functools.partial(_FailingFunction, function)
    for name, value in list(vars(core).items()):
        if type(value) is types.BuiltinFunctionType and f"_core.{name}" not in bounds:
            yield f"_core.{name}", functools.partial(_FailingCore, core, name)


def _called(subjects, function, *arguments):
    """Returns the names of the subjects that a function calls, in whichever process."""
    with contextlib.ExitStack() as counting:
        counted = {name: counting.enter_context(failing(0)) for name, failing in subjects}
        function(*arguments)
        return {name for name, calls in counted.items() if calls.count}


def compare(subjects, ways, outcome, numbers=(1, 2), each=1):
    """Prints one line for each outcome(way) that differs while a function fails, and last how many
    functions have failed. A function fails in each n-th of the ways that call it, and the next function
    in the ways beside them."""
    subjects = list(subjects)
    for _ in range(3):
        expected = {way: outcome(*way) for way in ways}
    failed = set()
    called = {way: _called(subjects, outcome, *way) for way in ways}
    for turn, (name, failing) in enumerate(subjects):
        calling = [way for way in ways if name in called[way]]
        for way in calling[turn % each if len(calling) >= each else 0::each]:
            for number in numbers:
                with failing(number) as fault:
                    found = outcome(*way)
                if found != expected[way]:
                    print(name, number, *way, str(found)[:200], str(expected[way])[:200])
                if fault.count < number:
                    break
                failed.add(name)
    print(len(failed), "failed", flush=True)
