"""The command reports a wrong request in one line, with what to do, before anything starts."""

import os
import re
import signal

import pytest

from jobs import HOME, read_line
from origin import settle


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("bad", 2, 1000)[1]


@pytest.fixture
def refused(jobs, scratch):
    """Checks that a request ends with one line, a status, and no start of the command."""
    marker = scratch / "started"

    def check(arguments, *words, status=2, env=None, command=("touch", marker), verb="run"):
        behind = ["--", *command] if verb == "run" else []
        done = jobs.stoker(verb, *arguments, *behind, env=env)
        assert done.returncode == status, done.stderr
        assert not marker.exists()
        assert re.fullmatch(r"stoker: [^\n]+\n", done.stderr), done.stderr
        assert done.stdout == ""
        for word in words:
            assert str(word) in done.stderr
        # More than a complaint: what is wrong, and behind it what to do.
        advice = "name|write|see|give|remove|chmod|free|cover|use|such as|takes|meaning"
        assert re.search(f": .*({advice})", done.stderr), done.stderr
        return done.stderr

    return check


# ---- the command ----

def test_no_command(refused, data):
    refused([f"--path={data}"], "no command", "-- COMMAND", command=())


def test_command_not_found(refused, data):
    refused([f"--path={data}"], "no-such-program", "not found", command=["no-such-program"],
            status=127)
    refused([f"--path={data}"], "/no/such/program", "not found", command=["/no/such/program"],
            status=127)
    refused([f"--path={data}"], "not found", command=[""], status=127)


def test_command_that_cannot_be_executed(refused, data, scratch):
    (scratch / "plain").write_text("#!/bin/sh\n")
    for command in (scratch / "plain", scratch):
        refused([f"--path={data}"], command, "not an executable", "chmod", command=[command],
                status=126)


def test_command_with_a_missing_interpreter(jobs, data, scratch):
    (scratch / "script").write_text("#!/no/such/interpreter\n")
    (scratch / "script").chmod(0o755)
    ran = jobs.run([scratch / "script"], path=data, check=False)
    assert ran.status in (126, 127)
    assert "/script: " in ran.stderr


# ---- options and verbs ----

@pytest.mark.parametrize("arguments, words", [
    (["--nonsense"], ["--nonsense", "--help"]),
    (["-p"], ["-p", "--help"]),
    (["--path"], ["--path needs a value"]),
    (["--fresh"], ["--fresh needs a value"]),
    (["--fresh=sometimes"], ["sometimes", "run, open or never"]),
    (["--keep=yes"], ["--keep=yes"]),
    (["--json=/no/such/directory/file"], ["/no/such/directory/file"]),
    (["--json=/"], ["--json /"]),
    (["--json="], ["--json"]),
    (["--pathology=/x"], ["--pathology"]),
])
def test_wrong_options(refused, data, arguments, words):
    refused([f"--path={data}", *arguments], *words)


@pytest.mark.parametrize("verb", ["run", "warm", "env", "top", "clear", "verify", "doctor", "report"])
def test_a_wrong_option_leads_to_the_help_of_its_verb(jobs, verb):
    """The overview lists no options."""
    done = jobs.stoker(verb, "--nonsense")
    assert done.returncode == 2 and "unknown option --nonsense" in done.stderr
    assert done.stderr.endswith(f": see `stoker {verb} --help`\n")


@pytest.mark.parametrize("verb, wrong, meant", [
    ("run", "--pth=/data", "--path"), ("run", "--no-decoed", "--no-decode"), ("warm", "--dryrun", "--dry-run"),
    ("env", "-tier", "--tier"), ("clear", "--daed", "--dead"), ("doctor", "--jsno", "--json"),
    ("verify", "--teir=/x", "--tier"), ("report", "--lsit", "--list"), ("top", "--onse", "--once")])
def test_a_mistyped_option_is_guessed(jobs, verb, wrong, meant):
    done = jobs.stoker(verb, wrong)
    assert done.returncode == 2
    assert f"unknown option {wrong} (did you mean {meant}?): see `stoker {verb} --help`" in done.stderr


def test_a_mistyped_option_is_named_before_its_value(jobs):
    assert "unknown option --tire (did you mean --tier?)" in jobs.stoker("clear", "--tire", "/x").stderr


