"""env, ls, clear, and what may be covered; the library wherever it lies."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from jobs import HOME, Jobs, reading
from origin import settle


@pytest.fixture
def data(origin):
    return origin.files("verbs", 3, 2000)[1]


def files(data):
    return [data / f"file000{number}" for number in range(3)]


# ---- env ----

def test_env_does_what_run_does_and_tells_it(jobs, scratch):
    """Decoding and batches by PYTHONPATH alone, and a summary at the end, which begins anew."""
    pytest.importorskip("PIL.Image").new("RGB", (64, 64)).save(scratch / "one.jpg")
    settle()
    script = ("import sys; from PIL import Image\n"
              "for _ in range(3): Image.open(sys.argv[1]).tobytes()\n"
              "import stoker; print(stoker.counts()['images'])")
    line = ('eval "$(%s env --path "$1")"; "$2" -c "$3" "$1/one.jpg"; unset LD_PRELOAD; '
            '%s env --end; %s env --end' % ((jobs.build / "stoker",) * 3))
    done = jobs.place.run(["sh", "-c", line, "sh", scratch, sys.executable, script],
                          env={"STOKER_MIN_AGE": "0.05", "PYTHONPATH": "/nowhere"})
    assert done.stdout.split() == ["3"]
    assert "stoker: 3 opens of 1 file, 66.7% from the cache" in done.stderr
    assert "first, second, ... open of a file: 1, 1, 1" in done.stderr
    assert "(LD_PRELOAD does not name libstoker.so here)" in " ".join(done.stderr.split())


def test_the_end_where_nothing_began(jobs, data):
    """Each says what the shell lacks, or whose part it is."""
    def end(*before, env=None):
        return " ".join(jobs.place.run([*before, jobs.build / "stoker", "env", "--end"], env=env).stderr.split())
    assert end().startswith("stoker: nothing to sum up: STOKER_PATHS is not set here. Type eval ")
    env = {"STOKER_PATHS": data, "LD_PRELOAD": jobs.build / "libstoker.so"}
    assert end(env=env).endswith(f"no file below {data} was opened since the last summary")
    assert "is part of a `stoker run`" in end(jobs.build / "stoker", "run", "--path", data, "--")


def test_env_does_what_run_does(jobs, origin, data):
    stoker = jobs.build / "stoker"
    script = f'eval "$({stoker} env --path "$1" --fresh never)"; shift; exec "$@"'
    with origin.fs.counting() as counted:
        done = jobs.place.run(["sh", "-c", script, "sh", data, *reading(files(data), 3)],
                              env={"STOKER_MIN_AGE": "0.05"})
    assert (done.stdout, done.stderr) == ("", "")
    assert counted["read_bytes"] == 6000
    assert "stays until `stoker clear`" in jobs.stoker("ls").stdout


def test_env_quotes_and_keeps_an_earlier_preload(jobs, scratch):
    strange = scratch / "it's $(a) \"b\" c:d\\e"
    strange.mkdir()
    (strange / "file").write_text("x")
    settle()
    other = jobs.build / "libstoker.so"
    script = 'eval "$("$0" env --path "$1")"; echo "$LD_PRELOAD"; cat "$1/file"; "$0" ls'
    done = jobs.place.run(["sh", "-c", script, jobs.build / "stoker", strange],
                          env={"STOKER_MIN_AGE": "0.05", "LD_PRELOAD": "libm.so.6"})
    assert done.stdout.startswith(f"libm.so.6:{other}\nx")
    assert f" 1 file          1 B  {strange}\n" in done.stdout
    done = jobs.place.run(["sh", "-c", script, jobs.build / "stoker", strange])
    assert done.stdout.startswith(f"{other}\nx")


def test_env_prints_what_was_asked(jobs, data):
    done = jobs.stoker("env", "--path", data, "--tier=/dev/shm:64M", "--fresh=open")
    assert done.stdout.splitlines() == [
        f"export STOKER_PATHS='{data}'", f"export STOKER_TIERS='/dev/shm:{64 << 20}'",
        "export STOKER_FRESH='open'", "export STOKER_DECODE='on'", "export STOKER_BATCHES='on'",
        f"export PYTHONPATH='{jobs.build}/python/stoker/site.zip'\"${{PYTHONPATH:+:$PYTHONPATH}}\"",
        f"export LD_PRELOAD=\"${{LD_PRELOAD:+$LD_PRELOAD:}}\"'{jobs.build}/libstoker.so'",
        "# The cache stays when the job ends. In a job script, this says what was served, and ends",
        "# the cache with the job:",
        "#   trap 'stoker env --end; stoker clear' EXIT",
        "# Decoded images are kept with --decoded DIR:SIZE, or by `stoker run`."]


def test_a_job_script_that_ends_its_cache(jobs, place, data):
    """As env says it: nothing is left in memory."""
    script = 'eval "$("$0" env --path "$1")"; trap "$0 clear" EXIT; cat "$1"/* | wc -c; "$0" ls'
    done = jobs.place.run(["sh", "-c", script, jobs.build / "stoker", data],
                          env={"STOKER_MIN_AGE": "0.05"})
    assert done.stdout.startswith("6000\n") and " 3 files " in done.stdout
    assert re.fullmatch(rf"removed [\d.]+ [KM]iB, \d+ files: /dev/shm/{HOME}", done.stdout.splitlines()[-1])
    assert os.listdir(place.path("/dev/shm")) == []


def test_the_options_page_is_the_table(jobs, repository):
    page = repository / "docs" / "environment.md"
    if not page.exists():
        pytest.skip("docs/environment.md is not written yet: stoker env --markdown >it")
    assert page.read_text() == jobs.stoker("env", "--markdown").stdout


def test_the_options_page_names_every_variable(repository):
    """Each that any of the sources names, or asks for."""
    page = (repository / "docs" / "environment.md").read_text()
    folders = "base", "cache", "cli", "decode", "preload", "ring", "store", "wrappers"
    sources = [path for folder in folders for path in (repository / folder).rglob("*")
               if path.suffix in (".c", ".h", ".py")]
    named = {name for path in sources
             for name in re.findall(r"\bSTOKER_[A-Z_]+[A-Z]\b", path.read_text())}
    assert len(named) > 10
    assert {name for name in named if f"\n## {name}\n" not in page} == set()


# ---- ls and clear ----

def test_ls(jobs, data):
    assert jobs.stoker("ls").stdout == "nothing is cached\n"
    jobs.run(reading(files(data), 1), path=data, flags=["--keep"], tier="/dev/shm:64M")
    lines = jobs.stoker("ls").stdout.splitlines()
    assert lines[0].startswith(f"/dev/shm/{HOME}: ")
    assert " of 64.0 MiB used, " in lines[0]
    assert lines[1].split() == ["3", "files", "5.9", "KiB", str(data)]
    assert lines[2] == "0 live runs; the cache stays until `stoker clear`"


def test_clear_of_a_path(jobs, origin, data):
    _, other = origin.files("other", 3, 2000)
    both = [data, other]
    command = reading(files(data) + files(other), 1)
    jobs.run(command, path=both, flags=["--keep"])
    assert jobs.stoker("clear", data).stdout == f"removed 3 cached files of {data}\n"
    assert jobs.stoker("clear", data).stdout == f"nothing is cached of {data}\n"
    assert str(other) in jobs.stoker("ls").stdout
    ran = jobs.run(command, path=both, flags=["--keep"])
    assert (ran.hits, ran.fills) == (3, 3)
    assert jobs.stoker("clear", data / "file0001").stdout == \
        f"removed 1 cached file of {data}/file0001\n"
    ran = jobs.run(command, path=both, flags=["--keep"])
    assert (ran.hits, ran.fills) == (5, 1)
    assert jobs.stoker("clear", data.parent).stdout == f"removed 6 cached files of {data.parent}\n"


def test_clear_of_a_directory_below(jobs, origin):
    source, mount = origin.directory("below")
    for name in ("a/x", "a/y", "a/b/z", "ab/x"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    settle()
    read = ["sh", "-c", 'find "$0" -type f -exec cat {} +', mount]
    jobs.run(read, path=mount, flags=["--keep"])
    assert jobs.stoker("clear", mount / "a").stdout == f"removed 3 cached files of {mount}/a\n"
    ran = jobs.run(read, path=mount)
    assert (ran.hits, ran.fills) == (1, 3)


def test_clear_of_a_path_goes_through_no_link(jobs, origin, scratch, place):
    """A link in a tier leads out of it: files behind it are not cached files."""
    (data, mount), outside = origin.directory("linked"), scratch / "outside"
    (data / "sub/deep").mkdir(parents=True)
    (data / "sub/deep/x").write_text("x")
    settle()
    jobs.run(["cat", mount / "sub/deep/x"], path=mount, flags=["--keep"])
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/theirs").write_text("theirs")
    place.run(["sh", "-c", 'sub=$(find /dev/shm/stoker-*/tree -name sub); cp -r "$sub/deep/." "$1/deep"; rm -r "$sub"; '
                           'ln -s "$1" "$sub"', "sh", outside])
    before = sorted(each.name for each in (outside / "deep").iterdir())
    assert len(before) == 2
    jobs.stoker("clear", mount / "sub/deep")
    assert sorted(each.name for each in (outside / "deep").iterdir()) == before


def test_clear_of_a_path_that_is_gone(jobs, origin, data):
    jobs.run(reading(files(data), 1), path=data, flags=["--keep"])
    shutil.rmtree(origin.source / data.name)
    assert jobs.stoker("clear", data).stdout == f"removed 3 cached files of {data}\n"
    done = jobs.stoker("clear", "no/such")
    assert done.returncode == 2 and "name a data set's path" in done.stderr


def test_clear_of_nothing(jobs):
    done = jobs.stoker("clear")
    assert (done.returncode, done.stdout) == (0, "nothing is cached\n")
    assert jobs.stoker("clear", "/no/such").stdout == "nothing is cached of /no/such\n"


def test_decoded_copies_in_a_directory_of_their_own(jobs, state, scratch):
    """ls and clear know them by the run that was there, or by the environment; others stay."""
    own, image = scratch / "own", scratch / "set" / "one.jpg"
    image.parent.mkdir()
    pytest.importorskip("PIL.Image").new("RGB", (64, 64)).save(image)
    settle()
    job = [sys.executable, "-c", "import sys; from PIL import Image; Image.open(sys.argv[1]).load()", image]
    jobs.run(job, path=image.parent, flags=[f"--decoded={own}:100M"], env=state)
    (own / "pid-1-mine").mkdir()
    assert re.search(rf"^{own}: [\d.]+ [KM]iB of decoded copies, used by no run now$",
                     jobs.stoker("ls", env=state).stdout, re.M)
    said = jobs.stoker("clear", own, env=state).stdout
    assert re.fullmatch(rf"removed [\d.]+ [KM]iB of decoded copies: {own}\n", said)
    assert [each.name for each in own.iterdir()] == ["pid-1-mine"]
    stateless = {"XDG_STATE_HOME": "", "HOME": ""}
    jobs.run(job, path=image.parent, env={"STOKER_DECODED": f"{own}:100M", **stateless})
    assert "decoded" not in jobs.stoker("ls", env=stateless).stdout
    assert f"of decoded copies: {own}\n" in jobs.stoker(
        "clear", env={"STOKER_DECODED": own, **stateless}).stdout


def test_decoded_copies_outside_of_the_tier_that_is_cleared(jobs, state, scratch):
    """They stay, and clear says where, and what removes them; those below the tier's directory go with it."""
    own, inner, image = scratch / "own", scratch / "disk" / "inner", scratch / "set" / "one.jpg"
    image.parent.mkdir()
    inner.parent.mkdir()
    pytest.importorskip("PIL.Image").new("RGB", (64, 64)).save(image)
    settle()
    job = [sys.executable, "-c", "import sys; from PIL import Image; Image.open(sys.argv[1]).load()", image]
    for directory in own, inner:
        jobs.run(job, path=image.parent, tier=f"{scratch}/disk:64M", flags=[f"--decoded={directory}:100M"], env=state)
    said = jobs.stoker("clear", "--tier", scratch / "disk", env=state).stdout
    assert re.search(rf"^removed \S+ [KM]iB of decoded copies: {inner}$", said, re.M)
    assert re.search(rf"^\S+ [KM]iB of decoded copies stay in {own}: stoker clear {own} removes them$", said, re.M)
    assert jobs.stoker("clear", own, env=state).stdout.endswith(f"of decoded copies: {own}\n")
    assert jobs.stoker("clear", "--tier", scratch / "disk", env=state).stdout == "nothing is cached\n"


