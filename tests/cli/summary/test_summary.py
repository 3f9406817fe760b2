"""The summary that `stoker run` gives at the end, to people and to programs."""

import concurrent.futures
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

import hang
from job_fixtures import PROGRAMS
from jobs import HOME, read_line, reading
from memory_group import group_of
from origin import settle

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("summary", 4, 1000)[1]


def test_the_json_object(jobs, data):
    files = [data / f"file000{number}" for number in range(4)]
    ran = jobs.run(reading(files, 3), path=data)
    told = ran.json
    assert told["version"] == 1
    assert told["paths"] == [str(data)]
    assert told["command"] == [str(word) for word in reading(files, 3)]
    assert told["status"] == 0 and 0 < told["seconds"] < 20
    assert (told["opens"], told["files"], told["hits"], told["fills"]) == (12, 4, 8, 4)
    assert (told["bytes_cache"], told["bytes_origin"]) == (8000, 4000)
    assert told["origin_wait_s"] > 0
    assert told["bypassed"] == {}
    assert [epoch["epoch"] for epoch in told["epochs"]] == [1, 2, 3]
    assert [epoch["hits"] for epoch in told["epochs"]] == [0, 4, 4]
    assert [epoch["bytes_origin"] for epoch in told["epochs"]] == [4000, 0, 0]
    assert told["tier"]["path"] == f"/dev/shm/{HOME}"
    assert 0 < told["tier"]["used_bytes"] <= told["tier"]["budget_bytes"]


def test_how_long_opens_waited(jobs, origin):
    """Waits for the origin: an open that was served counts only if it asked the origin once
    more."""
    mount = origin.files("waits", 40, 100)[1]
    origin.fs.latency_ms = 4
    told = jobs.run(reading([mount / f"file{number:04}" for number in range(40)], 3), path=mount).json
    waits = told["origin_waits"]
    bounds = [bucket["le_us"] for bucket in waits["buckets"]]
    assert (told["opens"], told["fills"]) == (120, 40)
    assert 40 <= sum(bucket["count"] for bucket in waits["buckets"]) < 80
    assert bounds == sorted(bounds) and bounds[0] > 4000
    assert bounds[0] / 1.5 < waits["p50_us"] <= waits["p99_us"] <= bounds[-1]
    assert told["origin_wait_s"] < sum(bucket["le_us"] * bucket["count"] / 1e6
                                       for bucket in waits["buckets"])


def test_the_lines(jobs, data):
    files = [data / f"file000{number}" for number in range(4)]
    ran = jobs.run(reading(files, 2), path=data)
    # Where the time went is said from a twentieth of a second on: a busy machine takes that long.
    lines = [line for line in ran.stderr.splitlines() if "time summed" not in line]
    assert lines[0].startswith(f"stoker: caching {data} in /dev/shm/stoker-")
    assert lines[1:4] == ["stoker: 8 opens of 4 files, 50.0% from the cache",
                          "  first, second, ... open of a file: 4, 4",
                          "  files: 3.9 KiB from storage, 3.9 KiB from the cache"]
    assert len(lines) == 5 and lines[4].endswith(
        f"iB in /dev/shm/{HOME}, removed now (--keep keeps it)")


def test_why_opens_were_bypassed(jobs, origin):
    source, mount = origin.directory("why")
    (source / "empty").touch()
    (source / "big").write_bytes(bytes(3000))
    (source / "database").write_bytes(b"SQLite format 3\0" + bytes(100))
    (source / "x.sqlite").write_bytes(b"x")
    (source / "written").write_bytes(b"x")
    settle()
    (source / "young").write_bytes(b"x")
    script = 'cd $0; echo y >>written; cat empty big database x.sqlite written young >/dev/null'
    ran = jobs.run(["sh", "-c", script, mount], path=mount,
                   env={"STOKER_MAX_FILE": "2000", "STOKER_BLOCK": "0", "STOKER_MIN_AGE": "100"})
    assert ran.bypassed == {"empty": 1, "large": 1, "database": 1, "written": 1, "young": 2}
    said = ran.stderr.replace("\n    ", " ").splitlines()
    # The two that weigh most, and the rest.
    assert [line for line in said if line.startswith(("  not cached", "  also not cached"))] == [
        "  not cached: 1 large, at most 2.9 KiB (above STOKER_MAX_FILE; would change it: STOKER_BLOCK above 0,"
        " or a larger STOKER_MAX_FILE)",
        "  not cached: 2 changed recently, at most 117 B (changed less than STOKER_MIN_AGE ago; would change it: a "
        "smaller STOKER_MIN_AGE, if nobody writes them)",
        "  also not cached: 1 empty, 1 written, 1 database"]


