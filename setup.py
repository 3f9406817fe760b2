"""What `pip install .` runs: make builds the package, the library and the command into one wheel.

STOKER_PREBUILT names a directory where that was built already (packaging/wheel.sh).
"""

import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:  # a source distribution needs none
        bdist_wheel = object

PREBUILT = os.environ.get("STOKER_PREBUILT")
BUILD = PREBUILT or "build/wheel"
PROGRAMS = {"stoker": "bin/stoker", "libstoker.so": "lib/libstoker.so"}
SBOM = pathlib.Path(BUILD, "stoker.cdx.json")


def make():
    """Ends with what make says, where something is missing."""
    if shutil.which("make") is None:
        sys.exit("stoker is built by make, which is not installed: apt-get install make gcc "
                 "libc6-dev libjpeg62-turbo-dev libxxhash-dev liblmdb-dev python3-dev (Fedora: "
                 "dnf install make gcc libjpeg-turbo-devel xxhash-devel lmdb-devel python3-devel)")
    made = subprocess.run(["make", "-s", "-j", str(os.cpu_count()), f"B={BUILD}",
                           f"PYTHON={sys.executable}", "NEEDED=xxhash jpeg python", "all"],
                          check=False)
    if made.returncode != 0:  # and has said why
        sys.exit("stoker was not built")


def settle_modes(directory):
    """Whatever umask it was built or checked out with."""
    for path in directory.rglob("*"):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


class Build(build_py):
    def run(self):
        if not PREBUILT:
            make()
        source, target = pathlib.Path(BUILD), pathlib.Path(self.build_lib, "stoker")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source / "python/stoker", target,
                        ignore=shutil.ignore_patterns("__pycache__"))
        for name, place in PROGRAMS.items():
            (target / place).parent.mkdir()
            shutil.copy2(source / name, target / place)
        settle_modes(target)


class Wheel(bdist_wheel):
    """With a bill of materials, where the build has made one."""

    def write_wheelfile(self, wheelfile_base, **more):
        super().write_wheelfile(wheelfile_base, **more)
        if SBOM.exists():
            boms = pathlib.Path(wheelfile_base, "sboms")
            boms.mkdir(exist_ok=True)
            shutil.copy2(SBOM, boms)
        settle_modes(pathlib.Path(wheelfile_base))


class Binary(Distribution):
    """Not for every machine, but for every CPython from 3.11 on."""

    def has_ext_modules(self):
        return True


setup(distclass=Binary, packages=["stoker"], package_dir={"stoker": "wrappers/python/stoker"},
      license_files=["LICENSE", "packaging/licenses/*.txt"],
      cmdclass={"build_py": Build, "bdist_wheel": Wheel},
      options={"bdist_wheel": {"py_limited_api": "cp311"}})
