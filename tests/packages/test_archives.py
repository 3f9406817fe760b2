"""The tarball and the Debian package: wherever they are unpacked; the same bytes each time; arm64."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile

import pytest

from conftest import MACHINE, PACKAGES, ROOT, package


@pytest.fixture(scope="session")
def tarball():
    return package(f"stoker-*-linux-{MACHINE}.tar.gz")


@pytest.fixture(scope="session")
def deb():
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[MACHINE]
    return package(f"stoker_*_{machine}.deb")


def manifest():
    said = subprocess.run(["make", "-s", "-C", ROOT, "manifest"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return {line.split()[2] for line in said.splitlines()}


def test_the_tarball_works_wherever_it_is(tarball, scratch, works):  # noqa: F811
    directory = scratch / "a place with spaces"
    directory.mkdir()
    with tarfile.open(tarball) as packed:
        packed.extractall(directory)
    unpacked, = directory.iterdir()
    where = works([unpacked / "bin/stoker"], "/usr/bin/python3")
    assert where.startswith(str(unpacked))


def test_the_tarball_holds_what_is_installed(tarball):
    with tarfile.open(tarball) as packed:
        names = {member.name.partition("/")[2]: member for member in packed if member.isfile()}
        owners = {(member.uid, member.gid) for member in packed}
    assert manifest() <= set(names) and owners == {(0, 0)}
    assert {"share/doc/stoker/LICENSE", "share/doc/stoker/LMDB.txt",
            "share/doc/stoker/libjpeg-turbo.txt", "share/doc/stoker/stoker.cdx.json"} <= set(names)


def test_the_debian_package_works(deb, scratch, works):  # noqa: F811
    """And holds what is in the manifest, no more; nothing stays behind."""
    root = scratch / "root"
    root.mkdir()
    subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
    files = [path for path in root.rglob("*") if path.is_file()]
    works([root / "usr/bin/stoker"], "/usr/bin/python3")
    assert {str(path.relative_to(root)) for path in files if "/doc/" not in str(path)} <= {
        f"usr/{name}" for name in manifest()} | {f"usr/{name}.gz" for name in manifest()} | {
        "usr/lib/stoker/libstoker.so"}
    compiled = list(root.rglob("__pycache__"))
    subprocess.run(["dpkg-deb", "-e", deb, scratch / "control"], check=True)
    subprocess.run([scratch / "control/prerm", "remove"], check=True,
                   env={**os.environ, "DPKG_ROOT": str(root)})
    assert compiled and not list(root.rglob("__pycache__")), "what dpkg could not remove"
    assert all(path.exists() for path in files)


def test_debian_s_own_checks(deb):
    if shutil.which("lintian") is None:
        pytest.skip("no lintian")
    said = subprocess.run(["lintian", "--allow-root", "--fail-on", "none", deb], text=True,
                          stdout=subprocess.PIPE).stdout
    assert [line for line in said.splitlines() if line[:2] in ("E:", "W:")] == []


def digests(directory, pattern):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in directory.glob(pattern)}


def test_built_again_elsewhere_they_have_the_same_bytes(tmp_path):
    """In another directory, at another time, with another umask."""
    copy = tmp_path / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(
        "build", ".git", "*.egg-info", "__pycache__", ".pytest_cache"))
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "log", "-1", "--format=%ct"], check=True,
        text=True, stdout=subprocess.PIPE).stdout.strip()
    env = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "WHEEL_VENV": str(ROOT / "build/venv-wheel"),
           "STOKER_NO_DEPS": "1"}
    subprocess.run(["sh", "-c", "umask 077; exec make -s -j2 packages"], cwd=copy, env=env, check=True,
                   stdout=subprocess.DEVNULL)
    made = digests(copy / "build/packages", "*")
    assert len(made) == 4
    assert made == {name: digest for name, digest in digests(PACKAGES, "*").items() if name in made}


# ---- arm64, in a processor that is not there ----

ARM_PYTHON = ["python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libexpat1",
              "zlib1g", "libc6"]
IMPORTS = """
import platform, sys
import stoker, stoker._samples_core, stoker._gpu_core
print(platform.machine(), stoker.counts()["images"], len(stoker.decode(sys.argv[1])))
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """A small Python for arm64, and what runs it."""
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("no qemu-user")
    root = tmp_path_factory.mktemp("arm64")
    for name in ARM_PYTHON:
        done = subprocess.run([ROOT / "scripts/arm64-package.sh", name, root], capture_output=True)
        if done.returncode != 0:
            pytest.skip(f"{name} of arm64 cannot be had")
    return ["qemu-aarch64", "-L", str(root)], root


@pytest.fixture
def arm_tarball(scratch):  # noqa: F811
    with tarfile.open(package("stoker-*-linux-aarch64.tar.gz")) as packed:
        packed.extractall(scratch)
    unpacked, = scratch.glob("stoker-*")
    return unpacked


# A Python this small has no ctypes.
MOUNTS = """
import os, sys
for path in sys.argv[1], "/dev/shm", os.path.dirname(sys.argv[1]):
    for line in open(f"/proc/self/fdinfo/{os.open(path, 0)}"):
        if line.startswith("mnt_id:"):
            print(line.split()[1])
"""


def test_arm64_fills_and_serves(arm, arm_tarball, place, photographs):  # noqa: F811
    qemu, root = arm
    stoker = [*qemu, arm_tarball / "bin/stoker"]
    place.run([*stoker, "warm", photographs])
    serve = [*qemu, "-E", f"LD_PRELOAD={arm_tarball}/lib/libstoker.so", "-E",
             f"STOKER_PATHS={photographs}", "-E", f"PYTHONHOME={root}/usr", root / "usr/bin/python3.11",
             "-S", "-c", MOUNTS,
             photographs / "0.jpg"]
    file, tier, origin = place.run(serve).stdout.split()
    assert file == tier != origin
    assert " 4 files " in place.run([*stoker, "ls"]).stdout


def test_arm64_decodes(arm, arm_tarball, place, photographs):  # noqa: F811
    qemu, root = arm
    done = place.run([*qemu, "-E", f"PYTHONPATH={arm_tarball}/lib/stoker/python", "-E",
                      f"PYTHONHOME={root}/usr", root / "usr/bin/python3.11", "-S", "-c", IMPORTS,
                      photographs / "0.jpg"])
    assert re.fullmatch(r"aarch64 0 \d+\n", done.stdout), done.stdout