def test_a_process_without_descriptors_is_told_so(jobs, data):
    """One is left for the origin, and none to fill with: no larger tier would help."""
    script = """
import os, resource, sys
open(sys.argv[1]).close()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.dup(0))
except OSError:
    os.close(held.pop())
for path in sys.argv[2:]:
    open(path).close()
"""
    names = sorted(path for path in data.iterdir() if path.is_file())
    assert len(names) > 2
    ran = jobs.run([sys.executable, "-c", script, *names], path=data)
    assert ran.bypassed == {"descriptors": len(names) - 1}
    assert "no descriptor left to fill with; would change it: a higher limit: ulimit -n)" in ran.said
    assert "name a larger place" not in ran.said


def test_a_name_that_leaves_no_room_for_the_digits_is_told_so(jobs, data):
    long_names = [data / ("n" * length) for length in (242, 243)]
    for path in long_names:
        path.write_bytes(b"some bytes")
    settle()
    ran = jobs.run(["cat", *long_names, *long_names], path=data)
    for path in long_names:
        path.unlink()
    assert ran.bypassed == {"name": 2} and ran.hits == 1
    assert "not cached: 2 named too long, " in ran.said
    assert "(a name above 242 bytes, or a path near the kernel's limit)" in ran.said


# ---- when nothing was served ----

def test_it_is_said_loudly_when_nothing_matched(jobs, data):
    ran = jobs.run(["cat", "/etc/passwd"], path=data)
    assert f"stoker: NOTHING WAS SERVED: no process opened a file below {data}" in ran.said
    assert "as that directory's real path" in ran.said and f"srun stoker run --path {data} --" in ran.said
    assert (ran.opens, ran.epochs) == (0, [])


@pytest.mark.parametrize("after_s", [0, 1])
def test_a_server_that_hangs_is_not_waited_for(jobs, origin, scratch, after_s):
    """The server is asked whether this user may read the directory."""
    _, mount = origin.files("hung", 1, 100)
    begun = scratch / "begun"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        ran = pool.submit(jobs.run, ["sh", "-c", f"touch {begun}; sleep 2"], path=mount)
        while not begun.exists():
            time.sleep(0.01)
        time.sleep(after_s)
        with origin.fs.faults(hang_ns=600 * 10**9):
            assert "NOTHING WAS SERVED: no process opened a file" in ran.result(hang.patience(20)).said


def test_a_command_that_failed_is_said_to_have_failed(jobs, data):
    """Most have then come to no file: an import that fails, a wrong argument. The path is not doubted."""
    line = f"stoker: NOTHING WAS SERVED: the command ended with 3. It had opened no file below {data}"
    said = jobs.run(["sh", "-c", "exit 3"], path=data, check=False).said
    assert line in said and "Is the path right?" not in said
    assert "the command" not in jobs.run(["true"], path=data).said
    reads = jobs.run(["sh", "-c", f"cat {data}/file0000; exit 3"], path=data, check=False)
    assert "the command" not in reads.said


def test_a_command_that_was_killed_is_said_to_have_been_killed(jobs, data):
    reads = jobs.run(["sh", "-c", f"cat {data}/file0000; kill -SEGV $$"], path=data, check=False)
    assert "stoker: the command was killed by SIGSEGV; 1 open of 1 file, " in reads.said
    told = jobs.run(["sh", "-c", "sh -c 'kill -TERM $$'"], path=data, check=False).said
    assert "the command ended with 143, as a shell does after SIGTERM. It had opened no file" in told


EATS = "import os\nkept = []\nwhile True: kept.append(bytearray(os.urandom(1 << 20)) * 4)"