def test_clear_after_the_environment_alone(jobs, data, place):
    """No process has made a lock there."""
    assert jobs.preloaded(reading(files(data), 2), data).stderr == ""
    assert "3 files" in jobs.stoker("ls").stdout
    assert jobs.stoker("clear").stdout.startswith("removed ")
    assert os.listdir(place.path("/dev/shm")) == []
    assert jobs.stoker("clear").stdout == "nothing is cached\n"


def test_a_disk_tier_is_remembered_when_its_catalogue_is_gone(jobs, data, scratch, place, state):
    (scratch / "disk").mkdir()
    home = scratch / "disk" / HOME
    jobs.run(reading(files(data), 1), path=data, tier=scratch / "disk", env=state)
    assert os.listdir(place.path("/dev/shm")) == []
    said = jobs.stoker("ls", env=state).stdout
    assert said.startswith(f"{home}: ") and f" 3 files     5.9 KiB  {data}\n" in said
    assert jobs.stoker("clear", data / "file0001", env=state).stdout == \
        f"removed 1 cached file of {data}/file0001\n"
    assert jobs.stoker("clear", env=state).stdout.startswith("removed ")
    assert not home.exists()
    assert jobs.stoker("ls", env=state).stdout == "nothing is cached\n"
    assert jobs.stoker("clear", env=state).stdout == "nothing is cached\n"


