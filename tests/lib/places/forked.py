"""Programs, for what they print. Most of what a small program with torch costs is its import: one process has imported it
for all of them. Under the hook that process has done what Stoker does at an import, and has decoded and proven nothing."""

import contextlib
import json
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "programs/forked.py"


@contextlib.contextmanager
def forked(modules, env):
    """Gives run(program, argument..., env={}), which returns what the program prints, by a child of a process that has
    imported these modules in that environment. Variables of `env` are only there when the program begins."""
    with subprocess.Popen([sys.executable, "-B", PROGRAM, *modules], env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as programs:
        def run(*words, env=None):
            print(json.dumps([env or {}, [str(word) for word in words]]), file=programs.stdin, flush=True)
            status, said, errors = json.loads(programs.stdout.readline())
            assert status == 0, f"{status}: {errors[-4000:]}"
            return said
        yield run