def test_wrong_verbs(refused, data):
    refused([], "nonsense", "--help", verb="nonsense")
    refused(["/x", "/y"], "unexpected", verb="clear")
    refused(["--alive"], "--alive", "--help", verb="clear")
    refused(["x"], "unexpected", verb="ls")
    refused(["--tier"], "--tier needs a value", verb="ls")
    refused(["--tier", "/no/such/tier"], "No such file", "is there", verb="clear")
    refused([f"--path={data}", "x"], "unexpected", verb="env")
    refused([f"--path={data}", "--keep"], "--keep", verb="env")
    refused([f"--path={data}", "--json=x"], "--json", verb="env")
    refused([f"--path={data}", "--warm"], "--warm", verb="env")
    refused([f"--path={data}", "--jobs=3"], "--warm", "give both", verb="env")
    refused([f"--path={data}", "--jobs=3"], "--warm", "give both")


def test_no_verb_shows_the_help(jobs):
    done = jobs.stoker()
    assert done.returncode == 2 and "stoker run" in done.stderr and done.stdout == ""
    for way in ("--help", "-h", "help"):
        done = jobs.stoker(way)
        assert done.returncode == 0 and "stoker run" in done.stdout and done.stderr == ""
    assert re.fullmatch(r"stoker \d+\.\d+\.\d+\n", jobs.stoker("--version").stdout)


@pytest.mark.parametrize("variable, value, words", [
    ("STOKER_FRESH", "always", ["run, open or never"]),
    ("STOKER_MIN_AGE", "soon", ["seconds"]),
    ("STOKER_MIN_AGE", "-1", ["seconds"]),
    ("STOKER_MAX_FILE", "much", ["a size"]),
    ("STOKER_LISTINGS", "maybe", ["auto, mtime or off"]),
    ("STOKER_TIERS", "/dev/shm:lots", ["60G"]),
    ("STOKER_TIERS", "/no/such/tier", ["/no/such/tier"]),
    ("STOKER_PATHS", "/no/such/path", ["/no/such/path"]),
])
def test_wrong_variables(refused, data, variable, value, words):
    path = [] if variable == "STOKER_PATHS" else [f"--path={data}"]
    refused(path, *words, env={variable: value})


def test_variables_that_do_not_exist(jobs, data):
    """Each is named once, with the one that is meant if there is one. The run goes on, and its processes say nothing."""
    env = {"STOKER_TEIRS": "/x", "STOKER_KEEP": "on", "MY_STOKER_KEEP": "on"}
    done = jobs.run(["cat", data / "file0000"], path=data, env=env)
    said = " ".join(done.stderr.split())
    assert said.count("STOKER_TEIRS is no variable of Stoker's: did you mean STOKER_TIERS?") == 1
    assert said.count("STOKER_KEEP is no variable of Stoker's: `stoker help environment` lists them") == 1
    assert said.count("no variable of Stoker's") == 2
    done = jobs.preloaded(["cat", data / "file0000"], data, env=env)
    assert done.stderr == ""


def test_warm(refused, data, scratch):
    refused([], "nothing to fill", "stoker warm DIR", verb="warm")
    refused([data, "--no-decode"], "--no-decode", "--help", verb="warm")
    refused(["/no/such/set"], "/no/such/set: No such file", "is there", verb="warm")
    refused([""], "empty", "is there", verb="warm")
    refused(["/"], "whole file system", "data set's directory", verb="warm")
    refused([scratch, f"--path={data}"], scratch, "outside of", data, "below it", verb="warm")
    refused([scratch], scratch, "outside of", data, verb="warm", env={"STOKER_PATHS": data})
    for jobs in ("0", "-1", "1025", "x", "3x", "", "99999999999999999999"):
        refused([data, f"--jobs={jobs}"], "--jobs " + jobs, "1 to 1024", verb="warm")
    for share in ("0/3", "4/3", "1", "1/", "/2", "1/2x", "-1/2", "1/5000", ""):
        refused([data, f"--shard={share}"], "--shard " + share, "I/N", verb="warm")
        refused([data, f"--share={share}"], "--share " + share, "I/N", verb="warm")  # the flag's old name
    refused([data, "--decoded=0"], "--decoded 0", "write --decoded", verb="warm")
    refused([data, "--decoded=x"], "--decoded x", "write a size", verb="warm")
    refused([data, "--tier", data], "lies inside --path", verb="warm")
    refused([data, "--tier", "/no/such/tier"], "No such file", verb="warm")
    refused([data, "--fresh=often"], "run, open or never", verb="warm")
    refused([data], "STOKER_MAX_FILE=x", verb="warm", env={"STOKER_MAX_FILE": "x"})


