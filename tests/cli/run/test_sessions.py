"""Runs begin and end, one after the other, beside each other, and by a kill; what stays of them."""

import concurrent.futures
import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys

import pytest

from jobs import HOME, YOUNG, files_below, kill_group, read_line, reading, wait_for
from origin import settle


@pytest.fixture
def data(origin):
    return origin.files("sessions", 5, 2000)[1]


def files(data):
    return [data / f"file000{number}" for number in range(5)]


@pytest.fixture
def home(place):
    """The home of tier and catalogue, seen from outside of the place."""
    return place.path(f"/dev/shm/{HOME}")


@pytest.fixture
def disk(scratch):
    path = scratch / "disk"
    path.mkdir()
    return path


def waiting(jobs, data, *, path=None, flags=(), **more):
    """A run that reads all files, prints "ready", waits for a line, and reads them again."""
    script = 'cat "$0"/* >/dev/null; echo ready; read line; cat "$0"/* >/dev/null'
    return jobs.started(jobs.command_line(["sh", "-c", script, data], path=path or data,
                                          flags=flags, **more))


def test_a_run_leaves_nothing_in_memory(jobs, data, home):
    ran = jobs.run(reading(files(data), 2), path=data)
    assert ran.fills == 5
    assert not os.path.exists(home)
    assert os.listdir(jobs.place.path("/dev/shm")) == []
    assert jobs.stoker("ls").stdout == "nothing is cached\n"


def test_a_run_whose_words_nobody_reads_leaves_nothing_in_memory(jobs, data, home):
    """As in `stoker run ... 2>&1 | head -1`. The job gets the signal, as without us."""
    script = 'cat "$0"/* >/dev/null; kill -PIPE $$'
    line = jobs.command_line(["sh", "-c", script, data], path=data)
    with jobs.started(line, stderr=subprocess.PIPE) as process:
        process.stderr.close()
        assert process.wait(60) == -signal.SIGPIPE
    assert not os.path.exists(home)


def test_keep(jobs, origin, data, home):
    jobs.run(reading(files(data), 1), path=data, flags=["--keep"])
    assert "stays until `stoker clear`" in jobs.stoker("ls").stdout
    with origin.fs.counting() as counted:
        ran = jobs.run(reading(files(data), 1), path=data)
    assert (ran.hits, ran.fills, counted["read_bytes"], counted["open"]) == (5, 0, 0, 0)
    assert os.path.exists(home)
    assert jobs.stoker("clear").stdout.startswith("removed ")
    assert not os.path.exists(home)


def test_a_disk_tier_stays_and_serves_the_next_run(jobs, origin, data, disk, home):
    ran = jobs.run(reading(files(data), 1), path=data, tier=disk)
    assert ran.fills == 5, ran.stderr
    assert not os.path.exists(home)
    with origin.fs.counting() as counted:
        ran = jobs.run(reading(files(data), 2), path=data, tier=disk)
    assert (ran.epoch(1)["hits"], ran.epoch(2)["hits"], ran.fills) == (5, 5, 0), ran.stderr
    assert (counted["read"], counted["read_bytes"]) == (0, 0)


def test_an_entry_on_disk_that_lost_its_end_is_made_anew(jobs, origin, data, disk):
    jobs.run(reading(files(data), 1), path=data, tier=disk)
    for directory, _, names in os.walk(disk):
        for name in names:
            if name.endswith(";file0002"):
                os.chmod(os.path.join(directory, name), 0o600)
                os.truncate(os.path.join(directory, name), 100)
    ran = jobs.run(["cmp", data / "file0002", origin.source / data.name / "file0002"], path=data,
                   tier=disk)
    assert (ran.hits, ran.fills) == (0, 1)


def test_two_runs_share_a_tier_and_the_first_to_end_leaves_it(jobs, origin, data, home):
    with waiting(jobs, data) as first:
        assert read_line(first) == "ready"
        with origin.fs.counting() as counted:
            second = jobs.run(reading(files(data), 1), path=data)
        assert counted["read_bytes"] == 0
        assert (second.hits, second.fills) == (5, 0)
        assert "1 live run\n" in jobs.stoker("ls").stdout
        done = jobs.stoker("clear")
        assert done.returncode == 2 and "1 live run uses the cache" in done.stderr
        assert os.path.exists(home)
        with origin.fs.counting() as counted:
            out, err = first.communicate("go\n", timeout=60)
        assert counted["read_bytes"] == 0
        assert "10 opens of 5 files, 50.0% from the cache" in err
    assert not os.path.exists(home)


def test_many_runs_that_begin_and_end_at_once(jobs, data, home):
    script = '"$@" & ' * 12 + "wait"
    line = jobs.command_line(["cat", data / "file0001", data / "file0001"], path=data)
    done = jobs.place.run(["sh", "-c", f"({script}) >/dev/null", "sh", *line], env=YOUNG)
    assert done.stderr.count("stoker: caching") == 12
    assert done.stderr.count("stoker: 2 opens of 1 file") == 12, done.stderr
    assert not os.path.exists(home)


