"""stoker.cached: one computation for all processes, what comes back, and what goes wrong."""

import collections
import importlib.util
import json
import signal
import subprocess
import sys
import textwrap

import pytest

from conftest import BUILD, HERE
from slices import ALL

pytestmark = pytest.mark.skipif(not (BUILD / "python/stoker/_samples_core.abi3.so").exists(),
                                reason="the store is not built: liblmdb-dev")
pytest.importorskip("numpy")


@pytest.fixture
def place(environment, tmp_path):
    """Environment of a process with a store and a list of calls of its own."""
    return {**environment, "CALLS": str(tmp_path / "calls"), "PYTHONPATH":
            f"{BUILD / 'python'}:{HERE / 'programs/cached'}", "STOKER_DECODED": f"{tmp_path / 'store'}:64M"}


def calls(place):
    try:
        with open(place["CALLS"]) as file:
            return collections.Counter(file.read().split())
    except FileNotFoundError:
        return collections.Counter()


def run(place, code, *arguments, check=True):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
                          env=place, text=True, timeout=300, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("method, processes", [("fork", 6), ("spawn", 3), ("forkserver", 3)])
def test_each_value_is_computed_once(place, method, processes):
    program = [sys.executable, HERE / "programs/cached/cached_functions.py", method, str(processes), "30"]
    for _ in range(2):
        subprocess.run(program, env=place, check=True, timeout=300)
    found = calls(place)
    assert len(found) == 30 and set(found.values()) == {1}, found


def test_without_a_store_it_is_called_each_time(place):
    del place["STOKER_DECODED"]
    run(place, """
        from cached_functions import ask, slow
        ask(0, 3), ask(0, 3)
        """)
    assert set(calls(place).values()) == {2}


def test_a_full_store(place, tmp_path):
    place["STOKER_DECODED"] = f"{tmp_path / 'store'}:300K"
    for _ in range(2):
        run(place, "from cached_functions import ask; ask(0, 40)")
    found = calls(place)
    assert 3 < sum(count == 1 for count in found.values()) < 30, found
    assert set(found.values()) == {1, 2}


def test_exceptions_are_the_callers(place):
    done = run(place, """
        from cached_functions import fails
        for _ in range(2):
            try:
                fails(3)
            except KeyError as error:
                print(error)
        """)
    assert done.stdout == "3\n3\n"
    assert calls(place) == {"3": 2}


def test_values(place):
    code = """
        import json, pathlib, sys
        import numpy, stoker
        made = []
        @stoker.cached
        def value(name, **more):
            made.append(name)
            return VALUES[name]
        VALUES = {
            "none": None, "bytes": b"x" * 100000, "empty": numpy.zeros((0, 3)),
            "tuple": (1, "two", [3.0, {"four": numpy.int8([[1, 2], [3, 4]])}]),
            "fortran": numpy.asfortranarray(numpy.arange(12.0).reshape(3, 4)),
            "strided": numpy.arange(100)[::7], "text": numpy.array(["a", "bc"]),
            "structured": numpy.zeros(3, dtype=[("a", "<i4"), ("b", "<f8")]),
        }
        for name in VALUES:
            print(name, repr(value(name)), type(value(name)).__name__)
        print(json.dumps(made), file=sys.stderr)
        """
    first, second = run(place, code), run(place, code)
    assert first.stdout == second.stdout and first.stdout.count("\n") > 8
    assert len(json.loads(first.stderr)) == 8
    assert json.loads(second.stderr) == []


def test_values_come_back_as_they_are(place):
    """Tests all values of cached_keys.py, and objects of other kinds."""
    code = """
        import collections, datetime, decimal, fractions, pickle
        import numpy, stoker
        import cached_keys
        from stoker._store import keys
        made = []
        @stoker.cached
        def value(name, place):
            made.append(name)
            return MAKERS[name][place]()
        shared = numpy.arange(3.0)
        others = [decimal.Decimal("1.00"), fractions.Fraction(1, 3), range(3), ...,
                  datetime.datetime(2020, 1, 1, fold=1), collections.OrderedDict(b=1, a=2),
                  collections.Counter("aab"), collections.deque([1], 3)]
        arrays = [numpy.ma.array([1, 2], mask=[0, 1], fill_value=7), numpy.matrix([[1]]),
                  numpy.rec.array([(1, 2.0)], [("x", "i4"), ("y", "f8")]), numpy.array([1, None])]
        MAKERS = {"atoms": cached_keys.ATOMS, "others": [lambda each=each: each for each in others],
                  "arrays": [lambda each=each: each for each in arrays],
                  "shared": [lambda: (shared, [shared], shared[1:])]}
        def called(name):
            return [value(name, place) for place in range(len(MAKERS[name]))]
        def said(each):
            if type(each) is numpy.ndarray and not (each.flags.c_contiguous or each.flags.f_contiguous):
                each = each.copy()
            return keys.encode_whole(each)
        for _ in range(2):
            expected = [said(pickle.loads(pickle.dumps(make(), 5))) for make in cached_keys.ATOMS]
            assert [said(each) for each in called("atoms")] == expected
            found = called("others")
            assert repr(found) == repr(others), (found, others)
            assert [type(each) for each in found] == [type(each) for each in others]
            for each, first in zip(called("arrays"), arrays):
                assert repr(each) == repr(first) and type(each) is type(first), each
                assert (each.dtype, each.dtype.type) == (first.dtype, first.dtype.type)
            (one, (two,), part), = called("shared")
            assert one is two and list(part) == [1, 2] and not one.flags.writeable
            assert not numpy.shares_memory(one, shared)
        print(len(made) == sum(map(len, MAKERS.values())))
        """
    assert run(place, code).stdout == "True\n"


