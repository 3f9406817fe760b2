"""The package itself: memory, what it may be linked to, and `pip install .`."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

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


def test_every_name_that_is_listed_is_there(environment):
    """In a process that imported nothing else of the package."""
    script = ("import stoker, sys; "
              "print([name for name in dir(stoker) if not hasattr(stoker, name) and name not in sys.argv])")
    torch = importlib.util.find_spec("torch") is not None
    done = subprocess.run([sys.executable, "-c", script, *([] if torch else ["gpu", "transforms", "Feed", "Loader"])],
                          text=True, env=environment, capture_output=True, check=True)
    assert done.stdout == "[]\n"


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


def test_each_function_of_the_extension_says_what_it_does():
    """The comment above its definition begins with its name."""
    core = ROOT / "wrappers/python/core"
    names = re.findall(r"^[A-Z]+\((\w+)\)", (core / "common/functions.def").read_text(), re.MULTILINE)
    sources = "".join(source.read_text() for source in sorted(core.glob("*/*.c")))
    defined = r"/\*((?:(?!\*/).)*)\*/\n(?:PyObject \*core_|[A-Z]+_CALL\()(\w+)[(,)]"
    comments = dict(re.findall(defined, sources, re.DOTALL))
    said = {name: re.sub(r"^[\s*`]+", "", comment) for comment, name in comments.items()}
    assert len(names) > 40 and not [name for name in names if not said.get(name, "").startswith(name + "(")]


def test_what_is_not_asked_for_is_not_imported(jpegs, environment):
    """Without a store nothing of it, and for stoker.decode no room that needs a library."""
    code = ("import sys, stoker; stoker.decode(sys.argv[1]); "
            "print(*sorted(n for n in sys.modules if n.startswith(('stoker._', 'PIL'))))")
    done = subprocess.run([sys.executable, "-c", code, jpegs / "color.jpg"], text=True,
                          capture_output=True, env=environment)
    assert done.stdout.split() == ["stoker._core", "stoker._direct", "stoker._store",
                                   "stoker._store.sources"], done.stderr


def test_stubs_name_only_what_the_oldest_python_has():
    """Each name is in the standard library; typing_extensions comes with the checkers."""
    missing = []
    for stub in (ROOT / "wrappers/python/stoker").glob("*.pyi"):
        for node in ast.walk(ast.parse(stub.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in (
                    sys.stdlib_module_names):
                module = importlib.import_module(node.module)
                missing += [f"{stub.name}: {node.module}.{each.name}" for each in node.names
                            if not hasattr(module, each.name)]
    assert not missing


def as_module(package, path=""):
    """`python -m stoker --version`, of a package that lies somewhere."""
    return subprocess.run([sys.executable, "-m", "stoker", "--version"], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(package.parent), "PATH": str(path)})


@pytest.fixture
def moved(tmp_path):
    """A package without its program, as `make install` lays it."""
    return shutil.copytree(BUILD / "python/stoker", tmp_path / "lib/stoker/python/stoker")


def test_the_module_is_the_command_beside_it(moved):
    """Where make has left it, and where `make install` and the archives put it."""
    version = subprocess.check_output([BUILD / "stoker", "--version"], text=True)
    assert as_module(BUILD / "python/stoker").stdout == version
    programs = moved.parents[3] / "bin"
    programs.mkdir()
    shutil.copy(BUILD / "stoker", programs)
    assert as_module(moved).stdout == version


def test_the_module_finds_the_command_on_path(moved, tmp_path):
    """Past a script that would start the module again."""
    script = tmp_path / "venv" / "stoker"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -m stoker\n")
    script.chmod(0o755)
    alone = as_module(moved, script.parent)
    assert alone.returncode == 1 and "Traceback" not in alone.stderr
    assert str(moved) in alone.stderr and "pip install ." in alone.stderr
    assert as_module(moved, f"{script.parent}:{BUILD}").stdout.startswith("stoker ")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the sources, without what was built in them."""
    copy = tmp_path_factory.mktemp("sources") / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(
        "build", ".git", "*.egg-info", "__pycache__", ".pytest_cache"))
    return copy


def new_venv(directory):
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    return directory / "bin"


