"""A fault during a run costs speed, never a byte: the job goes on from the origin."""

import shutil

import pytest

from jobs import HOME, YOUNG

FILES = 30


@pytest.fixture
def tier(scratch):
    path = scratch / "tier"
    path.mkdir()
    return path


@pytest.fixture
def broken(jobs, origin, tier):
    """Compares all files with the originals, does something to the cache, and compares twice."""
    source, mount = origin.files("trouble", FILES, 20000)

    def run(harm, tier_flag=tier, alone=False):
        script = f'same() {{ diff -r "$1" "$2"; }}; same "$@"; {harm}; same "$@" && same "$@"'
        command = ["sh", "-c", script, "sh", mount, source, tier]
        if alone:
            done = jobs.preloaded(command, mount, tier=str(tier_flag))
            assert (done.stdout, done.stderr) == ("", "")
            return None
        ran = jobs.run(command, path=mount, tier=tier_flag)
        assert ran.stdout == ""
        return ran

    return run


HARMS = {
    "tier": f'rm -rf "$3/{HOME}"',
    "tree": f'rm -rf "$3/{HOME}/tree"',
    "fill": f'rm -rf "$3/{HOME}/fill"',
    "entries": 'find "$3" -name "*;file*" -delete',
    "tier-replaced-by-file": f'rm -rf "$3/{HOME}"; touch "$3/{HOME}"',
    "tier-moved": f'mv "$3/{HOME}" "$3/elsewhere"',
    "tier-replaced-by-link": f'mv "$3/{HOME}" "$3/elsewhere"; ln -s elsewhere "$3/{HOME}"',
    "catalogue": f"rm /dev/shm/{HOME}/catalogue",
    "home": f"rm -rf /dev/shm/{HOME}",
    "run": f"rm -f /dev/shm/{HOME}/runs/*",
    "entries-emptied": f'find "$3" -name ";origin" -delete; chmod 0 "$3/{HOME}"/tree/*',
}


@pytest.mark.parametrize("harm", HARMS)
def test_harm_under_stoker_run(broken, harm):
    ran = broken(HARMS[harm])
    assert ran.fills >= FILES


@pytest.mark.parametrize("harm", HARMS)
def test_harm_under_ld_preload_alone(broken, harm):
    broken(HARMS[harm], alone=True)


def test_the_memory_vanishes(broken):
    """Tier and catalogue in one place, as usual."""
    broken(f"rm -rf /dev/shm/{HOME}", tier_flag="/dev/shm")


def test_what_vanished_is_filled_again_in_the_same_process(jobs, origin, tier, programs):
    """One process: its maps stay, the files behind them go."""
    source, mount = origin.files("again", 5, 5000)
    script = ('exec 9<"$1/file0000"; rm -rf "$3"/stoker-*; cmp - "$2/file0000" <&9; '
              'for f in "$1"/*; do while IFS= read -r line; do :; done <"$f"; done; '
              'diff -r "$1" "$2"')
    ran = jobs.run(["bash", "-c", script, "bash", mount, source, tier], path=mount, tier=tier)
    assert ran.stdout == ""


def test_the_origin_s_file_vanishes(jobs, origin):
    source, mount = origin.files("gone", 2, 5000)
    script = 'cat "$1/file0000" >/dev/null; rm "$2/file0000" "$2/file0001"; cat "$1/file0001"'
    ran = jobs.run(["sh", "-c", script, "sh", mount, source], path=mount, check=False)
    assert ran.status == 1 and "No such file or directory" in ran.stderr


def test_no_memory_for_a_catalogue_under_ld_preload(jobs, place, origin):
    """Nowhere a tmpfs: the job runs as without."""
    source, mount = origin.files("none", 3, 5000)
    place.run(["umount", "/dev/shm"])
    for directory in ("/dev/shm", "/tmp"):
        if shutil.disk_usage(directory).total:
            place.run(["mount", "-t", "ramfs", "none", "/dev/shm"])
    done = jobs.preloaded(["diff", "-r", mount, source], mount)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_name_of_a_run_that_is_over(jobs, origin):
    """STOKER_RUN from a batch script of yesterday: the job has no run, and works."""
    source, mount = origin.files("over", 3, 5000)
    for name in ("/dev/shm/stoker-0/runs/1-2", "/no/such/runs/x", "x", "/etc/passwd", "/" * 600):
        done = jobs.preloaded(["diff", "-r", mount, source], mount, env={"STOKER_RUN": name})
        assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("variable, value", [
    ("STOKER_TIERS", "/no/such"), ("STOKER_TIERS", "/proc"), ("STOKER_TIERS", "::"),
    ("STOKER_TIERS", "/dev/shm:0"), ("STOKER_TIERS", "x" * 5000), ("STOKER_FRESH", "x"),
    ("STOKER_MIN_AGE", "-7"), ("STOKER_MAX_FILE", "x"), ("STOKER_PATHS", ":" * 100),
    ("STOKER_PATHS", "/:/proc:/dev"), ("STOKER_PATHS", "relative"), ("STOKER_PATHS", "/x" * 9000)])