def test_keys(place):
    code = """
        import pathlib, sys
        import numpy, stoker
        made = []
        def count(*arguments, **options):
            made.append(arguments)
            return len(made)
        def naming():
            def named(a, b):
                return count(a, b)
            return named
        one, two = stoker.cached(count), stoker.cached(count, version=2)
        different = [(), (1,), (1.0,), (True,), ("1",), (b"1",), (None,), ((1,),), ([1],), ({1},),
                     (1, 1), ("a", "bc"), ("ab", "c"), (pathlib.Path("1"),), (numpy.int64(1),),
                     (numpy.zeros(2),), (numpy.zeros(2, "f4"),), (numpy.zeros((1, 2)),),
                     ({"a": 1},), ({"a": 2},), (-0.0,), (0.0,)]
        for arguments in different:
            one(*arguments), one(*arguments)
        assert len(made) == len(different), made
        assert one({"a": 1, "b": 2}) != one({"b": 2, "a": 1})
        assert one(a=1, b=2) != one(b=2, a=1) != one(a=2, b=1)
        named = stoker.cached(naming())
        assert named(a=1, b=2) == named(b=2, a=1) != named(a=2, b=1)
        assert two(1) != one(1)
        assert stoker.cached(count, key=lambda object: 5)(object()) == \\
            stoker.cached(count, key=lambda object: 5)(iter(()))
        print(len(made))
        """
    assert run(place, code).stdout.strip() == "31"