def pip(programs, environment, *arguments):
    """Skips where there is no index to take setuptools or Pillow from."""
    done = subprocess.run([programs / "pip", *arguments], text=True, capture_output=True,
                          env={**environment, "PYTHONPATH": ""})
    if done.returncode != 0 and "No matching distribution" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def sdist(tree, tmp_path_factory, environment):
    """The source distribution."""
    scratch = tmp_path_factory.mktemp("sdist")
    python = sys.executable
    if importlib.util.find_spec("setuptools") is None:
        programs = new_venv(scratch / "venv")
        pip(programs, environment, "install", "-q", "setuptools")
        python = programs / "python"
    made = scratch / "made"
    subprocess.run([python, "setup.py", "-q", "sdist", "-d", made], cwd=tree,
                   check=True, capture_output=True, env={**environment, "PYTHONPATH": ""})
    archive, = made.iterdir()
    return archive


# Only the repository needs these.
NOT_DISTRIBUTED = {".ci/run", ".editorconfig", ".gitignore"}


def test_the_source_distribution_is_complete(sdist):
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout: nothing says which files there must be")
    listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout
    with tarfile.open(sdist) as packed:
        names = {member.name.partition("/")[2] for member in packed if member.isfile()}
    missing = {name for name in listed.splitlines() if (ROOT / name).is_file()} - names
    assert missing == NOT_DISTRIBUTED & set(listed.splitlines())
    assert not [name for name in names if "__pycache__" in name or name.startswith("build/")]


def make_wheel(source, directory, environment):
    """By pip, in an environment that has nothing of ours."""
    pip(new_venv(directory / "maker"), environment, "wheel", "-q", "--no-deps", "-w",
        directory / "wheels", source)
    wheel, = (directory / "wheels").iterdir()
    return wheel


WHEEL_HAS = {"_core.abi3.so", "__init__.py", "__init__.pyi", "transforms.py",
             "py.typed", "_pillow/hook.py", "_pillow/check.bin", "_store/samples.py", "site.zip",
             "waiting/_stoker_waiting.py", "bin/stoker", "lib/libstoker.so"}
RUN_BY_WHEEL = """
import sys
from PIL import Image
Image.open(sys.argv[1]).tobytes()
import stoker
print(stoker.counts()["images"], stoker.__file__.startswith(sys.prefix))
"""


@pytest.mark.skipif(not ALL, reason="builds everything anew: only with STOKER_ALL=1")
@pytest.mark.parametrize("source", ["tree", "sdist"])
def test_wheel(source, request, tmp_path, jpegs, environment, place):  # noqa: F811
    """Installs by `pip install .`, and from a source distribution. The wheel has all in it. It
    serves files and decodes them where nothing else of Stoker's is."""
    wheel = make_wheel(request.getfixturevalue(source), tmp_path, environment)
    assert "-cp311-abi3-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as packed:
        names = {name.partition("/")[2] for name in packed.namelist()
                 if name.startswith("stoker/")}
    assert WHEEL_HAS <= names
    programs = new_venv(tmp_path / "venv")
    pip(programs, environment, "install", "-q", "pillow", wheel)
    shutil.rmtree(tmp_path / "maker")
    summary = tmp_path / "summary.json"
    ran = place.run([programs / "stoker", "run", "--path", jpegs, f"--json={summary}", "--",
                     programs / "python", "-c", RUN_BY_WHEEL, jpegs / "color.jpg"])
    told = json.loads(summary.read_text())
    assert ran.stdout == "1 True\n"
    assert told["decode"]["images"] == 1 and told["opens"] > 0


WAITING = """
import sys
import stoker
from stoker import Image

def images():
    return stoker.counts()["images"]

image = Image.open(sys.argv[1])
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
image = Image.open(sys.argv[1]).convert("RGB").resize((64, 50), 2).crop((4, 5, 44, 40))
image = image.transpose(0).crop((1, 2, 30, 30)).transpose(1).crop((0, 1, 20, 21)).transpose(3)
assert images() == 4, "what comes behind a resize waits, too"
image.tobytes()
assert images() == 5
"""


MEMORY = """
from stoker import Image, _core
core = Image.core.new("RGB", (50, 30))
_core.memory(core, (50, 30))[-4:] = bytes((1, 2, 3, 255))
assert core.getpixel((49, 29)) == (1, 2, 3)
assert _core.memory(core, (30, 50)) is None and _core.memory(object(), (50, 30)) is None
assert _core.memory(Image.core.new("L", (50, 30)), (50, 30)) is None
assert _core.memory(Image.core.new("RGB", (2300, 2000)), (2300, 2000)) is None
"""


def test_images_are_decoded_where_they_lie(environment):
    """In this version of Pillow, too."""
    done = subprocess.run([sys.executable, "-c", MEMORY], env=environment, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr


def test_nothing_is_decoded_before_it_is_wanted(jpegs, environment):
    done = subprocess.run([sys.executable, "-c", WAITING, jpegs / "color.jpg"], env=environment,
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
