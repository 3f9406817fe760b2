"""For `pip install .`: make builds the package, the library and the command into one wheel.

A Python that the package is not for (before 3.11, no CPython, or without the GIL) gets the command and the
library alone, which serve files.

STOKER_PREBUILT names a directory where that was built already, STOKER_FILES_ONLY asks for the smaller wheel
(packaging/wheel.sh).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

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
DECODES = (sys.version_info >= (3, 11) and sys.implementation.name == "cpython"
           and not sysconfig.get_config_var("Py_GIL_DISABLED")
           and not os.environ.get("STOKER_FILES_ONLY"))
BUILD = PREBUILT or ("build/wheel" if DECODES else "build/wheel-files")
PROGRAMS = {"stoker": "bin/stoker", "libstoker.so": "lib/libstoker.so"}
SBOM = pathlib.Path(BUILD, "stoker.cdx.json" if DECODES else "stoker-files.cdx.json")
NEEDED, TARGET = ("xxhash jpeg python", "all") if DECODES else ("xxhash", "files")
# Where the command looks for what its Pythons shall import.
PACKAGE = pathlib.Path("wrappers/python/stoker")
FILES_ONLY = {"wrappers/python/files_only.py": "__init__.py", f"{BUILD}/python/stoker/site.zip": "site.zip",
              **{str(PACKAGE / name): name for name in (
                  "__main__.py", "_command.py", "waiting/_stoker_refused.py")}}


def make():
    """Ends with what make says, where something is missing."""
    if shutil.which("make") is None:
        sys.exit("stoker is built by make, which is not installed: apt-get install make gcc "
                 "libc6-dev libjpeg-dev libxxhash-dev libdeflate-dev liblmdb-dev python3-dev (Fedora: "
                 "dnf install make gcc libjpeg-turbo-devel xxhash-devel libdeflate-devel lmdb-devel python3-devel)")
    made = subprocess.run(["make", "-s", "-j", str(os.cpu_count()), f"B={BUILD}",
                           f"PYTHON={sys.executable}", f"NEEDED={NEEDED}", TARGET], check=False)
    if made.returncode != 0:  # and has said why
        sys.exit("stoker was not built")


def settle_modes(directory):
    """Whatever umask it was built or checked out with."""
    for path in directory.rglob("*"):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def copy_files(files, target):
    for source, place in files.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target / place)


class Build(build_py):
    def run(self):
        if not PREBUILT:
            make()
        target = pathlib.Path(self.build_lib, "stoker")
        shutil.rmtree(target, ignore_errors=True)
        if DECODES:
            shutil.copytree(pathlib.Path(BUILD, "python/stoker"), target,
                            ignore=shutil.ignore_patterns("__pycache__"))
        else:
            copy_files(FILES_ONLY, target)
        copy_files({f"{BUILD}/{name}": place for name, place in PROGRAMS.items()}, target)
        settle_modes(target)


class Wheel(bdist_wheel):
    """With a bill of materials, where the build has made one."""

    def get_tag(self):
        python, abi, platform = super().get_tag()
        return (python, abi, platform) if DECODES else ("py3", "none", platform)

    def write_wheelfile(self, wheelfile_base, **more):
        super().write_wheelfile(wheelfile_base, **more)
        if SBOM.exists():
            boms = pathlib.Path(wheelfile_base, "sboms")
            boms.mkdir(exist_ok=True)
            shutil.copy2(SBOM, boms / "stoker.cdx.json")
        settle_modes(pathlib.Path(wheelfile_base).parent)


def manual():
    """Where `man` looks for the pages of a program that it finds on PATH, as of an environment that is active."""
    pages = sorted(map(str, pathlib.Path("docs/man").iterdir()))
    return [(f"share/man/man{number}", [page for page in pages if page.endswith(number)]) for number in "17"]


class Binary(Distribution):
    """Not for every machine, but for every CPython from 3.11 on, or for every Python."""

    def has_ext_modules(self):
        return True


setup(distclass=Binary, packages=["stoker"], package_dir={"stoker": "wrappers/python/stoker"},
      license_files=["LICENSE", "packaging/licenses/*.txt" if DECODES else "packaging/licenses/xxHash.txt"],
      data_files=manual(),
      cmdclass={"build_py": Build, "bdist_wheel": Wheel},
      options={"bdist_wheel": {"py_limited_api": "cp311"}} if DECODES else {})
