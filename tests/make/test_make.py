"""The build. The user's flags come on top of what files need. A missing part is named in a line. A
build without LMDB says so where samples are asked for."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

from checkout import ROOT


AVX2, EXACT, MODULE = (f"obj/{name}.o" for name in (
    "store/content_hash_avx2", "decode/resize/geometry", "wrappers/python/core/module"))
LIBRARY = "tests/gpu/libcuda.so.1"  # of two files
USERS = {"CFLAGS": "-O1 -D_FORTIFY_SOURCE=2", "CPPFLAGS": "-DUSERS_OWN", "LDFLAGS": "-Wl,-O1"}
HEADERS = {"lmdb": "/usr/include/lmdb.h", "jpeg": "/usr/include/jpeglib.h",
           "xxhash": "/usr/include/xxhash.h"}


def make(place, directory, *arguments, env=None, check=True):
    """Runs make in the place, building into a directory of its own."""
    return place.run(["make", "-C", ROOT, "V=1", f"B={directory}", f"PYTHON={sys.executable}",
                      *arguments], env=env, check=check, timeout=300)


def hide(place, *names):
    """Makes headers of this machine unusable in the place."""
    for name in names:
        if not pathlib.Path(HEADERS[name]).exists():
            pytest.skip(f"no {HEADERS[name]} to hide")
        place.run(["mount", "--bind", "/dev/null", HEADERS[name]])


def line_of(said, made):
    """The command that made a file."""
    return next(line for line in said.splitlines() if re.search(rf"-o \S*{re.escape(made)}( |$)", line))


@pytest.mark.parametrize("given", ["arguments", "environment"])
def test_the_user_s_flags_are_added_to_ours(place, scratch, given):
    arguments = [f"{name}={value}" for name, value in USERS.items()] if given == "arguments" else []
    env = USERS if given == "environment" else {}
    wanted = [scratch / name for name in (AVX2, EXACT, MODULE, LIBRARY)]
    builds = given == "arguments"
    said = make(place, scratch, *([] if builds else ["-n"]), *arguments, *wanted, env=env).stdout
    assert all(path.exists() == builds for path in wanted)
    # `make -n` prints the same lines. The command is made of hundreds of files, which are not compiled here.
    said += make(place, scratch, "-n", *arguments, scratch / "stoker", env=env).stdout
    for made, needs in (AVX2, "-mavx2"), (EXACT, "-ffp-contract=off"), (MODULE, "-DPy_LIMITED_API="):
        words = line_of(said, made).split()
        assert any(word.startswith(needs) for word in words), made
        assert words.index("-O3") < words.index("-O1"), made
        assert words.index("-D_FORTIFY_SOURCE=2") < words.index("-U_FORTIFY_SOURCE"), made
        assert "-DUSERS_OWN" in words, made
    for made in LIBRARY, "/stoker":
        assert "-Wl,-O1" in line_of(said, made).split()


@pytest.mark.parametrize("names", [["jpeg"], ["xxhash"], ["jpeg", "xxhash"]])
def test_what_is_missing_is_said_in_one_line(place, scratch, names):
    hide(place, *names)
    done = make(place, scratch, "all", check=False)
    packages = {"jpeg": "libjpeg-dev", "xxhash": "libxxhash-dev"}
    fedora = {"jpeg": "libjpeg-turbo-devel", "xxhash": "xxhash-devel"}
    assert done.returncode != 0
    first = done.stderr.splitlines()[0]
    for name in packages:
        assert (packages[name] in first, fedora[name] in first) == (name in names,) * 2, first
    assert "fatal error" not in done.stderr
    assert not list(scratch.rglob("*.o"))


def without(scratch, *programs):
    """A PATH on which these are missing."""
    directory = scratch / "programs"
    directory.mkdir()
    for name in ("/usr/bin", "/bin", "/usr/sbin"):
        for path in pathlib.Path(name).iterdir():
            if path.name not in programs and not (directory / path.name).is_symlink():
                (directory / path.name).symlink_to(path)
    return {"PATH": directory}


def compilers():
    """All that a build might take for a compiler."""
    return [path.name for path in pathlib.Path("/usr/bin").iterdir()
            if re.fullmatch(r"(.*-)?(cc|gcc|c89|c99|clang)(-\d+)?|c89-gcc|c99-gcc", path.name)]


@pytest.mark.parametrize("names", [[], ["jpeg"]])
def test_a_missing_compiler_is_said_in_one_line(place, scratch, names):
    """With all else that is missing."""
    hide(place, *names)
    done = make(place, scratch, "all", check=False, env=without(scratch, *compilers()))
    assert done.returncode != 0
    first, *rest = done.stderr.splitlines()
    assert "apt-get install gcc" in first and "dnf install gcc" in first
    assert ("libjpeg-dev" in first) == bool(names)
    assert "libxxhash-dev" not in first and "libc6-dev" not in first
    assert all(line.startswith("make") and "***" in line for line in rest), rest


def test_missing_headers_of_libc_are_said_in_one_line(place, scratch):
    place.run(["mount", "--bind", "/dev/null", "/usr/include/stdio.h"])
    done = make(place, scratch, "all", check=False)
    assert done.returncode != 0 and "libc6-dev" in done.stderr.splitlines()[0]


def setup_py(place, scratch, env=None):
    """Runs pip's command; nothing is built where something is missing."""
    return place.run(["env", "-C", ROOT, sys.executable, "-B", "setup.py", "-q", "build", "-b",
                      scratch / "built"], env={"PATH": os.environ["PATH"], **(env or {})}, check=False)


