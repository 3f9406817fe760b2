"""Runs a program of tests/wrappers/batches/programs with the interpreter that runs the tests, under the hook as
`stoker run` puts it in place, or without."""

import json
import os
import pathlib
import subprocess
import sys

from checkout import BUILD
from isolated import Isolated

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = BUILD / "python"


def environment(batches):
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith("STOKER_") and key not in ("PYTHONPATH", "LD_PRELOAD")}
    return {**clean, "PYTHONPATH": f"{PACKAGE}/stoker/site.zip:{PACKAGE}", "OMP_NUM_THREADS": "1",
            "STOKER_BATCHES": "on" if batches else "off"}


def say(program, *arguments, batches=True, timeout=600):
    """Returns the JSON that it prints, line by line."""
    done = subprocess.run(
        [sys.executable, "-B", str(HERE / "programs" / program), *map(str, arguments)],
        env=environment(batches), text=True, timeout=timeout, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(scratch, program, *arguments):
    """Returns what `stoker run` counted of its batches. The catalogue is the run's own: the user's may know
    as many tiers as it can."""
    summary, empty = scratch / "summary.json", scratch / "data"
    empty.mkdir()
    with Isolated("2g") as place:
        place.run([PACKAGE.parent / "stoker", "run", f"--path={empty}", f"--tier={scratch}:16M",
                   f"--json={summary}", "--", sys.executable, "-B", HERE / "programs" / program,
                   *arguments], env={"OMP_NUM_THREADS": "1"}, timeout=600)
    return json.loads(summary.read_text())["batches"]
