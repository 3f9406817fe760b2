"""Runs a program of tests/wrappers/batches/programs with the interpreter that runs the tests, under the hook as
`stoker run` puts it in place, or without."""

import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys

from checkout import BUILD
from forked import forked
from isolated import Isolated

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python"


def environment(batches):
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith("STOKER_") and key not in ("PYTHONPATH", "LD_PRELOAD")}
    return {**clean, "PYTHONPATH": f"{PACKAGE}/stoker/site.zip:{PACKAGE}", "OMP_NUM_THREADS": "1",
            "STOKER_BATCHES": "on" if batches else "off"}


def say_anew(program, *arguments):
    """Returns the JSON that it prints, line by line, in an interpreter of its own that has imported nothing."""
    done = subprocess.run(
        [sys.executable, "-B", str(HERE / "programs" / program), *map(str, arguments)],
        env=environment(True), text=True, timeout=600, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextlib.contextmanager
def printing():
    """Gives lines(program, argument..., batches=True), which returns the lines that it prints, in a child of a process that has
    imported torchvision."""
    with contextlib.ExitStack() as processes:
        @functools.cache
        def run_of(batches):
            return processes.enter_context(forked(["torchvision"], environment(batches)))

        def lines(program, *arguments, batches=True):
            return run_of(batches)(HERE / "programs" / program, *arguments).splitlines()
        yield lines


def run(scratch, program, *cases):
    """Returns the JSON that a program prints, line by line, and what `stoker run` counted of the batches of each case, for a
    program that runs the command in AFTER_EACH behind each. The catalogue is the run's own: the user's may know as many tiers
    as it can."""
    looks, empty = scratch / "looks", scratch / "data"
    empty.mkdir()
    stoker = PACKAGE.parent / "stoker"
    with Isolated("2g") as place:
        done = place.run([stoker, "run", f"--path={empty}", f"--tier={scratch}:16M", "--", sys.executable, "-B",
                   HERE / "programs" / program, *cases],
                  env={"OMP_NUM_THREADS": "1", "AFTER_EACH": f"{stoker} top --once --json >>{looks}"}, timeout=600)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return said, dict(zip(cases, _growth(looks.read_text()), strict=True))


def _growth(text):
    """Yields what was counted between two looks at a run."""
    before = {"left": {}}
    while text := text.lstrip():
        look, end = json.JSONDecoder().raw_decode(text)
        text, now = text[end:], look["runs"][0]["batches"]
        left = {reason: count for reason, count in now["left"].items() if count != before["left"].get(reason, 0)}
        grown = {name: now[name] - before.get(name, 0) for name in ("rows", "slots", "pickles")}
        yield {**grown, "left": left}
        before = now
