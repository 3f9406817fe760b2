"""The binary wheel: what is in it, and that it works where nothing else of Stoker's is."""

import ast
import base64
import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
import zipfile

import pytest
from conftest import PACKAGES, ROOT
from pythons import pythons


def test_it_holds_all_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    package = ROOT / "wrappers/python/stoker"
    sources = {str(path.relative_to(package.parent)) for path in package.rglob("*")
               if path.suffix in (".py", ".pyi", ".bin") or path.name == "py.typed"}
    made = {f"stoker/{name}" for name in (
        "_core.abi3.so", "_samples_core.abi3.so", "_gpu_core.abi3.so", "site.zip", "bin/stoker",
        "lib/libstoker.so")}
    assert sources | made <= names
    extra = {name for name in names if name.startswith("stoker/") and not name.endswith("/")}
    assert extra == sources | made


@pytest.mark.parametrize("kind, tag", [("wheel", "cp311-abi3"), ("files_wheel", "py3-none")])
def test_it_runs_with_old_versions_of_glibc_and_needs_nothing_else(kind, tag, request, tmp_path):
    wheel = request.getfixturevalue(kind)
    assert re.search(rf"-{tag}-(manylinux\w+\.)?manylinux_2_17_(x86_64|aarch64)", wheel.name)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    for path in [tmp_path / "stoker/bin/stoker", *tmp_path.rglob("*.so")]:
        said = subprocess.run(["readelf", "-V", "-d", path], check=True, text=True,
                              capture_output=True).stdout
        versions = [tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_([\d.]+)", said)]
        assert max(versions) <= (2, 17), path
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
        assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2",
                          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, path
        assert b"/build/" not in path.read_bytes(), "a name of the machine that built it"


def parts_and_licences(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        bom, = (name for name in names if name.endswith("sboms/stoker.cdx.json"))
        parts = {part["name"]: part for part in json.loads(packed.read(bom))["components"]}
        return parts, {name.rpartition("/")[2]: packed.read(name).decode() for name in names
                       if "/licenses/" in name and not name.endswith("/")}


def test_licences_and_bill_of_materials(wheel):
    parts, texts = parts_and_licences(wheel)
    assert set(parts) == {"libjpeg-turbo", "libdeflate", "LMDB", "xxHash"}
    assert set(texts) == {"LICENSE", *(f"{name}.txt" for name in parts)}
    assert all(re.fullmatch(r"\d+(\.\d+){1,2}", part["version"]) for part in parts.values())
    holders = {name: [each["value"] for each in part["properties"]] for name, part in parts.items()}
    assert holders["libjpeg-turbo"] == ["_core.abi3.so"]
    assert holders["LMDB"] == ["_samples_core.abi3.so"]
    assert "based in part on the work of the Independent JPEG Group" in texts["libjpeg-turbo.txt"]


def test_its_record_is_right(wheel):
    with zipfile.ZipFile(wheel) as packed:
        record, = (name for name in packed.namelist() if name.endswith("/RECORD"))
        rows = list(csv.reader(packed.read(record).decode().splitlines()))
        for name, digest, size in rows:
            if name != record:
                sha = base64.urlsafe_b64encode(hashlib.sha256(packed.read(name)).digest())
                assert digest == "sha256=" + sha.decode().rstrip("="), name
                assert int(size) == packed.getinfo(name).file_size


def venv(directory, python=sys.executable):
    subprocess.run([python, "-m", "venv", directory], check=True)
    return directory / "bin"


def test_in_a_venv(wheel, install, works, scratch, capsys):
    programs = venv(scratch / "venv")
    start = time.monotonic()
    install(programs / "pip", "install", "-q", "pillow", wheel)
    where = works([programs / "stoker"], programs / "python")
    pages = {page.name for page in (scratch / "venv/share/man").glob("man?/*")}
    assert pages == {page.name for page in (ROOT / "docs/man").iterdir()}
    seconds = time.monotonic() - start
    with capsys.disabled():
        print(f"\nfrom `pip install` to the first hits: {seconds:.1f} s")
    assert where.startswith(str(scratch / "venv"))


def test_with_uv(wheel, install, works, scratch):
    programs = venv(scratch / "venv")
    install(programs / "pip", "install", "-q", "uv")
    uv, new = programs / "uv", scratch / "new"
    install(uv, "venv", "-q", "--python", sys.executable, new)
    install(uv, "pip", "install", "-q", "--python", new / "bin/python", "pillow", wheel)
    works([new / "bin/stoker"], new / "bin/python")


def prefix(directory):
    """A Python that lies in a directory with all it needs, as conda's do."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library = f"{sys.base_prefix}/lib/{version}"
    (directory / "bin").mkdir(parents=True)
    shutil.copytree(library, directory / "lib" / version, symlinks=True, ignore=shutil.ignore_patterns(
        "test", "__pycache__", "EXTERNALLY-MANAGED", "site-packages", "dist-packages", "config-*"))
    shutil.copy2(f"{sys.base_prefix}/bin/{version}", directory / "bin/python")
    return directory / "bin/python"


def test_in_a_prefix_that_moves(wheel, install, works, scratch):
    programs, python = venv(scratch / "venv"), prefix(scratch / "prefix")
    install(programs / "pip", "--python", python, "install", "-q", "pillow", wheel)
    script = next(path for path in (scratch / "prefix").rglob("bin/stoker")
                  if "dist-packages" not in path.parts and "site-packages" not in path.parts)
    works([script], python)
    (scratch / "prefix").rename(scratch / "moved")
    python = scratch / "moved/bin/python"
    where = works([python, "-m", "stoker"], python)
    assert where.startswith(str(scratch / "moved"))


# ---- the smaller one, for every other Python ----

def test_the_smaller_one_holds_what_serves_files(files_wheel):
    with zipfile.ZipFile(files_wheel) as packed:
        names = {name for name in packed.namelist() if name.startswith("stoker/") and name[-1] != "/"}
        sources = {name: packed.read(name) for name in names if name.endswith(".py")}
    assert names == {f"stoker/{name}" for name in (
        "__init__.py", "__main__.py", "_command.py", "waiting/_stoker_refused.py", "site.zip", "bin/stoker",
        "lib/libstoker.so")}
    for name, source in sources.items():
        ast.parse(source, name, feature_version=(3, 9))
    parts, texts = parts_and_licences(files_wheel)
    assert set(parts) == {"xxHash"} and set(texts) == {"LICENSE", "xxHash.txt"}


@pytest.mark.parametrize("version, kind", [("39", "files_wheel"), ("310", "files_wheel"), ("311", "wheel"),
                                           ("314", "wheel")])
def test_pip_takes_the_one_that_fits(version, kind, request, install, scratch):
    install(venv(scratch / "venv") / "pip", "download", "-q", "--no-deps", "--no-index", "--find-links",
            PACKAGES, "--python-version", version, "--only-binary", ":all:", "-d", scratch / "taken", "stoker")
    assert [path.name for path in (scratch / "taken").iterdir()] == [request.getfixturevalue(kind).name]


def older():
    """Pythons of this machine that pip takes the smaller wheel for."""
    return {version: python for version, python in pythons().items()
            if (3, 9) <= tuple(map(int, version.split("."))) < (3, 11)}


@pytest.mark.parametrize("version", ["3.9", "3.10"])
def test_an_older_python_has_its_files_served(version, files_wheel, install, serves, scratch):
    if version not in older():
        pytest.skip(f"no Python {version}")
    programs = venv(scratch / "venv", older()[version])
    install(programs / "pip", "install", "-q", "--no-index", "--find-links", PACKAGES, "stoker")
    said = serves([programs / "stoker"], programs / "python")
    assert said.count(f"Python {version}: images and batches are left as they are") == 1, said
    assert "not installed beside" not in said
    asked = subprocess.run([programs / "python", "-c", "from stoker import Image"], text=True,
                           capture_output=True, check=False)
    assert asked.stderr.splitlines()[-1].startswith("ImportError: stoker.Image wants CPython 3.11"), asked


def test_with_the_smaller_one_a_newer_python_is_told_of_it(files_wheel, install, serves, place, scratch):
    """As a job's may be, whose command lies in an environment of an older one."""
    programs = venv(scratch / "venv")
    install(programs / "pip", "install", "-q", "--no-index", files_wheel)
    said = serves([programs / "stoker"], programs / "python")
    assert said.count("images and batches are left as they are: the Python package is not") == 1, said
    doctor = place.run([programs / "stoker", "doctor", "--", programs / "python"], check=False).stdout
    assert "installed for an older Python" in doctor and "none, as there is no Python package" in doctor
    refused = place.run([programs / "stoker", "run", "--path", scratch, "--decoded", "1G", "--", "true"],
                        check=False)
    assert refused.returncode != 0 and "installed without its Python package" in refused.stderr