def test_what_the_kernel_kills_for_want_of_memory_is_said_to_be_so(jobs, data):
    """A worker's end is the command's failure; the loader only says that it was killed."""
    with group_of(64 << 20) as group:
        enter = f"echo $$ >{group}/cgroup.procs;"
        eats = [sys.executable, "-S", "-c", EATS]
        main = jobs.run(["sh", "-c", f'{enter} exec "$@"', "sh", *eats], path=data, check=False)
        worker = jobs.run(["sh", "-c", f'cat {data}/file0000; sh -c \'{enter} exec "$@"\' "$@"; exit 1',
                           "sh", "sh", *eats], path=data, check=False)
    assert "the command was killed by SIGKILL: the kernel says that memory ran out" in main.said
    assert "stoker: the command ended with 1; meanwhile the kernel killed a process for want of " \
           "memory; 1 open of 1 file, " in worker.said


def test_a_directory_that_may_not_be_read_is_named(jobs, scratch, as_root):
    (scratch / "closed").mkdir(mode=0o700)
    scratch.chmod(0o755)
    line = ["setpriv", "--reuid=65534", "--clear-groups", jobs.build / "stoker", "run",
            f"--path={scratch}/closed", "--"]
    for command in ["ls", scratch / "closed"], ["true"]:
        said = " ".join(jobs.place.run([*line, *command], check=False).stderr.split())
        assert f"permission denied: this user may not read {scratch}/closed" in said
        assert "Is the path right?" not in said
    assert "Is the path right?" not in said


def test_a_job_that_only_lists_is_served(jobs, origin):
    source, mount = origin.directory("only-listed")
    for number in range(5):
        (source / f"d{number}").mkdir()
    settle()
    script = "import os, sys\nfor _ in range(2): sum(1 for _ in os.walk(sys.argv[1]))"
    ran = jobs.run([sys.executable, "-S", "-c", script, mount], path=mount)
    listed = ran.json["listings_served"], ran.json["listings_asked"]
    assert sum(listed) == 12 and listed[0] >= 6
    assert f"no file below {mount} was opened; 12 listings of directories, " in ran.said
    assert "NOTHING WAS SERVED" not in ran.said and "Is the path right?" not in ran.said


def test_a_command_that_does_not_wait_for_its_job_is_told_of(jobs, data):
    """As a script that begins the training behind itself: nothing was opened while it ran."""
    line = "processes that it started go on without a summary: let it wait for them"
    ran = jobs.run(["sh", "-c", "sleep 600 </dev/null >/dev/null 2>&1 & echo $!"], path=data)
    jobs.place.run(["kill", ran.stdout.strip()])
    assert "NOTHING WAS SERVED" in ran.said and line in ran.said
    assert line not in jobs.run(["sh", "-c", "sleep 0.01 & wait"], path=data).said


def test_a_job_that_is_in_an_exec_at_the_end_is_told_of(jobs, origin, scratch):
    """The kernel shows no environment of such a process."""
    source, mount = origin.files("in-exec", 1, 10)
    shutil.copy("/usr/bin/python3", source / "program")
    origin.fs.latency_ms = 500
    ran = jobs.run([sys.executable, HERE / "programs/into_exec.py", "-c", "import time; time.sleep(600)"],
                   path=scratch, env={"PROGRAM": mount / "program"})
    origin.fs.latency_ms = 0
    jobs.place.run(["kill", ran.stdout.strip()])
    assert "go on without a summary" in ran.said


def test_it_is_said_how_many_stats_were_seen(jobs, data):
    ran = jobs.run(["stat", data / "file0000"], path=data)
    assert "NOTHING WAS SERVED" in ran.stderr and "(1 stat was seen.)" in ran.stderr


def test_a_path_through_a_link_that_is_not_covered(jobs, data, scratch):
    """Covered as it lies; the job goes by a link: the hint says what to look at. As spelled and as
    it lies are both covered when the link is what was named."""
    (scratch / "link").symlink_to(data)
    ran = jobs.run(["cat", scratch / "link" / "file0000"], path=data, stdin=None)
    assert f"try --path {scratch}/link" in ran.said
    ran = jobs.run(["cmp", scratch / "link" / "file0000", data / "file0000"],
                   path=scratch / "link")
    assert ran.opens == 2 and ran.bypassed == {}


