"""stoker.cached: one computation for all processes, what comes back, and what goes wrong."""

import collections
import json
import signal
import subprocess
import sys
import textwrap

import pytest

from conftest import BUILD, HERE

pytestmark = pytest.mark.skipif(not (BUILD / "python/stoker/_samples_core.abi3.so").exists(),
                                reason="the store is not built: liblmdb-dev")
pytest.importorskip("numpy")


@pytest.fixture
def place(environment, tmp_path):
    """Environment of a process with a store and a list of calls of its own."""
    return {**environment, "CALLS": str(tmp_path / "calls"), "PYTHONPATH":
            f"{BUILD / 'python'}:{HERE / 'programs'}", "STOKER_SAMPLES": f"{tmp_path / 'store'}:64M"}


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


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_each_value_is_computed_once(place, method):
    program = [sys.executable, HERE / "programs/cached_functions.py", method, "6", "30"]
    for _ in range(2):
        subprocess.run(program, env=place, check=True, timeout=300)
    found = calls(place)
    assert len(found) == 30 and set(found.values()) == {1}, found


def test_without_a_store_it_is_called_each_time(place):
    del place["STOKER_SAMPLES"]
    run(place, """
        from cached_functions import ask, slow
        ask(0, 3), ask(0, 3)
        """)
    assert set(calls(place).values()) == {2}


def test_a_full_store(place, tmp_path):
    place["STOKER_SAMPLES"] = f"{tmp_path / 'store'}:300K"
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


def test_keys(place):
    code = """
        import pathlib, sys
        import numpy, stoker
        made = []
        def count(*arguments, **options):
            made.append(arguments)
            return len(made)
        one, two = stoker.cached(count), stoker.cached(count, version=2)
        different = [(), (1,), (1.0,), (True,), ("1",), (b"1",), (None,), ((1,),), ([1],), ({1},),
                     (1, 1), ("a", "bc"), ("ab", "c"), (pathlib.Path("1"),), (numpy.int64(1),),
                     (numpy.zeros(2),), (numpy.zeros(2, "f4"),), (numpy.zeros((1, 2)),),
                     ({"a": 1},), ({"a": 2},), (-0.0,), (0.0,)]
        for arguments in different:
            one(*arguments), one(*arguments)
        assert len(made) == len(different), made
        assert one({"a": 1, "b": 2}) == one({"b": 2, "a": 1})
        assert one(a=1, b=2) == one(b=2, a=1) != one(a=2, b=1)
        assert two(1) != one(1)
        assert stoker.cached(count, key=lambda object: 5)(object()) == \\
            stoker.cached(count, key=lambda object: 5)(iter(()))
        print(len(made))
        """
    assert run(place, code).stdout.strip() == "27"


@pytest.mark.parametrize("code, says", [
    ("stoker.cached(lambda: 1)", "define it with def"),
    ("""
        @stoker.cached
        def item(self, index): ...
        item(object(), 1)""", "give cached(key=function)"),
])
def test_what_cannot_be_kept(place, code, says):
    done = run(place, "import stoker\n" + textwrap.dedent(code), check=False)
    assert done.returncode == 1 and "TypeError" in done.stderr and says in done.stderr


@pytest.mark.parametrize("setting", ["/proc/none/there:1M", "/tmp/x:many", "/proc/self:1M"])
def test_a_bad_setting_is_told_once(place, setting):
    place["STOKER_SAMPLES"] = setting
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
            import stoker._claim
            stoker._claim._PATIENCE_S = 1
            from cached_functions import slow
            print(slow(7)["number"], slow(7)["number"])
            """)
        assert done.stdout == "7 7\n"
        assert calls(place) == {"7": 2}
    finally:
        stuck.kill()
        stuck.wait()
