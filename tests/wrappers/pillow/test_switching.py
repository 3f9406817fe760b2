"""`stoker run` switches the hook on in every Python that may have it, and disturbs none."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import BUILD
from covered import jobs, place, scratch, session_scratch  # noqa: F401
from matrix import record
from pythons import pythons

PYTHON = sys.executable
SITE = BUILD / "python/stoker/site.zip"
SCRIPT = """
import sys
from PIL import Image
image = Image.open(sys.argv[1]).convert("RGB").crop((1, 2, 50, 60)).resize((20, 20), 2)
print(sum(image.tobytes()), "_stoker_waiting" in sys.modules)
"""

# Replaces a method before there is a plugin, and counts what a program sees of it.
REPLACED = """
import sys
from PIL import Image, ImageChops, ImageOps
home, name = (Image.Image, sys.argv[2]) if sys.argv[2] in vars(Image.Image) else (
    {"open": Image, "blend": Image}.get(sys.argv[2], ImageOps), sys.argv[2])
plain, calls = getattr(home, name), 0
def replaced(*arguments, **named):
    global calls
    calls += 1
    made = plain(*arguments, **named)
    return ImageChops.invert(made) if name in ("resize", "crop", "copy", "transpose") else made
setattr(home, name, replaced)
for _ in range(2):
    image = Image.open(sys.argv[1]).convert("RGB")
    small = image.crop((1, 2, 60, 60)).resize((30, 20)).transpose(0).copy()
    print(small.point([255 - n for n in range(256)] * 3).tobytes().hex())
    print(Image.blend(ImageOps.invert(image), image, 0.3).resize((300, 200)).getpixel((3, 3)))
print(calls)
"""


@pytest.fixture
def photo(jpegs):
    return jpegs / "color.jpg"


def decoded(ran):
    return ran.json["decode"]["images"]


def test_script_as_it_is(jobs, scratch, photo):  # noqa: F811
    script = scratch / "script.py"
    script.write_text(SCRIPT)
    plain = jobs.run([PYTHON, script, photo], path=photo.parent,
                     flags=["--no-decode", "--no-batches"])  # a Python with nothing of ours
    hooked = jobs.run([PYTHON, script, photo], path=photo.parent)
    assert plain.stdout.split()[0] == hooked.stdout.split()[0]
    assert plain.stdout.split()[1] == "False" and hooked.stdout.split()[1] == "True"
    assert decoded(plain) == 0 and decoded(hooked) == 1
    assert "1 image decoded" in hooked.stderr and "decoded" not in plain.stderr
    off = jobs.run([PYTHON, script, photo], path=photo.parent, env={"STOKER_DECODE": "off"})
    assert decoded(off) == 0
    record("Switching on", "stoker run", sys.version.split()[0], "script, --no-decode", "same")


@pytest.mark.parametrize("name", ["load", "copy", "convert", "crop", "_crop", "resize", "transpose", "tobytes", "_new",
                                  "point", "blend", "invert"])
def test_methods_replaced_before_the_first_image_are_called(jobs, scratch, photo, name):  # noqa: F811
    script = scratch / "script.py"
    script.write_text(REPLACED)
    env = {"XDG_CACHE_HOME": scratch / "cache"}
    plain = subprocess.run([PYTHON, script, photo, name], text=True, capture_output=True, check=True)
    hooked = jobs.run([PYTHON, script, photo, name], path=photo.parent, env=env)
    assert hooked.stdout == plain.stdout
    assert decoded(hooked) == 0 and hooked.json["decode"]["settled"] == {"customised": 2}
    assert not (scratch / "cache").exists(), "no self-test has run"


def test_only_open_replaced_before_the_first_image(jobs, scratch, photo):  # noqa: F811
    script = scratch / "script.py"
    script.write_text(REPLACED)
    plain = subprocess.run([PYTHON, script, photo, "open"], text=True, capture_output=True, check=True)
    hooked = jobs.run([PYTHON, script, photo, "open"], path=photo.parent)
    assert hooked.stdout == plain.stdout and decoded(hooked) > 0


def test_left_to_pillow(jobs, scratch, jpegs):  # noqa: F811
    script = "import sys; from PIL import Image; [Image.open(x).load() for x in sys.argv[1:]]"
    names = ["grey.jpg", "progressive.jpg", "cmyk.jpg", "color.jpg"]
    ran = jobs.run([PYTHON, "-c", script, *[jpegs / name for name in names]], path=jpegs)
    assert ran.json["decode"] == {"images": 2, "left_to_pillow": {"mode": 2}, "settled": {"mode": 2}, "resized": 0, "pngs": 0, "operations": 0}
    assert "2 mode" in ran.stderr and "scans" not in ran.stderr


def test_what_was_found_to_differ_is_said(jobs, scratch, photo):  # noqa: F811
    """The self-test's answer is kept; one that proves nothing leaves all to Pillow."""
    script = scratch / "script.py"
    script.write_text(SCRIPT)
    env = {"XDG_CACHE_HOME": scratch / "cache"}
    first = jobs.run([PYTHON, script, photo], path=photo.parent, env=env)
    kept, = (scratch / "cache/stoker").iterdir()
    kept.write_text(".")
    second = jobs.run([PYTHON, script, photo], path=photo.parent, env=env)
    assert decoded(first) == 1 and "unproven" not in first.stderr
    told = second.json["decode"]
    assert (told["images"], told["settled"]) == (0, {"unproven": 1})
    assert "1 image left to Pillow: 1 unproven (" in second.said and first.stdout == second.stdout