def kill_run(jobs, data):
    """A run whose stoker is killed; its command is gone, too."""
    with waiting(jobs, data) as process:
        assert read_line(process) == "ready"
        process.kill()
        process.wait(60)


def runs_in(home):
    """The names of the runs there, each of which has its count of decoded images beside it."""
    names = os.listdir(f"{home}/runs")
    runs = sorted(name for name in names if not name.startswith("."))
    tallies = sorted(name for name in names if name.startswith("."))
    assert tallies in ([], [f".{name}.decode" for name in runs])
    return runs


def test_what_a_killed_run_left_is_removed_at_the_next_start(jobs, data, home):
    kill_run(jobs, data)
    assert len(runs_in(home)) == 1
    ran = jobs.run(reading(files(data), 1), path=data)
    assert (ran.fills, ran.hits) == (5, 0)
    assert not os.path.exists(home)


def test_what_a_killed_run_left_is_removed_by_clear_dead(jobs, data, home):
    assert jobs.stoker("clear", "--dead").stdout == "no dead runs\n"
    kill_run(jobs, data)
    assert jobs.stoker("clear", "--dead").stdout == "removed what dead runs left\n"
    assert not os.path.exists(home)
    assert jobs.stoker("clear", "--dead").stdout == "no dead runs\n"


@pytest.mark.parametrize("kept", [False, True])
def test_a_stoker_that_is_killed_while_it_removes(jobs, data, home, kept):
    """It had closed the catalogue, and removed the runs' files: the next run is served all the same."""
    if kept:
        jobs.run(reading(files(data), 1), path=data, flags=["--keep"])
    else:
        kill_run(jobs, data)
        os.unlink(f"{home}/runs/{runs_in(home)[0]}")
    with open(f"{home}/catalogue", "r+b") as catalogue:
        catalogue.seek(16)  # behind the magic number and the header's bytes
        catalogue.write(struct.pack("I", 1))
    ran = jobs.run(reading(files(data), 2), path=data)
    assert (ran.fills, ran.hits) == ((0, 10) if kept else (5, 5))
    assert os.path.exists(home) == kept


def test_clear_beside_runs_that_end(jobs, data, home):
    """A home that is gone before it can be locked is nothing to clear."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = pool.submit(lambda: [jobs.run(["true"], path=data) for _ in range(25)])
        while not runs.done():
            for more in [], ["--dead"]:
                assert "No such file" not in jobs.stoker("clear", *more).stderr
        runs.result()
    assert not os.path.exists(home)


def test_who_looks_whether_a_run_lives_does_not_keep_it_alive(jobs, data, home):
    """Its file is locked for that, for a moment, in which another may look as well."""
    kill_run(jobs, data)
    with open(f"{home}/runs/{runs_in(home)[0]}", "rb") as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert jobs.stoker("ls").stdout.splitlines()[-1] == "0 live runs"
        assert jobs.stoker("clear", "--dead").stdout == "removed what dead runs left\n"
    assert not os.path.exists(home)


def test_what_a_killed_run_left_beside_a_live_one(jobs, data, home):
    with waiting(jobs, data) as live:
        assert read_line(live) == "ready"
        kill_run(jobs, data)
        assert len(runs_in(home)) == 2
        assert jobs.stoker("clear", "--dead").stdout == "removed what dead runs left\n"
        assert len(runs_in(home)) == 1
        err = live.communicate("go\n", timeout=60)[1]
    assert "10 opens of 5 files, 50.0% from the cache" in err


def test_the_job_of_a_killed_stoker_still_counts(jobs, data, home):
    """Its cache stays until it has ended, too."""
    script = 'cat "$0"/* >/dev/null; echo ready; read line; cat "$0"/* >/dev/null; echo $?'
    line = jobs.command_line(["sh", "-c", script, data], path=data)
    with jobs.started(line) as process:
        assert read_line(process) == "ready"
        process.kill()
        process.wait(60)
        assert "1 live run (of 1 the stoker was killed, and the job goes on)" in \
            jobs.stoker("ls").stdout
        assert jobs.stoker("clear", "--dead").stdout == "no dead runs\n"
        assert jobs.stoker("clear").returncode == 2
        assert jobs.run(reading(files(data), 1), path=data).hits == 5
        assert os.path.exists(f"{home}/catalogue")
        process.stdin.write("go\n")
        process.stdin.close()
        assert process.stdout.read() == "0\n"
        process.stdin = None
    assert jobs.stoker("clear", "--dead").stdout == "removed what dead runs left\n"
    assert not os.path.exists(home)


AGAIN = """
import sys
def read():
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            file.read()
read(), print("ready", flush=True), sys.stdin.readline(), read()
"""


def test_the_job_of_a_killed_stoker_counts_in_another_pid_namespace(jobs, data, home, origin):
    """A run there, which does not see the job's processes, begins and ends: the job is served on."""
    with jobs.started(jobs.command_line([sys.executable, "-c", AGAIN, *files(data)], path=data)) as process:
        assert read_line(process) == "ready"
        process.kill()
        process.wait(60)
        elsewhere = ["unshare", "--pid", "--fork", "--mount-proc"]
        jobs.run(reading(files(data), 1), path=data, within=elsewhere)
        with origin.fs.counting() as counted:
            process.stdin.write("go\n")
            process.stdin.close()
            assert process.stdout.read() == ""
            process.stdin = None
        assert counted["open"] == 0
    assert jobs.stoker("clear", "--dead").stdout == "removed what dead runs left\n"
    assert not os.path.exists(home)