def test_a_disk_tier_of_the_environment_is_remembered(jobs, data, scratch, state):
    (scratch / "disk").mkdir()
    script = 'eval "$("$0" env --path "$1" --tier "$2")"; cat "$1"/* >/dev/null'
    jobs.place.run(["sh", "-c", script, jobs.build / "stoker", data, scratch / "disk"],
                   env={"STOKER_MIN_AGE": "0.05", **state})
    jobs.place.run(["rm", "-r", f"/dev/shm/{HOME}"])
    assert "3 files" in jobs.stoker("ls", env=state).stdout
    assert jobs.stoker("clear", env=state).stdout.startswith("removed ")
    assert not (scratch / "disk" / HOME).exists()


def test_ls_and_clear_of_a_named_tier(jobs, data, scratch, state):
    for name in ("one", "two"):
        (scratch / name).mkdir()
        jobs.run(reading(files(data), 1), path=data, tier=scratch / name, env=state)
    said = jobs.stoker("ls", "--tier", scratch / "one").stdout
    assert f"{scratch}/one/{HOME}: " in said and "3 files" in said and f"{scratch}/two" not in said
    assert jobs.stoker("clear", f"--tier={scratch}/one", data).stdout == \
        f"removed 3 cached files of {data}\n"
    assert jobs.stoker("clear", f"--tier={scratch}/one").stdout.startswith("removed ")
    assert not (scratch / "one" / HOME).exists() and (scratch / "two" / HOME).exists()
    assert jobs.stoker("clear", f"--tier={scratch}/one").stdout == "nothing is cached\n"
    assert jobs.stoker("ls", "--tier", scratch / "one").stdout == f"nothing is cached in {scratch}/one\n"


