"""stoker.cached: keeps a function's results for all processes and epochs."""

import functools
import inspect
import time

from . import _core
from ._store import functions, keys, pack, samples
from ._store.claim import Claim

_PATIENCE_S = 1

_KINDS = {
    "a coroutine function": inspect.iscoroutinefunction,
    "an asynchronous generator function": inspect.isasyncgenfunction,
    "a generator function": inspect.isgeneratorfunction,
}


def _name_of(function):
    name = getattr(function, "__qualname__", None)
    if name is None or "<lambda>" in name:
        raise TypeError("stoker.cached: a function without a name of its own has no place in the "
                        "store: define it with def")
    return f"{functions.module_of(function)}:{name}"


def _refuse_kinds(function):
    """Raises TypeError for a function whose result is not a value yet."""
    for kind, is_kind in _KINDS.items():
        if is_kind(function) or is_kind(getattr(type(function), "__call__", None)):
            raise TypeError(f"stoker.cached: {_name_of(function)} is {kind}: what it returns cannot be kept. "
                            "Decorate a function that returns the values themselves")


def _sees_order(function):
    """Returns true if the function may see the order of its named arguments."""
    code = getattr(function, "__code__", None)
    return code is None or bool(code.co_flags & inspect.CO_VARKEYWORDS)


def _put(store, place, packed):
    """Puts the value into the store. If another process is writing, waits for it up to a second: a process that waits
    for this value would compute it again."""
    end = time.monotonic() + _PATIENCE_S
    if store.put(place, packed):
        _core.count(_core.RESULTS_KEPT)
        while not store.flush() and time.monotonic() < end:
            time.sleep(0.001)


class _Cached:
    """One decorated function."""

    def __init__(self, function, version, key):
        self._function, self._version, self._key = function, version, key
        self._name = _name_of(function)
        self._names_sorted = not _sees_order(function)

    def __reduce__(self):
        """Gives the parts to functions that close over this one (_store/functions.py)."""
        return _Cached, (self._function, self._version, self._key)

    def _function_bytes(self):
        """Encodes the function at each call, since the values that it closes over may change."""
        try:
            return functions.encode([self._function, self._key], self._version is not None)
        except keys.Unusable as error:
            raise TypeError(
                f"stoker.cached: no key can be made of {error} of {self._name}: make it an argument, "
                "or give cached(version=...), which then tells such functions apart") from None

    def _said(self, arguments, options):
        if self._key:
            return [self._key(*arguments, **options)]
        return [list(arguments), dict(sorted(options.items())) if self._names_sorted else options]

    def _argument_bytes(self, arguments, options):
        said = self._said(arguments, options)
        try:
            return keys.encode_whole([self._name, self._version, *said])
        except keys.Unusable as error:
            raise TypeError(
                f"stoker.cached: no key can be made of {error}, which {self._name} was called with: "
                "give cached(key=function), which makes plain values of the arguments") from None

    def _place(self, store, arguments, options):
        return store.key(self._function_bytes() + self._argument_bytes(arguments, options))

    def _compute(self, arguments, options):
        packed = memoryview(pack.pack(self._function(*arguments, **options)))
        _core.count(_core.RESULTS_MADE)
        return packed

    def _find(self, store, place):
        """Returns the packed value, or None."""
        packed = store.get(place)
        if packed is not None:
            _core.count(_core.RESULTS_FOUND)
        return packed

    def _fill(self, store, place, arguments, options):
        """Returns the packed value. This process computes it, or another process that has begun with it."""
        with Claim(store.directory, place, lambda: store.get(place) is not None) as mine:
            packed = None if mine else self._find(store, place)
            if packed is None:
                packed = self._compute(arguments, options)
                _put(store, place, packed)
        return packed

    def call(self, arguments, options):
        store = samples.store()
        if store is None:
            return pack.unpack(self._compute(arguments, options))
        place = self._place(store, arguments, options)
        packed = self._find(store, place)
        if packed is None:
            packed = self._fill(store, place, arguments, options)
        return pack.unpack(packed)


def cached(function=None, *, version=None, key=None):
    """Keeps a function's results for this process, the other workers, other jobs of the user on this node, and later
    epochs.

        @stoker.cached
        def load(path): ...

        load = stoker.cached(load, version=2)

    The value's key is the function, `version`, and the arguments. Arguments are plain values, paths of pathlib, NumPy
    arrays, and tuples, lists, sets and dicts of these, each of exactly that type. Arguments that differ in
    type or value have different keys: 1 and 1.0, arrays whose fields have other names, dicts of another
    order. The key does not show if two arguments are one object. `key`, if given, is called with the
    arguments and makes such values of other types; it belongs to the function.

    The function is its module (a script's path), its qualified name, its code with all constants, its defaults and
    attributes, and the values that it closes over, as they are at each call. An object counts by the parts that
    pickle makes of it, a class or a module by its name. An object that pickle refuses is an error, unless there is a
    `version`. Globals, functions that are called by them, and code that is not Python's do not count. Change `version`
    when these change, or a file that the function reads: a path stands for its name, not for the file. Another minor
    version of Python, or one with -O, has code of its own, and so values of its own.

    The function may return any value that pickle takes, but be no coroutine and no generator. The value always comes
    back as a copy; NumPy's arrays in it are read-only and lie in the store. To change a value, copy() it.

    One process at a time computes a value; other processes wait for it, up to a minute. Without a store
    (STOKER_DECODED), or with a full one, the function is called each time. The function's exceptions reach the caller,
    and nothing is kept then. Thread-safe; works in processes made by fork, spawn and forkserver.
    """
    if function is None:
        return functools.partial(cached, version=version, key=key)
    _refuse_kinds(function)
    kept = _Cached(function, version, key)

    @functools.wraps(function)
    def wrapper(*arguments, **options):
        return kept.call(arguments, options)

    return wrapper
