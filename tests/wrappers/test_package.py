"""The package itself: memory, what it may be linked to, and `pip install .`."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import BUILD, HERE, ROOT
from covered import place  # noqa: F401
from slices import ALL


def test_no_leak(jpegs, environment):
    count = 100_000 if ALL else 4000
    done = subprocess.run([sys.executable, HERE / "programs/leak.py", jpegs, str(count)], text=True,
                          env=environment, capture_output=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    grown, images = map(int, done.stdout.split())
    assert images > count * 0.9
    assert grown < 4 << 20, f"{grown} bytes in {count} decodes"


def test_what_it_needs_and_shows():
    """libjpeg stays inside, since others bring their own; and one binary is for all versions."""
    library = BUILD / "python/stoker/_core.abi3.so"
    dynamic = subprocess.run(["objdump", "-p", library], text=True, capture_output=True,
                             check=True)
    needed = {line.split()[1] for line in dynamic.stdout.splitlines() if "NEEDED" in line}
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2",
                      "ld-linux-aarch64.so.1"}
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], text=True,
                             capture_output=True, check=True)
    assert [line.split()[-1] for line in symbols.stdout.splitlines()] == ["PyInit__core"]


def test_stub_names_all():
    """What the extension has, its stub declares, and no more."""
    code = "import stoker._core as c; print(*(n for n in dir(c) if not n.startswith('_')))"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(BUILD / "python")})
    stub = (ROOT / "wrappers/python/stoker/_core.pyi").read_text()
    declared = {line.split("(")[0][4:] for line in stub.splitlines() if line.startswith("def ")}
    assert set(done.stdout.split()) == declared


@pytest.mark.skipif(not ALL, reason="builds everything anew: only with STOKER_ALL=1")
def test_pip_install(tmp_path, jpegs, environment, place):  # noqa: F811
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build", ".git", "*.egg-info"))
    built = subprocess.run([venv / "bin/pip", "install", "-q", "pillow", tree], text=True,
                           capture_output=True, env={**environment, "PYTHONPATH": ""})
    if built.returncode != 0 and "No matching distribution" in built.stderr:
        pytest.skip("no package index can be reached")
    assert built.returncode == 0, built.stderr
    script = ("import sys; from PIL import Image; Image.open(sys.argv[1]).tobytes();"
              "import stoker; print(stoker.counts())")
    ran = place.run([venv / "bin/stoker", "run", "--path", jpegs, "--", venv / "bin/python", "-c",
                     script, jpegs / "color.jpg"])
    assert ran.stdout == "{'images': 1, 'settled': {}}\n" and "1 images decoded" in ran.stderr


WAITING = """
import sys
import stoker
from stoker import Image

def images():
    return stoker.counts()["images"]

image = Image.open(sys.argv[1])
image.load()
other = image.convert("RGB").crop((3, 3, 90, 80)).resize((40, 40), 3).transpose(0)
assert (type(image), type(other).__name__) == (type(Image.open(sys.argv[1])), "Image")
assert images() == 0, "something was decoded before it was wanted"
other.tobytes()
assert images() == 1
other.getpixel((0, 0)), other.tobytes(), other.rotate(3), other.copy().tobytes()
assert images() == 2, "settled once, then ordinary"
image = Image.open(sys.argv[1]).convert("RGB")
[image.crop((n, n, n + 9, n + 9)).tobytes() for n in range(10)]
assert images() == 4, "the second crop makes ordinary pixels of it"
"""


def test_nothing_is_decoded_before_it_is_wanted(jpegs, environment):
    done = subprocess.run([sys.executable, "-c", WAITING, jpegs / "color.jpg"], env=environment,
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