def test_clear_of_a_named_tier_leaves_the_others(jobs, data, scratch, place):
    """Also while a run uses another; not while one uses it."""
    (scratch / "disk").mkdir()
    jobs.run(reading(files(data), 1), path=data, tier=scratch / "disk")
    inner = f'"{jobs.build}/stoker" clear --tier'
    script = f'cat "$0"/* >/dev/null; {inner} "$1"; {inner} /dev/shm; exit 0'
    ran = jobs.run(["sh", "-c", script, data, scratch / "disk"], path=data)
    assert ran.stdout.startswith("removed ") and "1 live run uses the cache" in ran.stderr


def test_a_list_of_tiers_that_somebody_spoiled(jobs, scratch, state):
    """Nothing but a home of this user's is ever removed."""
    precious = scratch / "precious"
    precious.mkdir()
    listed = state["XDG_STATE_HOME"] / "stoker/tiers"
    listed.parent.mkdir(parents=True)
    listed.write_text(f"{precious}\n\n/\nrelative/{HOME}\n{precious}/{HOME}\n" + "x" * 5000)
    assert jobs.stoker("clear", env=state).stdout == "nothing is cached\n"
    assert precious.exists()


def test_clear_removes_nothing_that_was_never_a_tier(jobs, data, scratch):
    """One wrong byte in the catalogue makes the directory above it out of a tier's home."""
    precious = scratch / "tier/precious"
    precious.parent.mkdir()
    precious.write_text("x")
    jobs.run(reading(files(data), 1), path=data, flags=["--keep"], tier=f"{precious.parent}:64M")
    home = bytes(precious.parent / HOME)
    with open(jobs.place.path(f"/dev/shm/{HOME}/catalogue"), "r+b") as catalogue:
        at = catalogue.read(1 << 17).index(home)
        catalogue.seek(at + len(bytes(precious.parent)))
        catalogue.write(b"\0")
    assert jobs.stoker("clear").stdout.startswith("removed ")
    assert precious.read_text() == "x"
    assert jobs.stoker("ls").stdout == "nothing is cached\n"