def test_pip_says_that_make_is_missing(place, scratch):
    if subprocess.run([sys.executable, "-c", "import setuptools, wheel"],
                      capture_output=True).returncode != 0:
        pytest.skip("no setuptools")
    last = setup_py(place, scratch, without(scratch, "make", "gmake")).stderr.splitlines()[-1]
    assert "apt-get install make" in last and "dnf install make" in last


def test_pip_says_that_headers_are_missing(place, scratch):
    """Python's own, too, without which make alone builds the rest."""
    if subprocess.run([sys.executable, "-c", "import setuptools, wheel"],
                      capture_output=True).returncode != 0:
        pytest.skip("no setuptools")
    header = pathlib.Path(sysconfig.get_path("include")) / "Python.h"
    place.run(["mount", "--bind", "/dev/null", header])
    hide(place, "jpeg")
    said = setup_py(place, scratch).stderr
    first = next(line for line in said.splitlines() if line.startswith("make: "))
    assert "python3-dev" in first and "libjpeg-dev" in first and "xxhash" not in first


def test_without_lmdb_there_is_no_store_and_it_says_so(place, scratch):
    hide(place, "lmdb")
    done = make(place, scratch, scratch / AVX2)
    assert "liblmdb-dev" in done.stderr and "lmdb-devel" in done.stderr
    assert "_samples_core" not in make(place, scratch, "-n", "python").stdout
    assert "_samples_core" in make(place, scratch, "-n", "python",
                                   env={"CPPFLAGS": f"-I{own_header(scratch)}"}).stdout


def own_header(scratch):
    """A directory of the user's with an LMDB header in it, as large as the build's look at it needs."""
    (scratch / "lmdb.h").write_text("typedef struct MDB_env MDB_env; int mdb_env_create(MDB_env **);")
    return scratch


def test_the_store_brings_its_lmdb_and_keeps_it_to_itself(build):
    """Where there is an archive to take it from."""
    core = build / "python/stoker/_samples_core.abi3.so"
    found = subprocess.run(["gcc", "-print-file-name=liblmdb.a"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip("no liblmdb.a")
    dynamic = subprocess.run(["readelf", "-d", core], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    assert "liblmdb" not in dynamic and "TEXTREL" not in dynamic
    symbols = subprocess.run(["nm", "-D", core], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    assert "mdb_" not in symbols


# ---- a build without the store ----


@pytest.fixture
def lacking(build, scratch):
    """This build, as it would be had there been no LMDB."""
    shutil.copytree(build / "python", scratch / "python")
    (scratch / "python/stoker/_samples_core.abi3.so").unlink()
    for name in "stoker", "libstoker.so":
        shutil.copy2(build / name, scratch)
    return scratch


@pytest.mark.parametrize("verb", [["run"], ["env"]])
@pytest.mark.parametrize("how", ["flag", "variable"])
def test_samples_that_cannot_be_kept_are_refused(place, lacking, verb, how):
    value = f"{lacking}/samples:10M"
    flag = [f"--decoded={value}"] if how == "flag" else []
    command = ["--", "true"] if verb == ["run"] else []
    done = place.run([lacking / "stoker", *verb, "--path=/etc", *flag, *command], check=False,
                     env={"STOKER_DECODED": value} if how == "variable" else {})
    assert done.returncode != 0
    assert re.search(r"^stoker: .*cannot keep them.*liblmdb-dev", done.stderr), done.stderr


def test_a_size_that_cannot_be_kept_is_refused(place, lacking):
    done = place.run([lacking / "stoker", "run", "--path=/etc", "--decoded=1M", "--", "true"],
                     check=False)
    assert done.returncode != 0 and "liblmdb-dev" in done.stderr


@pytest.mark.parametrize("flags", [[], ["--decoded=0"]])
def test_who_asks_for_none_is_not_bothered(place, lacking, flags):
    done = place.run([lacking / "stoker", "run", "--path=/etc", *flags, "--", "sh", "-c",
                      'echo "$STOKER_DECODED"'])
    assert done.stdout == "0\n"
    assert "decoded" not in done.stderr


def test_cached_says_that_nothing_can_be_kept(place, lacking):
    program = "import stoker; print(stoker.cached(abs)(-3))"
    env = {"PYTHONPATH": lacking / "python"}
    line = [sys.executable, "-B", "-c", program]
    assert place.run(line, env=env).stdout == "3\n"
    done = place.run(line, env={**env, "STOKER_DECODED": f"{lacking}/samples:10M"}, check=False)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert "keeps no decoded copies" in last and "liblmdb-dev" in last and "STOKER_DECODED" in last


def test_every_folder_of_tests_is_run():
    """scripts/test.sh has the parts in an order of its own: a part that is missing there runs nowhere."""
    database = subprocess.run(["make", "-C", ROOT, "-pn", "help"], capture_output=True, text=True).stdout
    parts = re.search(r"^PARTS := (.*)$", database, re.MULTILINE)[1].split()
    assert len(parts) > 20
    lines = (ROOT / "scripts/test.sh").read_text().splitlines()
    assert set(parts) <= {part for line in lines for part in line.split()}
