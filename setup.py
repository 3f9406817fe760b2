"""What `pip install .` runs: make builds the package, the library and the command into one wheel."""

import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

BUILD = "build/wheel"
PROGRAMS = {"stoker": "bin/stoker", "libstoker.so": "lib/libstoker.so"}


class Build(build_py):
    def run(self):
        made = subprocess.run(["make", "-s", "-j", str(os.cpu_count()), f"B={BUILD}",
                               f"PYTHON={sys.executable}", "all"], check=False)
        if made.returncode != 0:  # and has said why
            sys.exit("stoker was not built")
        source, target = pathlib.Path(BUILD), pathlib.Path(self.build_lib, "stoker")
        if not (source / "python/stoker/_core.abi3.so").exists():
            sys.exit(f"no Python.h for {sys.executable}: install its development files")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source / "python/stoker", target,
                        ignore=shutil.ignore_patterns("__pycache__"))
        for name, place in PROGRAMS.items():
            (target / place).parent.mkdir()
            shutil.copy2(source / name, target / place)


class Binary(Distribution):
    """Not for every machine, but for every CPython from 3.11 on."""

    def has_ext_modules(self):
        return True


setup(distclass=Binary, packages=["stoker"], package_dir={"stoker": "wrappers/python/stoker"},
      cmdclass={"build_py": Build}, options={"bdist_wheel": {"py_limited_api": "cp311"}})