def test_clear_removes_disk_tiers_that_are_known(jobs, data, scratch):
    (scratch / "disk").mkdir()
    home = scratch / "disk" / HOME
    jobs.run(reading(files(data), 1), path=data, tier=scratch / "disk", flags=["--keep"])
    assert home.exists()
    jobs.stoker("clear")
    assert not home.exists()
    jobs.run(reading(files(data), 1), path=data, tier=scratch / "disk")
    assert home.exists()


# ---- where things lie ----

@pytest.mark.parametrize("name", ["a space", "a:colon", "both: of", "back\\slash", "tab\t", "é"])
def test_a_library_in_a_strange_place(place, build, scratch, data, name):
    (scratch / name).mkdir()
    for file in ("stoker", "libstoker.so"):
        shutil.copy2(build / file, scratch / name)
    jobs = Jobs(place, scratch / name, scratch)
    ran = jobs.run(reading(files(data), 2), path=data)
    assert (ran.fills, ran.hits) == (3, 3)
    assert "ERROR" not in ran.stderr
    script = 'eval "$("$0" env --path "$1")"; shift; exec "$@"'
    done = place.run(["sh", "-c", script, scratch / name / "stoker", data,
                      *reading(files(data), 2)], env={"STOKER_MIN_AGE": "0.05"})
    assert done.stderr == ""
    assert str(data) in jobs.stoker("ls").stdout


def test_installed_beside_bin(place, repository, scratch, data):
    subprocess.run(["make", "-s", "-C", repository, "install", f"DESTDIR={scratch}",
                    "PREFIX=/usr"], check=True, stdout=subprocess.DEVNULL)
    jobs = Jobs(place, scratch / "usr" / "bin", scratch)
    assert jobs.run(reading(files(data), 2), path=data).hits == 3