def test_processes_count_together(jobs, scratch, photo):  # noqa: F811
    script = scratch / "many.py"
    script.write_text("""
import multiprocessing, sys
from PIL import Image

def work(path):
    return sum(Image.open(path).convert("RGB").tobytes())

if __name__ == "__main__":
    results = [work(sys.argv[1])]
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            results += pool.map(work, sys.argv[1:] * 5)
    print(len(set(results)))
""")
    ran = jobs.run([PYTHON, script, photo], path=photo.parent, timeout=120)
    assert ran.stdout == "1\n"
    assert decoded(ran) == 16


@pytest.mark.parametrize("flag", ["-S", "-I", "-E"])
def test_flags_that_stand_in_the_way(jobs, scratch, photo, flag):  # noqa: F811
    """Without the hook, then, and without harm."""
    script = scratch / "script.py"
    script.write_text("import sys; print(sys.flags.isolated, '_stoker_waiting' in sys.modules)")
    ran = jobs.run([PYTHON, flag, script], path=photo.parent)
    assert ran.stdout == f"{int(flag == '-I')} False\n" and decoded(ran) == 0


def test_venv(jobs, scratch, photo):  # noqa: F811
    venv = scratch / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", "--system-site-packages", venv],
                   check=True)
    try:
        subprocess.run([venv / "bin/python", "-c", "import PIL"], check=True, capture_output=True)
    except subprocess.CalledProcessError:
        pytest.skip("a venv of a venv does not see Pillow")
    script = scratch / "script.py"
    script.write_text(SCRIPT)
    ran = jobs.run([venv / "bin/python", script, photo], path=photo.parent)
    assert decoded(ran) == 1