# ---- paths ----

@pytest.mark.parametrize("path, words", [
    ("/no/such/path", ["No such file", "name a directory or file"]),
    ("", ["empty"]),
    ("/", ["whole file system", "name the data set"]),
    ("/..", ["whole file system"]),
    ("/proc", ["kernel", "name the data set"]),
    ("/proc/self", ["kernel"]),
    ("/sys", ["kernel"]),
    ("/dev", ["kernel"]),
    ("/dev/null", ["neither"]),
    ("/dev/shm", ["--tier /dev/shm lies inside"]),
])
def test_paths_that_cannot_be_covered(refused, path, words):
    refused(["--path", path], *words)


def test_nothing_to_cover(refused):
    refused([], "nothing to serve", "--path")


def test_too_many_paths(refused, scratch):
    for number in range(17):
        (scratch / f"d{number}").mkdir()
    refused([f"--path={scratch}/d{number}" for number in range(17)], "more than 16", "above")


def test_a_path_twice_is_one(jobs, data):
    ran = jobs.run(["cat", f"{data}/file0000"], path=[data, data, f"{data}/", f"{data}/./"])
    assert ran.paths == [str(data)]


def test_a_loop_of_links(refused, scratch):
    (scratch / "loop").symlink_to("loop")
    refused([f"--path={scratch}/loop"], "loop")


# ---- tiers ----

def test_tier_inside_a_covered_path(refused, data, scratch):
    (scratch / "tier").mkdir()
    refused([f"--path={scratch}", f"--tier={scratch}/tier"], "inside --path", "outside")
    refused([f"--path={scratch}/tier", f"--tier={scratch}/tier"], "inside --path")
    (scratch / "link").symlink_to(scratch / "tier")
    refused([f"--path={scratch}/link", f"--tier={scratch}/tier"], "inside --path")


def test_path_inside_a_tier(refused, scratch):
    inside = scratch / HOME / "tree" / "data"
    inside.mkdir(parents=True)
    refused([f"--path={inside}", f"--tier={scratch}"], "lies inside the tier")
    refused([f"--path={inside.parents[1]}", f"--tier={scratch}"], "lies inside the tier")


def test_data_beside_the_tier_is_fine(jobs, scratch):
    (scratch / "data").mkdir()
    (scratch / "data" / "file").write_text("content")
    settle()
    ran = jobs.run(["cat", scratch / "data" / "file"], path=scratch / "data", tier=scratch)
    assert (ran.stdout, ran.fills) == ("content", 1)


def test_tiers_that_are_no_directories(refused, data, scratch):
    (scratch / "file").touch()
    (scratch / "link").symlink_to(scratch)
    (scratch / "dangling").symlink_to("nowhere")
    refused([f"--path={data}", "--tier=/no/such/tier"], "No such file", "is there")
    refused([f"--path={data}", f"--tier={scratch}/file"], "not a directory")
    refused([f"--path={data}", f"--tier={scratch}/link"], "symbolic link", scratch)
    refused([f"--path={data}", f"--tier={scratch}/link/"], "symbolic link", scratch)
    refused([f"--path={data}", f"--tier={scratch}/dangling"], "symbolic link")
    refused([f"--path={data}", "--tier=/proc"], "--tier /proc")
    refused([f"--path={data}", "--tier="], "--tier")


def test_two_tiers_on_file_systems_that_may_be_shared(refused, data, origin):
    """Which tiers are shared is a property of the node: without --require-cache the first is used."""
    (_, mount), (_, other) = origin.directory("tier"), origin.directory("tier")
    refused([f"--path={data}", f"--tier={mount}", f"--tier={other}", "--require-cache"], mount, other,
            "name one")


