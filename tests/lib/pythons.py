"""The Pythons of this machine: those on PATH, and pyenv's."""

import glob
import os
import subprocess


def works(python):
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def pythons():
    """Every one of them, by version: {"3.11": path}."""
    roots = os.environ.get("PATH", "").split(":")
    roots += glob.glob(os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")),
                                    "versions/*/bin"))
    found = {}
    for root in roots:
        for path in glob.glob(os.path.join(root, "python[23].[0-9]*")):
            name = os.path.basename(path)[len("python"):]
            if name.replace(".", "").isdigit() and name not in found and works(path):
                found[name] = path
    return found