def test_a_program_of_a_run_that_is_over_keeps_nothing(jobs, data, home, place):
    """Its cache goes with the next run."""
    env = jobs.preload_env(data, "/dev/shm")
    place.run(reading(files(data), 1), env={**env, "STOKER_RUN": f"/dev/shm/{HOME}/runs/1-2-3"})
    assert os.path.exists(home)
    assert jobs.run(reading(files(data), 1), path=data).fills == 5
    assert not os.path.exists(home)


LASTING = """
import os, sys
def line():
    with open(sys.argv[1], "rb") as file:
        return file.readline()
line(), line()
if os.fork() == 0:  # it has the catalogue of its run, and goes on behind it
    sys.stdin.readline()
    os.write(1, line())
"""


def test_what_outlives_its_run_sees_what_later_runs_write(jobs, data, disk):
    """The later run notes its changes in a catalogue of its own."""
    file, tier = data / "file0000", f"{disk}:64M"
    first = jobs.command_line([sys.executable, "-c", LASTING, file], path=data, tier=tier)
    with jobs.started(first) as process:
        assert process.wait(60) == 0
        jobs.run(["sh", "-c", 'echo new >"$0"', file], path=data, tier=tier)
        assert process.communicate("go\n", timeout=60)[0] == "new\n"


def test_a_stopped_holder_of_the_lock_holds_up_nobody(jobs, data, home):
    """One process is stopped while a run begins or ends: the next runs begin without its lock."""
    jobs.run(reading(files(data), 1), path=data, flags=["--keep"])
    with jobs.started(["flock", f"/dev/shm/{HOME}/lock", "sh", "-c", "echo held; read x"]) as holder:
        assert read_line(holder) == "held"
        ran = jobs.run(reading(files(data), 1), path=data)
        assert ran.hits == 5
        assert "going on without it" in ran.stderr
        done = jobs.stoker("clear")
        assert done.returncode == 2 and "held by another stoker" in done.stderr
    assert jobs.stoker("clear").stdout.startswith("removed ")


def test_a_kept_cache_outlives_a_killed_run(jobs, data, home):
    jobs.run(reading(files(data), 1), path=data, flags=["--keep"])
    kill_run(jobs, data)
    assert jobs.run(reading(files(data), 1), path=data).hits == 5
    assert os.path.exists(home)


def test_a_filler_that_is_killed(jobs, origin, scratch):
    """In the middle of a fill: others take over at once, and its draft goes with the next run."""
    source, mount = origin.directory("killed")
    (source / "file").write_bytes(os.urandom(5 << 20))
    settle()
    origin.fs.latency_ms = 20
    script = """
        cat "$1" >/dev/null & victim=$!
        while [ -z "$(find "$3"/stoker-*/fill -type f)" ]; do sleep 0.01; done
        kill -9 $victim; find "$3"/stoker-*/fill -type f | wc -l; exec cmp "$1" "$2" """
    (scratch / "tier").mkdir()
    command = ["sh", "-c", script, "sh", mount / "file", source / "file", scratch / "tier"]
    ran = jobs.run(command, path=mount, tier=scratch / "tier")
    assert ran.stdout == "1\n"
    assert ran.fills == 1
    assert ran.origin_wait_s < 6
    origin.fs.latency_ms = 0
    again = jobs.run(["cmp", mount / "file", source / "file"], path=mount, tier=scratch / "tier")
    assert again.hits == 1
    assert files_below(scratch / "tier" / HOME / "fill") == []
    assert again.tier["used_inodes"] <= 8  # home, tree, fill, account, volume, root, note, entry


def test_the_command_is_killed_with_its_workers_while_filling(jobs, origin, home):
    """kill -9 of the whole group at any moment leaves whole entries and nothing that counts."""
    source, mount = origin.files("group", 40, 50000)
    origin.fs.latency_ms = 1
    for moment in (0.02, 0.05, 0.11):
        line = jobs.command_line(reading([mount / f"file{i:04}" for i in range(40)], 1), path=mount)
        with jobs.started(line, start_new_session=True) as process:
            wait_for(lambda: os.path.exists(f"{home}/tree") or process.poll() is not None)
            try:
                process.wait(moment)
            except Exception:
                pass
            with contextlib.suppress(ProcessLookupError):
                kill_group(process)
        ran = jobs.preloaded(["diff", "-r", mount, source], mount)
        assert ran.stdout == ""
        jobs.stoker("clear", "--dead")


def test_a_run_in_a_run(jobs, data, home):
    inner = jobs.command_line(reading(files(data), 1), path=data)
    ran = jobs.run(["sh", "-c", '"$@"; cat "$0"/* >/dev/null', data, *inner], path=data)
    assert ran.stderr.count("stoker: caching") == 2
    assert ran.opens == 5 and ran.hits == 5
    assert not os.path.exists(home)
