"""`stoker last`: the summary of a run whose end the user has not seen."""

import json
import os
import pty
import re
import select
import signal
import subprocess

import pytest

from jobs import YOUNG, read_line, reading, wait_for

NONE = "stoker: no run of yours has left a record yet: `stoker run` leaves one when it ends\n"


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("last", 3, 1000)[1]


@pytest.fixture
def last(jobs, state):
    def ask():
        done = jobs.stoker("last", env=state)
        return done.returncode, done.stdout, done.stderr
    return ask


def files(data):
    return [data / f"file000{number}" for number in range(3)]


def test_none(jobs, last):
    assert last() == (1, "", NONE)
    done = jobs.stoker("last", "--json")
    assert done.returncode == 2 and "unexpected: --json" in done.stderr


def test_the_summary_of_the_last_one(jobs, data, state, last):
    """The summary is as it was printed; a line of its own names another run."""
    jobs.run(reading(files(data), 1), path=data, env=state)
    ran = jobs.run(["sh", "-c", 'cat "$0" "$0" >/dev/null', files(data)[0], "a\n\x1b[31mb"], path=data,
                   env=state)
    status, out, err = last()
    assert (status, err) == (0, "")
    title, summary = out.split("\n", 1)
    assert title.startswith("ended with 0 after ") and title.endswith("file0000 a??[31mb")
    assert ran.stderr.endswith(summary)
    assert summary.startswith("stoker: 2 opens of 1 file, 50.0% from the cache\n")


def test_a_title_of_many_words_is_a_line_that_can_be_read(jobs, data, state, last):
    jobs.run(["cat", *[files(data)[0]] * 300], path=data, env=state)
    title = last()[1].splitlines()[0]
    assert ": cat " in title and title.endswith("file0000 ...") and len(title) < 600