@pytest.fixture
def static_program(scratch):
    (scratch / "static.c").write_text("int main(void) { return 0; }")
    subprocess.run(["cc", "-static", scratch / "static.c", "-o", scratch / "static"], check=True)
    return scratch / "static"


def test_a_static_program_is_named_as_such(jobs, data, static_program):
    ran = jobs.run([static_program], path=data)
    assert "NOTHING WAS SERVED" in ran.stderr
    assert "the command is a static program: the library cannot be loaded into it" in ran.stderr


def test_a_setuid_program_is_named_as_such(jobs, data, scratch, as_root):
    """The user is not root, which has no need of the bit."""
    shutil.copy(shutil.which("true"), scratch / "setuid")
    (scratch / "setuid").chmod(0o4755)
    (scratch / "data").mkdir()
    line = ["setpriv", "--reuid=65534", "--clear-groups", jobs.build / "stoker", "run",
            f"--path={scratch}/data", "--", scratch / "setuid"]
    scratch.chmod(0o755)
    assert "the command is a setuid program" in jobs.place.run(line).stderr


# ---- JSON in all cases ----

def test_json_of_a_killed_command(jobs, data):
    ran = jobs.run(["sh", "-c", "cat $0/*; kill -9 $$", data], path=data, check=False,
                   stdin=None)
    assert (ran.status, ran.json["status"], ran.fills) == (-signal.SIGKILL, 137, 4)


@pytest.mark.parametrize("env, rank", [
    ({"SLURM_PROCID": "3"}, 3), ({"RANK": "0", "SLURM_PROCID": "1"}, 0), ({"OMPI_COMM_WORLD_RANK": "12"}, 12),
    ({"PMI_RANK": "7"}, 7), ({"RANK": "-1"}, None), ({"RANK": "1x"}, None), ({"RANK": "9" * 30}, None), ({}, None)])
def test_json_says_which_rank_the_run_is(jobs, data, env, rank):
    """A launcher starts a run for each rank: so each rank has its own figures."""
    ran = jobs.run(["cat", data / "file0000"], path=data, env=env)
    assert ran.json["rank"] == rank and ran.files == 1


def test_json_of_strange_words(jobs, scratch):
    data = scratch / 'da"ta\\ \té\udcff\n'
    data.mkdir()
    (data / "file").write_text("x")
    settle()
    ran = jobs.run(["cat", data / "file"], path=data)
    assert ran.fills == 1
    assert ran.paths == [str(data).replace("\udcff", "\u00ff")]


def test_json_to_a_device_and_over_an_old_file(jobs, data, scratch):
    line = jobs.command_line(["true"], path=data, flags=["--json=/dev/stdout"])
    assert json.loads(jobs.place.run(line).stdout)["status"] == 0
    (scratch / "old").write_text("x" * 100000)
    line = jobs.command_line(["true"], path=data, flags=["--json", scratch / "old"])
    jobs.place.run(line)
    assert json.loads((scratch / "old").read_text())["opens"] == 0


def test_json_that_cannot_be_written_is_said(jobs, data):
    done = jobs.place.run(jobs.command_line(["true"], path=data, flags=["--json=/dev/full"]))
    assert "--json /dev/full: could not be written" in done.stderr


def test_json_when_stderr_is_closed(jobs, data, scratch):
    line = jobs.command_line(["sh", "-c", "exit 3"], path=data, flags=[f"--json={scratch}/json"])
    done = jobs.place.run(["sh", "-c", '"$@" 2>&-', "sh", *line], check=False)
    assert done.returncode == 3
    assert json.loads((scratch / "json").read_text())["status"] == 3


def test_the_summary_does_not_wait_for_what_the_command_left_running(jobs, data):
    """A daemon goes on with the origin, and the run ends with its command."""
    script = 'exec 3<&0; (read line <&3; cmp "$0/file0000" "$0/file0001"; echo end) & echo ready'
    line = jobs.command_line(["sh", "-c", script, data], path=data)
    with jobs.started(line) as process:
        assert read_line(process) == "ready"
        process.wait(60)
        out = process.communicate("go\n", timeout=60)[0]
    assert process.returncode == 0
    assert out.endswith("end\n")