def test_tiers_of_others(refused, data, scratch, as_root):
    for name in ("theirs", "open", "home"):
        (scratch / name).mkdir()
    os.chown(scratch / "theirs", 1, 1)
    refused([f"--path={data}", f"--tier={scratch}/theirs"], "another user", "of your own")
    (scratch / "open").chmod(0o777)
    refused([f"--path={data}", f"--tier={scratch}/open"], "writable by others", "chmod")
    (scratch / "open").chmod(0o1777)
    home = scratch / "open" / "stoker-0"
    # The user did not type the name of Stoker's own directory in it: an error only with --require-cache.
    flags = [f"--path={data}", f"--tier={scratch}/open", "--require-cache"]
    for number in range(10):  # all the names that there are
        name = scratch / "open" / (f"stoker-0.{number}" if number else "stoker-0")
        name.mkdir()
        os.chown(name, 1, 1)
    refused(flags, "another user", home)
    os.chown(home, 0, 0)
    home.chmod(0o770)
    refused(flags, "writable by others", home)
    home.rmdir()
    home.symlink_to(scratch / "home")
    refused(flags, "symbolic link", home)
    home.unlink()
    home.touch()
    refused(flags, "not a directory", home)


def test_a_catalogue_of_others(refused, jobs, data, place, as_root):
    """The catalogue's home in /dev/shm belongs to another user: the command runs uncached."""
    home = "/dev/shm/stoker-0"
    all_names = f"{home} {home}.1 {home}.2 {home}.3 {home}.4 {home}.5 {home}.6 {home}.7 " \
                f"{home}.8 {home}.9"
    for spoil, word in ((f"mkdir {all_names} && chown 1 {all_names}", "another user"),
                        (f"mkdir {home} && chmod 777 {home}", "writable by others"),
                        (f"ln -s /tmp {home}", "symbolic link"), (f"touch {home}", "directory")):
        flags = [f"--path={data}", "--tier=/dev/shm", "--require-cache"]
        for check in (lambda: refused(flags, word, home), lambda: check_uncached(jobs, data, word, home),
                      lambda: check_uncached(jobs, data, word, home, tier="/dev/shm")):
            place.run(["sh", "-c", spoil])
            check()
            place.run(["sh", "-c", f"rm -rf {home}*"])


@pytest.mark.parametrize("size", ["lots", "0", "-5", "-1G", "1Q", "G", "", "1G1", "0x10", "1e9",
                                  "99999999999999999999", "1 G"])
def test_budgets_that_are_none(refused, data, size):
    refused([f"--path={data}", f"--tier=/dev/shm:{size}"], "--tier", "60G")


def test_places_of_samples_that_others_could_swap(refused, data, scratch):
    """Another user could rename a directory above."""
    (scratch / "project" / "mine").mkdir(parents=True)
    (scratch / "project").chmod(0o2775)
    for place in ("mine", "mine/new", "new"):
        refused([f"--path={data}", f"--decoded={scratch}/project/{place}:1G"], "writable by others", "chmod +t")


def test_places_of_samples_that_were_typed_wrong(refused, data, scratch):
    (scratch / "file").touch()
    (scratch / "open").mkdir()
    (scratch / "open").chmod(0o777)
    for place, what in ((scratch / "no/such", "No such file"), (scratch / "file", "not a directory"),
                        (scratch / "open", "only you can write"), (f"{scratch}/file/below:5G", "Not a directory")):
        for verb in "run", "env":
            named = f"--decoded {str(place).removesuffix(':5G')}: "
            refused([f"--path={data}", f"--decoded={place}"], named, what, verb=verb)


def test_places_of_samples_where_none_would_be_kept(refused, jobs, data, scratch, origin):
    """These are properties of a node: the job goes on without samples, and a line says so."""
    mount = origin.directory("samples")[1]
    for place, what, faults in ((mount / "own", "not on a local file system", {}),
                                (mount / "other", "does not answer", {"hang_ns": 600 * 10**9})):
        with origin.fs.faults(**faults):
            refused([f"--path={scratch}", f"--decoded={place}", "--require-cache"], place, what)
            done = jobs.stoker("run", f"--path={scratch}", f"--decoded={place}", "--", "sh", "-c",
                               "echo $STOKER_DECODED; exit 7")
            assert (done.returncode, done.stdout) == (7, "0\n"), done.stderr
            assert done.stderr.count(what) == 1 and "going on without it" in done.stderr


