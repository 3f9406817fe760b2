"""Runs programs in children that have torch from their start. Each line of the input is a JSON list: a program and its
arguments. For each it prints the exit status and the output, as JSON."""

import json
import os
import runpy
import sys
import tempfile

import torch.utils.data  # noqa: F401


def run(words):
    with tempfile.TemporaryFile() as out:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
            sys.exit()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        return status, out.read().decode()


def main():
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