def test_without_a_library(place, build, scratch, data):
    shutil.copy2(build / "stoker", scratch)
    done = Jobs(place, scratch, scratch).stoker("run", "--path", data, "--", "true")
    assert done.returncode == 2
    assert "libstoker.so is neither in" in done.stderr and "install it again" in done.stderr


@pytest.mark.parametrize("name", ["a space", "a:colon", "back\\slash", "end\\", "\\:both",
                                  "new\nline", "quote'\"", "é", "-dash", "a=b"])
def test_covered_paths_with_strange_names(jobs, scratch, name):
    (scratch / name).mkdir()
    (scratch / name / name).write_text("content")
    (scratch / "plain").mkdir()
    (scratch / "plain" / "file").write_text("plain")
    settle()
    command = ["sh", "-c", 'cat "$0" "$0" "$1"', scratch / name / name, scratch / "plain" / "file"]
    ran = jobs.run(command, path=[scratch / name, scratch / "plain"], env={"STOKER_AHEAD": "off"})
    assert ran.stdout == "contentcontentplain"
    assert (ran.fills, ran.hits, ran.paths) == (2, 1, [f"{scratch}/{name}", f"{scratch}/plain"])


def test_a_single_file_as_the_path(jobs, data):
    command = reading(files(data), 2)
    ran = jobs.run(command, path=data / "file0001")
    assert (ran.opens, ran.fills, ran.hits) == (2, 1, 1)
    ran = jobs.run(command, path=[data / "file0001", data / "file0002"])
    assert (ran.opens, ran.fills, ran.hits) == (4, 2, 2)
    done = jobs.preloaded(command, data / "file0000")
    assert done.stderr == ""


def test_a_relative_path(jobs, data):
    ran = jobs.run(["sh", "-c", "md5sum file0000; md5sum ./file0000"], path=".", cwd=data)
    assert (ran.paths, ran.fills, ran.hits) == ([str(data)], 1, 1)


def test_nested_paths(jobs, origin):
    source, mount = origin.directory("nested")
    (source / "inner").mkdir()
    for name in ("outer", "inner/file"):
        (source / name).write_text(name)
    settle()
    command = ["sh", "-c", 'for i in 1 2; do cat "$0/outer" "$0/inner/file"; done', mount]
    ran = jobs.run(command, path=[mount, mount / "inner"])
    assert (ran.opens, ran.fills, ran.hits) == (4, 2, 2)


def test_an_earlier_preload_stays(jobs, data):
    ran = jobs.run(["sh", "-c", "echo $LD_PRELOAD"], path=data, env={"LD_PRELOAD": "libm.so.6"})
    assert ran.stdout == f"libm.so.6:{jobs.build}/libstoker.so\n"


# ---- streams that cannot be written, and closed ones ----

@pytest.mark.parametrize("words", ["ls", "env --path /usr", "report --list", "top --once", "doctor",
                                   "clear /usr", "help", "run --help"])
def test_what_could_not_be_printed_is_said(jobs, data, scratch, words):
    env = {"XDG_STATE_HOME": scratch}
    jobs.run(reading(files(data), 1), path=data, env=env)
    done = jobs.place.run(["sh", "-c", f'exec "$0" {words} >/dev/full', jobs.build / "stoker"],
                          check=False, env=env)
    assert "stoker: standard output could not be written: No space left on device\n" in done.stderr
    assert done.returncode != 0


def test_no_file_of_ours_takes_the_number_of_a_closed_stream(jobs, data, scratch):
    """Stoker's messages would else be written into it. The command finds it closed, as it was."""
    look = ('for fd in 0 1 2; do readlink "/proc/$PPID/fd/$fd" >>"$0"; '
            '[ -e "/proc/$$/fd/$fd" ] && echo open >>"$0"; done; true')
    line = jobs.command_line(["sh", "-c", look, scratch / "seen"], path=data)
    done = jobs.place.run(["sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh", *line], check=False)
    assert done.returncode == 0
    assert (scratch / "seen").read_text().split() == ["/dev/null"] * 3