def test_a_budget_too_small_to_hold_anything(refused, data, place, scratch):
    """Nothing stays behind of what was tried."""
    refused([f"--path={data}", "--tier=/dev/shm:700K"], "--tier /dev/shm: a budget of 700 KiB holds nothing")
    refused([f"--path={data}", f"--tier={scratch}:60"], f"--tier {scratch}: a budget of 60 B ", "unit, such as 60G")
    assert os.listdir(place.path("/dev/shm")) == []
    assert os.listdir(scratch) == []


def test_a_refused_budget_leaves_what_was_there(refused, jobs, data, scratch):
    """A tier on a disk with entries, and a catalogue in use."""
    tier = scratch / "tier"
    tier.mkdir()
    count = 'cat "$0"/* | wc -c'
    line = jobs.command_line(["sh", "-c", f"{count}; read go; {count}", data], path=data, tier=tier)
    with jobs.started(line) as process:
        read_line(process)
        budget = jobs.used(f"{tier}")[1]
        refused([f"--path={data}", f"--tier={tier}:1K"], "--tier", "budget")
        assert jobs.used(f"{tier}")[1] == budget
        assert process.communicate("go\n")[0].split()[-1] == "2000"
    refused([f"--path={data}", f"--tier={tier}:1K"], "--tier", "budget")
    ran = jobs.run(["sh", "-c", count, data], path=data, tier=tier)
    assert (ran.fills, ran.hits) == (0, 2)


def test_a_list_of_tiers(refused, data, scratch):
    """One that is none is an error, wherever it stands; and nothing is made in the others."""
    path, good = f"--path={data}", f"--tier={scratch}:10M"
    refused([path, good, "--tier=/no/such"], "--tier /no/such", "there")
    refused([path, good, "--tier=/proc"], "--tier /proc", "a file system that may be shared")
    refused([path, "--tier=/proc:1G", good], "--tier /proc", "a file system that may be shared")
    refused([path, f"{good},{data}:10M"], f"--tier {data}", "inside --path")
    refused([path, f"{good},,/dev/shm"], "no directory")
    refused([path, f"{good},/dev/shm:much"], "size")
    refused([path], "no directory", env={"STOKER_TIERS": f"{scratch}:10M,:5M"})
    assert os.listdir(scratch) == []


def test_a_tier_that_is_named_twice(refused, data, scratch):
    path = f"--path={data}"
    refused([path, f"--tier={scratch}:10M", f"--tier={scratch}/:20M"], "named twice")
    refused([path, f"--tier={scratch}:10M,{scratch}/../{scratch.name}:10M"], "named twice")


def test_computed_budgets_in_the_same_place(refused, data, scratch, place):
    """Each tier would get all the room there is. One file system here may be two on another node: without
    the flag the first tier is used (test_node.py)."""
    for name in ("a", "b", "memory"):
        (scratch / name).mkdir()
    place.run(["mount", "-t", "tmpfs", "-o", "size=64m", "memory", scratch / "memory"])
    path = f"--path={data}"
    for tiers, what in ((f"{scratch}/a,{scratch}/b:5M", "same file system"),
                        (f"{scratch}/a:5M,{scratch}/b", "same file system"),
                        (f"/dev/shm,{scratch}/memory", "same memory")):
        refused([path, f"--tier={tiers}", "--require-cache"], what, "DIR:SIZE")


def test_a_tier_in_another(refused, data, scratch):
    inner = scratch / HOME
    inner.mkdir(mode=0o700)
    refused([f"--path={data}", f"--tier={scratch}:5M,{inner}:5M"], "one lies in what the other")
    refused([f"--path={data}", f"--tier={inner}:5M,{scratch}:5M"], "one lies in what the other")


def test_too_many_tiers(refused, data, scratch):
    tiers = []
    for number in range(9):
        (scratch / str(number)).mkdir()
        tiers.append(f"--tier={scratch}/{number}:5M")
    refused([f"--path={data}", *tiers], "one too many", "8")


def test_a_full_tier(refused, data, place, scratch):
    place.run(["mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=50", "small", scratch])
    place.run(["sh", "-c", "cat /dev/zero >$0/zeroes; true", scratch])
    refused([f"--path={data}", f"--tier={scratch}", "--require-cache"], "full", "free")