@pytest.mark.parametrize("seed", range(2 if ALL else 1))
def test_values_that_can_be_told_apart_have_keys_of_their_own(place, seed):
    program = HERE / "programs/cached/cached_keys.py"
    done = subprocess.run([sys.executable, program, str(seed)], env=place, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (done.returncode, done.stdout[:4000], done.stderr[-2000:]) == (0, "", "")


# Functions of one name; each is another function than all before it.
FUNCTIONS = """
import collections, dataclasses, datetime, decimal, enum, functools, math, pathlib, re, threading
import numpy, stoker
Pair = collections.namedtuple("Pair", "x y")
made = []
def note(what):
    made.append(what)
    return len(made)
def closing(*values):
    def kept(x=0):
        return note(values)
    return kept
def defaulting(value):
    def kept(x=0, y=value):
        return note(y)
    return kept
def naming(value):
    def kept(x=0, *, y=value):
        return note(y)
    return kept
def counting():
    count = 0
    def kept(x=0):
        return note(count)
    def more():
        nonlocal count
        count += 1
    return kept, more
class Scaled:
    def __init__(self, function, by):
        functools.update_wrapper(self, function)
        self.by = by
    def __call__(self, x):
        return x * self.by
class Made:
    def __init__(self, value):
        self.value = value
    def make(self):
        return self.value
class Borrowed:
    def __init__(self, value):
        self.maker = Made(value)
    def __reduce__(self):
        return self.maker.make, ()
def marked(value):
    def each(x):
        return x + each.by
    each.by = value
    return each
def written(text, names="x=0, y=0"):
    space = {"note": note}
    exec(f"def kept({names}):\\n    " + text.replace("; ", "\\n    "), space)
    return space["kept"]
class Kept:
    def __init__(self, value):
        self.value = value
    def kept(self, x=0):
        return note(self.value)
    @classmethod
    def both(cls, x=0):
        return note(cls)
def method(value):
    class Kept:
        def kept(self, x=0, y=value):
            return note(y)
    return Kept().kept
class Colour(enum.Enum):
    RED, BLUE = 1, 2
@dataclasses.dataclass
class Point:
    x: int
    y: int
class Names(set):
    pass
def noted(values, by):
    names = Names(values)
    names.by = by
    return names
def one(x): return x
def other(x): return x + 1
def recursive(value):
    def kept(x=0):
        return note((value, kept))
    return kept
def wrapped(function):
    @functools.wraps(function)
    def around(x=0):
        return function(x)
    return around
words = ["w%d" % i for i in range(50)]
functions = [
    closing(1), closing(2), closing(1.0), closing("1"), closing([1]), closing({1: 2}), closing(1, 2),
    closing(one), closing(other), closing(lambda x: x), closing(lambda x: x * 2), closing(len),
    closing(math.sqrt), closing(math), closing(Point), closing(Point(1, 2)), closing(Point(2, 1)),
    closing(Colour.RED), closing(Colour.BLUE), closing(re.compile("a")), closing(re.compile("b")),
    closing(numpy.zeros(2)), closing(numpy.ones(2)), closing(numpy.add), closing(numpy.dtype("f4")),
    closing(functools.partial(other, 1)), closing(functools.partial(other, 2)),
    closing(functools.lru_cache(closing(3))), closing(functools.lru_cache(closing(4))),
    closing(stoker.cached(closing(5))), closing(stoker.cached(closing(6))),
    closing(collections.OrderedDict(a=1)), closing(collections.Counter("a")), closing(set(words)),
    closing(Names(words)), closing(Names("a")), closing(closing(7)), closing(closing(8)),
    closing(Kept(1).kept), closing(Kept(2).kept), closing(object()), closing(...), closing(None),
    closing(Scaled(one, 1)), closing(Scaled(one, 2)), closing(Borrowed(1)), closing(Borrowed(2)),
    closing(marked(1)), closing(marked(2)), closing(noted("a", 1)), closing(noted("a", 2)),
    closing(bytearray(b"a")), closing(b"a"), closing({1}), closing(frozenset({1})),
    closing(numpy.zeros(1, [("x", "i4")])), closing(numpy.zeros(1, [("y", "i4")])),
    closing(numpy.ma.array([1, 2], mask=[0, 1])), closing(numpy.ma.array([1, 2], mask=[1, 0])),
    closing(numpy.rec.array([(1,)], [("x", "i4")])), closing(numpy.array([1, None])),
    closing(numpy.array([2, None])), closing(pathlib.Path("a")), closing(pathlib.PurePath("a")),
    closing(decimal.Decimal("1.0")), closing(decimal.Decimal("1.00")), closing(Pair(1, 2)), closing((1, 2)),
    closing(datetime.datetime(2020, 1, 1)), closing(datetime.datetime(2020, 1, 1, fold=1)),
    closing(datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)), closing(range(3)), closing(slice(3)),
    recursive(1), recursive(2),
    Kept(1).kept, Kept(2).kept, Kept.both, method(1), method(2), wrapped(closing(1)),
    wrapped(closing(2)),
    functools.lru_cache(closing(9)), functools.lru_cache(closing(10)),
    defaulting(1), defaulting(2), defaulting(one), naming(1), naming(2), naming((1, 2)),
    written("return note(1)"), written("return note(2)"), written("return note(1.0)"),
    written("return note(True)"), written("return note(x.real)"), written("return note(x.imag)"),
    written("return note(x - y)"), written("return note(y - x)"), written("return note(-0.0)"),
    written("return note(0.0)"), written("return note(x in {'a', 'b', 'c'})"),
    written("return note(x in {'a', 'b', 'd'})"), written("return note([z for z in (1, 2)])"),
    written("return note([z for z in (1, 3)])"), written("return note((lambda: 1)())"),
    written("return note((lambda: 2)())"), written("def inner(a=1): return a; return note(inner())"),
    written("def inner(a=2): return a; return note(inner())"), written("return note(...)"),
    written("return note((x, y))"), written("return note((y, x))", "y=0, x=0"),
    written("try: return note(x); except KeyError: pass"),
    written("try: return note(x); except OSError: pass"),
]
"""


def test_functions_of_one_name(place):
    run(place, FUNCTIONS + textwrap.dedent("""
        kept = [stoker.cached(function) for function in functions]
        wrong = [number for number, function in enumerate(kept)
                 if (function(), function()) != (number + 1, number + 1)]
        assert not wrong, (wrong[:9], made)
        """))
    for seed in ("1", "2"):
        again = FUNCTIONS + "for each in functions: stoker.cached(each)()\nprint(made)\n"
        assert run({**place, "PYTHONHASHSEED": seed}, again).stdout == "[]\n", "all are kept"


def test_a_key_is_part_of_the_function(place):
    run(place, FUNCTIONS + textwrap.dedent("""
        def kept(x):
            return note(x)
        first, second = (stoker.cached(kept, key=key) for key in (lambda x: x[0], lambda x: x[1]))
        assert (first((1, 2)), first((1, 3)), second((2, 1)), second((3, 1))) == (1, 1, 2, 2)
        """))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")
def test_functions_that_close_over_tensors(place):
    code = FUNCTIONS + textwrap.dedent("""
        import torch
        def named(tensor):
            tensor.said = "one"
            return tensor
        values = [torch.zeros(2), torch.ones(2), torch.zeros(2, dtype=torch.float64), torch.float32,
                  torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(2, 2), torch.nn.ReLU(),
                  torch.ones(2, requires_grad=True), named(torch.ones(2)), torch.ones(2, 3),
                  torch.ones(3, 2).T]
        for value in values[5].parameters():
            torch.nn.init.ones_(value)
        import os
        if os.fork():
            os.wait()
        print([stoker.cached(closing(value))() for value in values], len(made), flush=True)
        os._exit(0)
        """)
    said = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"
    assert run(place, code).stdout == f"{said} 11\n{said} 0\n"


def test_what_a_function_closes_over_may_change(place):
    run(place, FUNCTIONS + textwrap.dedent("""
        function, more = counting()
        function = stoker.cached(function)
        assert (function(), function()) == (1, 1)
        more()
        assert (function(), function()) == (2, 2)
        """))


def test_an_edited_function(place, tmp_path):
    def told(text):
        (tmp_path / "mine.py").write_text(text)
        return int(run(place, "import sys; sys.path.insert(0, sys.argv[1]); import mine",
                       tmp_path).stdout)
    place["PYTHONDONTWRITEBYTECODE"] = "1"
    text = textwrap.dedent("""
        import stoker
        calls = []
        @stoker.cached
        def kept(size=1):
            calls.append(size)
            return 256
        kept(), print(len(calls))
        """)
    assert [told(text), told(text)] == [1, 0]
    assert told("# a line more\n" + text) == 0
    assert told(text.replace("256", "257")) == 1
    assert told(text.replace("size=1", "size=2")) == 1
    assert told(text) == 0


def test_a_version_stands_for_what_has_no_key(place):
    run(place, FUNCTIONS + textwrap.dedent("""
        lock = threading.Lock()
        one, two = (stoker.cached(closing(lock, value), version=1) for value in (1, 2))
        assert (one(), one(), two(), two()) == (1, 1, 2, 2)
        assert stoker.cached(closing(lock, 1), version=2)() == 3
        assert stoker.cached(closing(threading.Lock(), 1), version=1)() == 1
        """))


@pytest.mark.parametrize("code, says", [
    ("stoker.cached(lambda: 1)", "define it with def"),
    ("""
        @stoker.cached
        def item(self, index): ...
        item(object(), 1)""", "give cached(key=function)"),
    ("""
        def closing(lock):
            @stoker.cached
            def kept(x): return lock
            return kept
        closing(__import__("threading").Lock())(1)""", "a _thread.lock in 'lock' of __main__:closing"),
    ("""
        @stoker.cached
        def kept(x, file=open("/dev/null")): ...
        kept(1)""", "give cached(version=...)"),
    ("""
        values = []
        values.append(values)
        @stoker.cached
        def kept(x, values=values): ...
        kept(1)""", "a value that holds itself"),
    ("""
        values = []
        values.append(values)
        @stoker.cached
        def kept(x): ...
        kept(values)""", "a value that holds itself"),
    ("""
        @stoker.cached
        async def kept(x): ...""", "kept is a coroutine function"),
    ("""
        @stoker.cached(version=1)
        async def kept(x):
            yield x""", "kept is an asynchronous generator function"),
    ("""
        @stoker.cached
        def kept(x):
            yield x""", "kept is a generator function"),
])
def test_what_cannot_be_kept(place, code, says):
    done = run(place, "import stoker\n" + textwrap.dedent(code), check=False)
    assert done.returncode == 1 and "TypeError" in done.stderr and says in done.stderr


@pytest.mark.parametrize("setting", ["/proc/none/there:1M", "/tmp/x:many", "/proc/self:1M"])
def test_a_bad_setting_is_told_once(place, setting):
    place["STOKER_DECODED"] = setting
    done = run(place, "from cached_functions import ask; ask(0, 2), ask(0, 2)")
    assert done.stderr.count("nothing is kept in a store") == 1 and setting in done.stderr
    assert set(calls(place).values()) == {2}


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_who_computes_is_killed_or_stopped(place, end):
    stuck = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
        import time, cached_functions
        cached_functions.time.sleep = lambda seconds: (print("in", flush=True), time.wait())
        time.wait = __import__("signal").pause
        cached_functions.slow(7)
        """)], env=place, text=True, stdout=subprocess.PIPE)
    assert stuck.stdout.readline() == "in\n"
    stuck.send_signal(end)
    try:
        done = run(place, """
            import stoker._store.claim
            stoker._store.claim._PATIENCE_S = 1
            from cached_functions import slow
            print(slow(7)["number"], slow(7)["number"])
            """)
        assert done.stdout == "7 7\n"
        assert calls(place) == {"7": 2}
    finally:
        stuck.kill()
        stuck.wait()
