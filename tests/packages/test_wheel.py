"""The binary wheel: what is in it, and that it works where nothing else of Stoker's is."""

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

from conftest import ROOT


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


def test_it_runs_with_old_versions_of_glibc_and_needs_nothing_else(wheel, tmp_path):
    assert re.search(r"-cp311-abi3-(manylinux\w+\.)?manylinux_2_17_(x86_64|aarch64)", wheel.name)
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


def test_licences_and_bill_of_materials(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        bom, = (name for name in names if name.endswith("sboms/stoker.cdx.json"))
        parts = {part["name"]: part for part in json.loads(packed.read(bom))["components"]}
        texts = {name.rpartition("/")[2]: packed.read(name).decode() for name in names
                 if "/licenses/" in name and not name.endswith("/")}
    assert set(parts) == {"libjpeg-turbo", "LMDB", "xxHash"}
    assert set(texts) == {"LICENSE", *(f"{name}.txt" for name in parts)}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", part["version"]) for part in parts.values())
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


def venv(directory):
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    return directory / "bin"


def test_in_a_venv(wheel, install, works, scratch, capsys):
    programs = venv(scratch / "venv")
    start = time.monotonic()
    install(programs / "pip", "install", "-q", "pillow", wheel)
    where = works([programs / "stoker"], programs / "python")
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