def test_nonsense_in_the_environment_of_a_guest(jobs, origin, variable, value):
    """A guest says nothing and does no harm; the command complains, the library does not."""
    source, mount = origin.files("guest", 3, 5000)
    done = jobs.preloaded(["diff", "-r", mount, source], mount, env={variable: value})
    assert (done.stdout, done.stderr) == ("", "")


def leave_nonsense(place, home, harm):
    place.run(["sh", "-c", f"mkdir -m 700 {home}; {harm} /dev/urandom >{home}/catalogue; "
               f"chmod 600 {home}/catalogue"])


@pytest.mark.parametrize("harm", ["head -c 100", "head -c 2000000"])
def test_a_catalogue_full_of_nonsense(jobs, place, origin, harm):
    """Damaged or of another version: nothing is served, and nothing breaks. A run that begins alone removes it."""
    source, mount = origin.files("nonsense", 3, 5000)
    home = f"/dev/shm/{HOME}"
    leave_nonsense(place, home, harm)
    done = jobs.preloaded(["diff", "-r", mount, source], mount)
    assert (done.stdout, done.stderr) == ("", "")
    ran = jobs.run(["diff", "-r", mount, source], path=mount)
    assert ran.stderr.startswith(f"stoker: {home} had an index of another version of Stoker: removed\n")
    assert ran.fills == 3


def test_the_catalogue_of_another_version_before_a_job_script(jobs, place, origin):
    """`stoker env` removes it: the programs of the job could not."""
    source, mount = origin.files("nonsense", 3, 5000)
    leave_nonsense(place, f"/dev/shm/{HOME}", "head -c 2000000")
    said = jobs.stoker("env", "--path", mount)
    assert "had an index of another version of Stoker: removed" in said.stderr
    for _ in range(2):
        jobs.preloaded(["diff", "-r", mount, source], mount)
    assert "6 opens of 3 files, 50.0% from the cache" in jobs.stoker("env", "--end").stderr


def test_the_catalogue_of_another_version_that_is_in_use(jobs, place, origin):
    """A program of that version has joined it: the run leaves it alone, and says what to do."""
    _, mount = origin.files("nonsense", 3, 5000)
    home = f"/dev/shm/{HOME}"
    leave_nonsense(place, home, "head -c 2000000")
    line = ["flock", "-s", f"{home}/catalogue", "sh", "-c", "echo held; read go"]
    with jobs.started(line) as holder:
        assert holder.stdout.readline() == "held\n"
        uncached = jobs.place.run(jobs.command_line(["true"], path=mount), env=YOUNG, check=False)
        assert uncached.returncode == 0
        assert (f"{home} holds an index of another version of Stoker, which is in use: running uncached; "
                "`stoker clear` when its runs have ended" in " ".join(uncached.stderr.split()))
        place.run(["test", "-s", f"{home}/catalogue"])


@pytest.mark.parametrize("kib", [0, 10, 1000000])
@pytest.mark.parametrize("alone", [False, True])
def test_a_limit_on_the_size_of_files_ends_no_program(jobs, origin, tier, kib, alone):
    """Batch systems set it. Beyond it the kernel ends a program that makes a file longer."""
    source, mount = origin.files("limited", FILES, 20000)
    script = f'sleep 1; ulimit -f {kib}; diff -r "$1" "$2" && diff -r "$1" "$2"'
    command = ["bash", "-c", script, "sh", mount, source]
    if alone:
        done = jobs.preloaded(command, mount, tier=str(tier))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    else:
        ran = jobs.run(command, path=mount, tier=tier)
        assert ran.stdout == ""
        assert (ran.hits > 0) == (kib == 1000000)
        assert set(ran.bypassed) == (set() if kib == 1000000 else {"limit"})
