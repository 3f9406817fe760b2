"""Runs programs in children that have modules from their start: PROGRAM MODULE...

Each line of the input is JSON: variables of the environment, and a list of a program and its arguments. For each it prints
the exit status, the output and the errors, as JSON."""

import atexit
import gc
import importlib
import json
import os
import runpy
import sys
import tempfile
import threading
import traceback


def become(words):
    """Runs a program as its interpreter would, in this process, and ends it."""
    status = 1
    try:
        sys.argv, sys.path[0] = words, os.path.dirname(words[0])
        runpy.run_path(words[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    leave(status)


def leave(status):
    """Ends as Python's own processes of fork do. To take the interpreter apart would cost more than most programs; what comes
    of that is tested in tests/wrappers/batches/test_exits.py."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def run(variables, words):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            os.environ.update(variables)
            become(words)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        errors.seek(0)
        return status, out.read().decode(), errors.read().decode()


def main():
    for name in sys.argv[1:]:
        importlib.import_module(name)
    gc.freeze()  # a child's collector need not walk, and so copy, all that was imported
    while line := sys.stdin.readline():
        print(json.dumps(run(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