def test_a_process_without_memory_is_told_so(jobs, data):
    """The tier is not to blame: another process fills it at that moment."""
    script = """
import os, resource, sys
os.stat(sys.argv[1])
with open("/proc/self/statm") as file:
    mapped = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped, mapped))
os.close(os.open(sys.argv[1], os.O_RDONLY))
"""
    line = f'"{sys.executable}" -S -c "$0" {data}/file0000 && cat {data}/file0001 {data}/file0001'
    ran = jobs.run(["sh", "-c", line, script], path=data)
    assert ran.bypassed == {"limit": 1} and ran.hits == 1
    assert "no memory left to fill with" in ran.said
    assert "ulimit -v" in ran.said and "name a larger place" not in ran.said


def test_a_limit_that_keeps_the_index_from_growing_is_named(jobs, data):
    ran = jobs.run(["bash", "-c", f"ulimit -f 10; cat {data}/file0000"], path=data)
    assert ran.bypassed == {"catalogue": 1}
    assert "or higher limits: ulimit -v, ulimit -f" in ran.said


def test_epochs_beyond_those_counted(jobs, data):
    ran = jobs.run(reading([data / "file0000"], 300), path=data)
    assert ran.opens == 300 and ran.hits == 299
    assert len(ran.epochs) == 32 and ran.epoch(32)["opens"] == 300 - 31
    assert "open of a file: 1, 1, 1, 1, 1, 1, 1, 1, ..." in ran.stderr or (
        "2nd and later opens of a file: 299 in" in ran.stderr)  # where it lasted a second


@pytest.mark.parametrize("what", ["descriptors", "maps"])
def test_readers_that_kept_old_bytes(jobs, origin, what):
    """They become the origin's when their process writes the file, if it may have some more
    descriptors and maps for a moment."""
    source, mount = origin.directory(f"kept-{what}")
    (source / "file").write_text("old")
    settle()
    ran = jobs.run([sys.executable, PROGRAMS / "kept.py", mount / "file", what], path=mount)
    assert ran.stdout.split()[1] == "old"
    assert ran.stale > 0
    assert f"Readers kept old bytes ({ran.stale}): " in ran.stderr


def test_nobody_who_kept_old_bytes(jobs, data):
    assert "old bytes" not in jobs.run(reading([data / "file0000"], 2), path=data).stderr


def test_big_files_are_told_of_in_bytes(jobs, origin, state):
    """Opens say little of one that is read by blocks; lines of zeros are left out."""
    source, mount = origin.directory("big")
    (source / "one").write_bytes(bytes(range(256)) * 40000)
    settle()
    script = ("import os, sys\nfd = os.open(sys.argv[1], os.O_RDONLY)\n"
              "for _ in range(4):\n for at in range(0, 10240000, 1 << 16): os.pread(fd, 1 << 16, at)")
    ran = jobs.run([sys.executable, "-S", "-c", script, mount / "one"], path=mount,
                   env={"STOKER_MAX_FILE": "1M", **state})
    blocks = ran.json["blocks"]
    read = blocks["bytes_cache"] + blocks["bytes_origin"]
    share = f"{100 * blocks['bytes_cache'] / read:.1f}%"
    size = f"{read / 2**20:.1f} MiB"
    assert f"stoker: 1 open of 1 file, {size} read, {share} from the cache\n" in ran.stderr
    assert 30 * 10**6 < read < 60 * 10**6 and blocks["bytes_cache"] > 0.7 * read
    assert "whole files" not in ran.said and "open of a file" not in ran.said
    assert f", {share} of {size} from the cache: " in jobs.stoker("last", env=state).stdout


def test_as_much_is_said_as_is_asked_for(jobs, data, state):
    job = ["sh", "-c", f"cat {data}/file0000 {data}/file0001 >/dev/null"]
    ran = jobs.run(job, path=data, flags=["--quiet"], env=state)
    assert ran.stderr == "stoker: 2 opens of 2 files, 0.0% from the cache\n"
    assert len(jobs.stoker("last", env=state).stdout.splitlines()) > 2