def test_a_tier_without_inodes(refused, data, place, scratch):
    place.run(["mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=10", "small", scratch])
    place.run(["sh", "-c", "i=0; while mkdir $0/$i; do i=$((i + 1)); done; true", scratch])
    refused([f"--path={data}", f"--tier={scratch}", "--require-cache"], "full", "free")


def test_a_full_shared_memory(refused, data, place, scratch):
    place.run(["mount", "-t", "tmpfs", "-o", "size=4m", "small", "/dev/shm"])
    place.run(["sh", "-c", "cat /dev/zero >/dev/shm/zeroes; true"])
    refused([f"--path={data}", f"--tier={scratch}", "--require-cache"], "no tmpfs has room", "free")


def check_uncached(jobs, data, *words, limit=None, tier=None):
    """The command runs, nothing of ours in it, and one line says why and what to do."""
    ran = jobs.run(["sh", "-c", 'cat "$0"/* | wc -c; echo "$LD_PRELOAD"; exit 7', data], path=data,
                   tier=tier, check=False, within=[] if limit is None else ["prlimit", f"--fsize={limit}"])
    assert (ran.status, ran.stdout) == (7, "2000\n\n"), ran.stderr
    assert re.fullmatch(r"stoker: [^\n]*running uncached[^\n]*\n", ran.stderr), ran.stderr
    for word in words:
        assert word in ran.stderr
    assert (ran.opens, ran.hits, ran.tier["used_bytes"]) == (0, 0, 0)
    assert ran.json["status"] == 7


def test_a_full_shared_memory_that_nobody_named(jobs, data, place):
    place.run(["mount", "-t", "tmpfs", "-o", "size=400m", "small", "/dev/shm"])
    place.run(["sh", "-c", "cat /dev/zero >/dev/shm/zeroes; true"])
    check_uncached(jobs, data, "no tmpfs has room", "free")


def test_a_full_tier_that_nobody_named(jobs, data, place):
    """Room for a catalogue, and for nothing else."""
    place.run(["mount", "-t", "tmpfs", "-o", "size=400m", "small", "/dev/shm"])
    place.run(["sh", "-c", "head -c $((400 * 1024 - 1950))k /dev/zero >/dev/shm/zeroes"])
    check_uncached(jobs, data, "/dev/shm is full", "--tier DIR")
    assert os.listdir(place.path("/dev/shm")) == ["zeroes"]


# ---- limits on the size of files ----

@pytest.mark.parametrize("limit", [4096, 1 << 20])
def test_a_limit_that_nobody_meant_for_us(jobs, data, place, limit):
    check_uncached(jobs, data, "ulimit -f", limit=limit)
    assert os.listdir(place.path("/dev/shm")) == []


def test_a_limit_beside_a_tier_that_was_named(jobs, data, scratch):
    check_uncached(jobs, data, "ulimit -f", limit=4096, tier=scratch)


def test_what_is_said_may_be_larger_than_the_limit(jobs, data, scratch):
    """Where nothing can be said the job runs all the same, and a file that is too large ends it as it
    would without us."""
    for command, status in ["exit 7", 7], ["echo x", 128 + signal.SIGXFSZ]:
        line = jobs.command_line(["sh", "-c", f"{command} >$0", scratch / "written"], path=data)
        done = jobs.place.run(["sh", "-c", 'prlimit --fsize=0 "$@" >$0 2>&1; exit $?',
                               scratch / "said", *line], check=False)
        assert done.returncode == status


@pytest.mark.parametrize("limit", [0, 1000, 100000])
def test_a_job_that_limits_itself(jobs, session_origin, limit):
    """No signal ends it for Stoker's own writes: entries, and the tier's account. With a budget as
    small as this one, each fill asks the account."""
    _, mount = session_origin.files(f"limited-{limit}", 12, 100000)
    script = ("cd $0; cat file0000; for epoch in 1 2; do"
              " for file in *; do prlimit --fsize=$1 cat $file; done; done | wc -c")
    ran = jobs.run(["sh", "-ec", f"({script}) | tail -c 8", mount, f"{limit}"], path=mount,
                   tier="/dev/shm:4M")
    assert ran.stdout.split()[-1] == f"{24 * 100000}"