def run_site(python, code, *more, path=()):
    """A Python with site.zip in front, in a bare environment."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(map(str, [SITE, *path]))}
    return subprocess.run([python, *more, "-c", code], env=env, text=True, capture_output=True)


def test_chains_to_the_users_own(scratch):  # noqa: F811
    own = scratch / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys; sys.mine = __file__, __name__\n")
    code = ("import sys; print(sys.mine[1], sys.modules['sitecustomize'].__file__, "
            "'_stoker_waiting' in sys.modules, [x for x in sys.path if 'stoker' in x])")
    for python in (PYTHON, *pythons().values()):
        done = run_site(python, code, path=[own])
        assert done.returncode == 0 and done.stderr == "", (python, done.stderr)
        module, path = done.stdout.split("sitecustomize.py")
        assert str(own) in module and "build" not in path, done.stdout


def test_the_users_own_may_fail(scratch):  # noqa: F811
    """Python prints the same message without the package."""
    own = scratch / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import nothing_of_this_name\n")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(own)}
    plain = subprocess.run([PYTHON, "-c", "print(1)"], env=env, text=True, capture_output=True)
    hooked = run_site(PYTHON, "print(1)", path=[own])
    assert plain.stderr and plain.stderr == hooked.stderr and hooked.stdout == "1\n"


def test_without_one_of_the_users_own():
    """As if nothing were there: no module, no path entry, no message."""
    code = ("import sys; print('sitecustomize' in sys.modules, "
            "[x for x in sys.path if 'site.zip' in x or 'waiting' in x])")
    env = {"PATH": os.environ["PATH"]}
    for python in (PYTHON, *pythons().values()):
        plain = subprocess.run([python, "-c", code], env=env, text=True, capture_output=True)
        hooked = run_site(python, code)
        assert hooked.stderr == "" and hooked.stdout == plain.stdout, (python, hooked)


def test_every_version_starts():
    """Below 3.11 nothing of ours is imported; and no bytecode is written beside."""
    found = pythons()
    assert found
    before = sorted(os.listdir(SITE.parent))
    for version, python in found.items():
        done = run_site(python, "import sys; print('_stoker_waiting' in sys.modules)")
        expected = tuple(map(int, version.split("."))) >= (3, 11)
        assert done.stdout == f"{expected}\n" and done.stderr == "", (version, done.stderr)
        record("Switching on", "site.zip", version, "starts without a message", "same")
    assert sorted(os.listdir(SITE.parent)) == before


def test_costs_nothing_without_pil():
    """Nothing but the finder is imported until PIL is."""
    code = "import sys, json; print(json.dumps(sorted(sys.modules)))"
    env = {"PATH": os.environ["PATH"]}
    plain = subprocess.run([PYTHON, "-c", code], env=env, text=True, capture_output=True)
    hooked = run_site(PYTHON, code)
    more = set(json.loads(hooked.stdout)) - set(json.loads(plain.stdout))
    assert more <= {"_stoker_waiting", "zipimport"}


def test_ten_lines():
    with zipfile.ZipFile(SITE) as zipped:
        assert zipped.namelist() == ["sitecustomize.py"]
        lines = zipped.read("sitecustomize.py").decode().splitlines()
    assert len(lines) <= 15 and max(map(len, lines)) <= 100


def test_a_module_called_stoker(jobs, scratch, photo):  # noqa: F811
    """A script's own module of that name is the script's; the hook works all the same."""
    (scratch / "stoker.py").write_text("mine = True\n")
    script = scratch / "script.py"
    script.write_text("import stoker\nassert stoker.mine\n" + SCRIPT)
    ran = jobs.run([PYTHON, script, photo], path=photo.parent)
    assert decoded(ran) == 1


@pytest.mark.parametrize("first", ["", "import stoker\n", "from stoker import Image\n"])
def test_an_installed_package_of_another_build(jobs, scratch, photo, first):  # noqa: F811
    """The hook and the program have the command's package, which speaks with it: images are counted, copies are kept."""
    other = scratch / "site-packages/stoker"
    shutil.copytree(BUILD / "python/stoker", other, ignore=shutil.ignore_patterns("site.zip", "_core*"))
    (other / "_core.py").write_text("raise ImportError('of another build')\n")
    script = scratch / "script.py"
    script.write_text(first + SCRIPT + "import stoker\nprint(stoker.__file__, stoker.counts()['images'])\n")
    ran = jobs.run([PYTHON, script, photo], path=photo.parent, env={"PYTHONPATH": str(other.parent)})
    assert ran.stdout.splitlines()[1] == f"{BUILD}/python/stoker/__init__.py 1" and decoded(ran) == 1


def test_the_package_can_be_imported(jobs, scratch, photo):  # noqa: F811
    script = scratch / "script.py"
    script.write_text("import sys, stoker\nstoker.decode(sys.argv[1])\n"
                      "from stoker import Image\nimport PIL.Image\nassert Image is PIL.Image\n"
                      "Image.open(sys.argv[1]).tobytes()\n")
    ran = jobs.run([PYTHON, script, photo], path=photo.parent)
    assert decoded(ran) == 2


