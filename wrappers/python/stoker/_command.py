"""Starts the command: the program in a pip-installed package's bin/, else in its build tree, else on PATH."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_BESIDE = ("bin",              # pip's
           "../..",            # build/python/stoker: make's
           "../../../../bin")  # lib/stoker/python/stoker: of the tarball, the Debian package, make install


def _is_program(path):
    """Returns true for a binary program. A script of pip's would start this module again."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF" and os.access(path, os.X_OK)
    except OSError:
        return False


def _find():
    """Returns the program's path, or None."""
    beside = [os.path.normpath(os.path.join(_HERE, directory)) for directory in _BESIDE]
    paths = [os.path.join(directory, "stoker") for directory in (*beside, *os.get_exec_path())]
    return next(filter(_is_program, paths), None)


def main():
    program = _find()
    if program is None:
        sys.exit(f"stoker: its program lies neither beside the package in {_HERE} nor on PATH: "
                 "`pip install .` or `make install` in the sources puts both in their places")
    os.execv(program, ["stoker", *sys.argv[1:]])
