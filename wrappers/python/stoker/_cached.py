"""stoker.cached: what a function returned, kept for all processes and epochs."""

import functools
import inspect
import time

from . import _core, _slots
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
    """Puts it, and lets the process that is writing go first for a moment: who waits for this value
    would compute it again."""
    end = time.monotonic() + _PATIENCE_S
    if store.put(place, packed):
        _core.count(_slots.RESULTS_KEPT)
        while not store.flush() and time.monotonic() < end:
            time.sleep(0.001)


class _Cached:
    """One decorated function."""

    def __init__(self, function, version, key):
        self._function, self._version, self._key = function, version, key
        self._name = _name_of(function)
        self._names_sorted = not _sees_order(function)

    def __reduce__(self):
        """Of functions that close over this one (_store/functions.py)."""
        return _Cached, (self._function, self._version, self._key)

    def _function_bytes(self):
        """What the function closes over may change: so this is asked at each call."""
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
        _core.count(_slots.RESULTS_MADE)
        return packed

    def _find(self, store, place):
        """The packed value, or None."""
        packed = store.get(place)
        if packed is not None:
            _core.count(_slots.RESULTS_FOUND)
        return packed

    def _fill(self, store, place, arguments, options):
        """The packed value, by ourselves or by whoever was at it already."""
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
    """Keeps what the function returns: for this process, the other workers, other jobs of the user
    on this node, and later epochs.

        @stoker.cached
        def load(path): ...

        load = stoker.cached(load, version=2)

    The value's key is the function, `version`, and the arguments: plain values, paths of pathlib, NumPy
    arrays, and tuples, lists, sets and dicts of them, each of exactly that type. Arguments that differ in
    type or value have different keys: 1 and 1.0, arrays whose fields have other names, dicts of another
    order. The key does not show if two arguments are one object. `key`, if given, is called with the
    arguments and makes such values of other types; it belongs to the function.

    The function is its module (a script's path), its qualified name, its code with all constants, its
    defaults and attributes, and what it closes over, as that is at each call: an object by what pickle
    would make of it, a class or a module by its name. What pickle does not take is refused, unless there
    is a `version`. Globals are not looked at, nor what the function calls by them, nor code that is not
    Python's: change `version` when these change, or what the function reads, since a path stands for its
    name, not for the file. Another minor version of Python, or one with -O, has code of its own, and so
    values of its own.

    Whatever pickle takes may be returned, but by no coroutine and no generator. It always comes back as a
    copy, arrays of NumPy read-only and where they lie in the store: copy() what is to be changed.

    One process at a time computes a value; others wait for it, up to a minute. Where there is no store
    (STOKER_SAMPLES), or it is full, the function is called each time. The function's exceptions are
    the caller's, and nothing is kept then. Thread-safe; works in processes made by fork, spawn and
    forkserver.
    """
    if function is None:
        return functools.partial(cached, version=version, key=key)
    _refuse_kinds(function)
    kept = _Cached(function, version, key)

    @functools.wraps(function)
    def wrapper(*arguments, **options):
        return kept.call(arguments, options)

    return wrapper