def test_one_that_lives_and_one_that_was_killed(jobs, data, state, last):
    """Both leave records that know no end; the one that lives is not meant."""
    jobs.run(reading(files(data), 1), path=data, env=state)
    jobs.run(["cat", files(data)[0]], path=data, env=state)
    newest = max((state["XDG_STATE_HOME"] / "stoker/runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    record = newest.read_bytes()
    assert record.count(b"ended with 0 after ") == 1
    newest.write_bytes(record.replace(b"ended with 0 after ", b"not ended at 0.000 "))
    assert last()[1].startswith("not ended at 0.000 ") and "1 open of 1 file" in last()[1]
    line = jobs.command_line(["sh", "-c", "echo ready; read line"], path=data)
    with jobs.started(line, env=state) as process:
        assert read_line(process) == "ready"
        assert "stoker: 3 opens of 3 files" in last()[1]
        process.communicate("go\n", timeout=60)
    assert "NOTHING WAS SERVED" in last()[1]


def test_one_whose_terminal_was_closed(jobs, data, state, last):
    """The terminal goes, its shell, and the job with them: no reader of the summary is left."""
    ours, theirs = pty.openpty()
    script = 'cat "$0"/* >/dev/null; echo ready; exec sleep 60'
    run = jobs.command_line(["sh", "-c", script, data], path=data)
    line = jobs.place.command(["setsid", "-c", "-w", "sh", "-c", '"$@"; exit', "sh", *run],
                              {**YOUNG, **state})
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        said = b""
        while b"ready" not in said:
            assert select.select([ours], [], [], 60)[0], said
            said += os.read(ours, 1000)
        os.close(ours)
    status, out, err = wait_for(lambda: (lambda told: told if told[0] == 0 else None)(last()))
    assert (status, err) == (0, "")
    assert out.startswith(f"ended with {128 + signal.SIGHUP} after ")
    assert "\nstoker: the command was killed by SIGHUP; 3 opens of 3 files" in out


def test_the_environment_alone(jobs, data, state, last):
    jobs.preloaded(reading(files(data), 1), data)
    status, out, err = last()
    assert (status, out) == (1, "")
    assert err == ("stoker: what has run without `stoker run` is summed up by `stoker env --end`\n"
                   + NONE)
    jobs.stoker("clear")


def test_the_environment_s_end_leaves_a_record(jobs, data, state, last):
    """As a run's does: for last, and for report in all its shapes."""
    env = {"STOKER_PATHS": data, **state}
    jobs.preloaded(reading(files(data), 2), data)
    told = jobs.stoker("env", "--end", env=env)
    assert "stoker: 6 opens of 3 files, 50.0% from the cache\n" in told.stderr
    status, out, err = last()
    title, summary = out.split("\n", 1)
    assert (status, err) == (0, "") and told.stderr.endswith(summary)
    assert re.fullmatch(rf"ended after [\d.]+ s without stoker run, 50.0% of 6 opens from the cache: {data}", title)
    assert title in jobs.stoker("report", "--list", env=state).stdout
    record = json.loads(jobs.stoker("report", "--json", env=state).stdout)
    assert (record["command"], record["paths"], record["opens"]) == ([], [str(data)], 6)
    page = jobs.stoker("report", "-o", "-", env=state).stdout
    assert "without stoker run" in page and "only opens are counted" in page
    assert f"no file below {data} was opened since" in " ".join(jobs.stoker("env", "--end", env=env).stderr.split())
    assert last() == (0, out, "")
    jobs.preloaded(["cat", files(data)[0]], data)
    jobs.stoker("env", "--end", env={**env, "STOKER_HISTORY": "off"})
    assert last() == (0, out, "")
    jobs.stoker("clear")


def test_where_nothing_can_be_remembered(jobs, data):
    done = jobs.run(["cat", *files(data)], path=data)
    assert done.fills == 3
    assert jobs.stoker("last").returncode == 1


def test_the_run_of_this_directory_is_meant(jobs, data, state, last, scratch):
    """Not that of another job; which is named."""
    def at(directory, line):
        return jobs.place.run(["sh", "-c", 'cd "$0" && exec "$@"', directory, *line],
                              env={**YOUNG, **state}).stdout.splitlines()
    (scratch / "here").mkdir()
    run = [jobs.build / "stoker", "run", f"--path={data}", "--", "true"]
    at(scratch / "here", [*run, "mine"])
    jobs.run(["true", "other"], path=data, env=state)
    assert at(scratch / "here", [jobs.build / "stoker", "last"])[0].endswith(": true mine")
    assert last()[1].splitlines()[0].endswith(": true other") and last()[2] == ""
    listed = at("/", [jobs.build / "stoker", "last", "--all"])
    assert [line.split()[-1] for line in listed] == ["other", "mine"]
    assert [line.split()[-1] for line in at("/", [jobs.build / "stoker", "report", "--all"])] == ["other", "mine"]
    told = at(scratch / "here", [jobs.build / "stoker", "report", "--json"])
    assert json.loads("\n".join(told))["command"] == ["true", "mine"]


def test_the_run_of_this_terminal_is_meant(jobs, data, state, scratch):
    """Also after the user has gone to another directory."""
    stoker = f"{jobs.build}/stoker"
    script = f"cd /; {stoker} run --path {data} -- true mine; cd /usr; (exec </dev/null; setsid sh -c " \
             f"'{stoker} run --path {data} -- true other </dev/null >/dev/null 2>&1'); {stoker} last"
    master, slave = pty.openpty()
    with subprocess.Popen(jobs.place.command(["setsid", "-c", "sh", "-c", script], {**YOUNG, **state}), stdin=slave,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        out, err = process.communicate(timeout=60)
    os.close(master)
    os.close(slave)
    assert out.splitlines()[0].endswith(": true mine"), out
    assert "stoker: a newer run was started in another directory: `stoker last --all` lists all\n" in err


def test_an_array_of_jobs_loses_no_record(jobs, data, state):
    """More at once than are kept of old ones."""
    line = jobs.command_line(["true"], path=data)
    script = 'for each in $(seq 25); do "$@" >/dev/null 2>&1 & done; wait'
    jobs.place.run(["sh", "-c", script, "sh", *line], env={**YOUNG, **state})
    assert len(jobs.stoker("last", "--all", env=state).stdout.splitlines()) == 25