def test_a_loader_is_left_as_it_was(jobs, photo):  # noqa: F811
    code = ("import PIL.JpegImagePlugin as m; print(m.__loader__ is m.__spec__.loader, "
            "'exec_module' in vars(m.__loader__), type(m.__loader__).__name__)")
    ran = jobs.run([PYTHON, "-c", code], path=photo.parent)
    assert ran.stdout == "True False SourceFileLoader\n"


def test_no_pillow(jobs, scratch, photo):  # noqa: F811
    script = scratch / "script.py"
    script.write_text("import sys\nsys.modules['PIL'] = None\n"
                      "try:\n    import PIL.JpegImagePlugin\n"
                      "except ImportError:\n    print('none')\n")
    ran = jobs.run([PYTHON, script], path=photo.parent)
    assert ran.stdout == "none\n"


INTERPRETERS = """
import json, sys
try:
    import _interpreters as subs
except ImportError:
    import _xxsubinterpreters as subs

INSIDE = '''
import hashlib, json, sys
try:
    from PIL import Image
    image = Image.open(sys_argv[1]).convert("RGB").crop((3, 3, 80, 70)).resize((20, 20), 2)
    waits = type(vars(image).get("_im") or vars(image).get("im")).__name__ == "Plan"
    said = [waits, hashlib.sha1(image.tobytes()).hexdigest()]
except ImportError as error:
    said = [False, str(error)]
with open(sys_argv[2], "a") as file:
    print(json.dumps(said), file=file)
'''

def inside(kind):
    if kind == "main":
        exec(INSIDE, {"sys_argv": sys.argv})
        return
    if subs.__name__ == "_interpreters":
        one = subs.create(kind)
    else:
        one = subs.create(isolated=kind == "isolated")
    subs.run_string(one, f"sys_argv = {sys.argv!r}" + INSIDE)
    subs.destroy(one)

for kind in ("legacy", "main", "legacy", "isolated", "main", "isolated"):
    inside(kind)
package = sys.modules.get("stoker") or sys.modules.get("_stoker")
print(package.counts()["images"] if package else None)
"""


def test_subinterpreters(jpegs, scratch):  # noqa: F811
    """Those that share the GIL have a hook of their own. Those that do not cannot import us, nor,
    mostly, Pillow: either way it is as without us."""
    def run(how, path):
        said = scratch / how
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(path), "HOME": str(scratch)}
        done = subprocess.run([PYTHON, "-c", INTERPRETERS,
                               jpegs / "color.jpg", said], env=env, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in said.read_text().splitlines()]
        return ([line[0] for line in lines], ([line[1] for line in lines], done.stderr),
                done.stdout)

    _, plain, _ = run("plain", "")
    waited, hooked, images = run("hooked", SITE)
    assert len(plain[0]) == 6 and plain == hooked
    assert waited[:3] == [True] * 3 and waited[4]
    assert int(images) == sum(waited)


UNSUITABLE = """
import sys, types
FREE, IMPLEMENTATION, VERSION = sys.argv[1:]
sys.abiflags += FREE
sys.implementation = types.SimpleNamespace(**{**vars(sys.implementation), "name": IMPLEMENTATION})
sys.version_info = tuple(map(int, VERSION.split("."))) + ("final", 0)
try:
    import sitecustomize
except ImportError:
    pass
print("_stoker_waiting" in sys.modules, [path for path in sys.path if "site.zip" in path],
      "stoker" in sys.modules)
"""


@pytest.mark.parametrize("kind,imported", [
    (("", "cpython", "3.11.2"), True), (("", "cpython", "3.14.0"), True),
    (("t", "cpython", "3.14.0"), False), (("", "pypy", "3.11.2"), False),
    (("", "cpython", "3.10.9"), False)])
def test_stands_aside_where_it_cannot_be(kind, imported):
    """As a free-threaded build, another implementation or an older version would have it."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SITE)}
    done = subprocess.run([PYTHON, "-S", "-c", UNSUITABLE, *kind], env=env, text=True,
                          capture_output=True)
    assert done.stderr == "" and done.stdout == f"{imported} [] False\n"
