"""`stoker top`: what it shows is what the runs do, in a terminal as for programs; and it only looks."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from job_fixtures import PROGRAMS
from jobs import HOME, read_line, reading, wait_for
from older_names import older_names
from origin import settle

FILES, SIZE = 12, 3000
NO_RUN = "no run lives: begin one with `stoker run`; `stoker ls` shows the cache"
OTHER = 15003


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("top", FILES, SIZE)[1]


@contextlib.contextmanager
def standing(jobs, data, *, title="", flags=(), **more):
    """A run that has read all files twice, stands still, and reads them again on order."""
    script = 'cat "$0"/* "$0"/* >/dev/null; echo ready; read line; cat "$0"/* >/dev/null'
    line = jobs.command_line(["sh", "-c", script, data, title], path=data, flags=flags, **more)
    with jobs.started(line) as process:
        assert read_line(process) == "ready"
        yield process


def end(process):
    """Lets it go on, and end."""
    process.communicate("go\n", timeout=60)
    assert process.returncode == 0


def look(jobs):
    done = jobs.stoker("top", "--once", "--json")
    assert done.returncode == 0 and done.stderr == ""
    return json.loads(done.stdout)


def once(jobs, *flags):
    done = jobs.stoker("top", *flags)
    assert done.returncode == 0 and done.stderr == ""
    return done.stdout


def count_waits(run):
    """One for each fill, and for hits that asked the origin once more."""
    count = sum(bucket["count"] for bucket in run["origin_waits"]["buckets"])
    assert run["fills"] <= count <= run["opens"]
    return count


# ---- for programs ----

def test_no_run(jobs, data):
    assert once(jobs) == once(jobs, "--once") == NO_RUN + "\n"
    assert look(jobs) == {"version": 1, "runs": [], "more_runs": 0, "tiers": []}
    jobs.run(reading([data / "file0000"], 1), path=data, flags=["--keep"])
    assert once(jobs) == NO_RUN + "\n"
    told = look(jobs)
    assert told["runs"] == [] and [tier["path"] for tier in told["tiers"]] == [f"/dev/shm/{HOME}"]


def test_what_is_not_taken(jobs):
    done = jobs.stoker("top", "--jsn")
    assert done.returncode == 2 and "unknown option --jsn (did you mean --json?): see `stoker top --help`" in done.stderr


def test_json_has_the_figures_of_the_summary(jobs, data, scratch):
    began = time.monotonic()
    with standing(jobs, data, flags=[f"--json={scratch}/summary"]) as process:
        told = look(jobs)
        took = time.monotonic() - began
        end(process)
    summary = json.loads((scratch / "summary").read_text())
    run, = told["runs"]
    assert (run["opens"], run["hits"], run["fills"]) == (2 * FILES, FILES, FILES)
    assert (run["bytes_origin"], run["bytes_cache"]) == (FILES * SIZE, FILES * SIZE)
    assert run["state"] == "live" and run["title"].startswith("sh -c cat ")
    assert run["per_second"]["opens"] == run["per_second"]["bytes_cache"] == 0
    assert 0 < run["seconds"] < took + 0.001  # of the run, which begins before its command does
    # Later opens were hits.
    later = {"opens", "hits", "listings_served", "bytes_cache", "epochs", "tiers", "compared", "seconds"}
    for name in set(run) & set(summary) - later:
        if name not in ("decoded_copies", "samples"):  # of its own run the summary knows more
            assert run[name] == summary[name], name
    assert run["decoded_copies"].items() <= summary["decoded_copies"].items()
    assert [epoch["opens"] for epoch in run["epochs"]] == [FILES, FILES]
    assert run["origin_waits"] == summary["origin_waits"]
    tier, = told["tiers"]
    assert run["tiers"][0]["hits"] == FILES and run["tiers"][0]["path"] == tier["path"]
    assert FILES * SIZE < tier["used_bytes"] <= tier["budget_bytes"] and tier["memory"]


def two_looks(jobs):
    """Returns two looks at the only run, the second at a moment when no open was half counted; else
    None."""
    first, second = look(jobs)["runs"][0], look(jobs)["runs"][0]
    pace = second["per_second"]
    is_even = pace["opens"] == pace["hits"] and \
        pace["bytes_cache"] == pytest.approx(SIZE * pace["opens"], rel=0.001)
    return (first, second) if is_even else None


def test_what_goes_on_while_it_looks(jobs, data, scratch):
    """Speeds are of the time between two looks."""
    script = 'while test -e "$1"; do cat "$0"/* >/dev/null; done'
    (scratch / "go on").touch()
    line = jobs.command_line(["sh", "-c", script, data, scratch / "go on"], path=data)
    with jobs.started(line) as process:
        try:
            wait_for(lambda: [run for run in look(jobs)["runs"] if run["hits"] > FILES])
            first, second = wait_for(lambda: two_looks(jobs))
            wait_for(lambda: re.search(r"^  hits .*; now 100.0%$", once(jobs), re.M))
            text = once(jobs)
        finally:
            (scratch / "go on").unlink()
        end(process)
    pace = second["per_second"]["opens"]
    assert pace > 0 and pace * 0.4 < second["opens"] - first["opens"]  # in which half a second lies
    assert re.search(r"^  opens    [1-9]\d*/s, of these 0/s filled$", text, re.M)


def values(text):
    """Parses the text by Prometheus's own parser: (metric, labels besides the run) -> value."""
    parser = pytest.importorskip("prometheus_client.parser")
    found = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.type != "unknown" and family.documentation
        for sample in family.samples:
            labels = dict(sample.labels)
            labels.pop("run", None)
            found[sample.name, *labels.values()] = sample.value
    return found


def test_prometheus(jobs, data):
    with standing(jobs, data):
        run, = look(jobs)["runs"]
        found = values(once(jobs, "--prometheus"))
    for name, key in (("opens_total", "opens"), ("hits_total", "hits"), ("fills_total", "fills"),
                      ("cache_bytes_total", "bytes_cache"), ("storage_bytes_total", "bytes_storage")):
        assert found["stoker_" + name,] == run[key] > 0
    assert found["stoker_tier_hits_total", f"/dev/shm/{HOME}"] == FILES
    assert found["stoker_tier_used_bytes", f"/dev/shm/{HOME}"] == run["tiers"][0]["used_bytes"]
    assert found["stoker_not_cached_total", "large"] == 0
    assert found["stoker_storage_wait_seconds_sum",] == pytest.approx(run["storage_wait_s"], abs=1e-5)
    counts = [value for name, value in found.items() if name[0] == "stoker_storage_wait_seconds_bucket"]
    waits = count_waits(run)
    assert counts == sorted(counts) and counts[-1] == waits
    assert found["stoker_storage_wait_seconds_bucket", "+Inf"] == waits
    assert found["stoker_storage_wait_seconds_count",] == waits
    for end_of in range(len(run["storage_waits"]["buckets"])):
        below = run["storage_waits"]["buckets"][:end_of + 1]
        assert found["stoker_storage_wait_seconds_bucket", f"{below[-1]['le_us'] / 1e6:g}"] == \
            sum(bucket["count"] for bucket in below)


def test_prometheus_reads_the_older_names(jobs, data):
    with standing(jobs, data):
        found = values(once(jobs, "--prometheus"))
    reasons = {"changed_recently": "young", "index": "catalogue", "page_cache": "left"}
    for _, name, older in older_names():
        if name.startswith("stoker_"):
            same = {key: value for key, value in found.items() if key[0].startswith(name)}
            assert same
            for key, value in same.items():
                labels = [reasons.get(label, label) for label in key[1:]]
                assert found[key[0].replace(name, older), *labels] == value


def test_no_run_is_no_trouble_to_prometheus(jobs):
    assert values(once(jobs, "--prometheus")) == {}


def test_whatever_a_command_is_called(jobs, data):
    title = 'a "b" \\ c\nd \x1b[31m \xc2\x9b e \udcff ' + "é" * 300
    with standing(jobs, data, title=title):
        text = once(jobs)
        run, = look(jobs)["runs"]
        info, = [name for name in values(once(jobs, "--prometheus"))
                 if name[0] == "stoker_run_info"]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x80-\x9f]", text)
    assert 'a "b" \\ c?d ?[31m' in text
    assert 'a "b" \\ c\nd \x1b[31m' in run["title"]
    assert 'a "b" \\ c?d ?[31m' in info[2]


def test_a_run_whose_stoker_was_killed(jobs, data):
    with standing(jobs, data) as process:
        process.kill()
        process.wait(60)
        assert [run["state"] for run in look(jobs)["runs"]] == ["orphaned"]
        assert ", its stoker was killed: sh -c" in once(jobs)
        process.stdin.close()
        process.stdin = None
        wait_for(lambda: look(jobs)["runs"] == [])


def test_the_environment_alone(jobs, data):
    jobs.preloaded(reading([data / "file0000"], 3), data)
    run, = look(jobs)["runs"]
    assert (run["run"], run["state"], run["opens"], run["hits"]) == ("outside", "outside", 3, 2)
    assert "without `stoker run`, 0:0" in once(jobs)
    assert "3 opens of 1 file" in jobs.stoker("env", "--end").stderr
    assert once(jobs) == NO_RUN + "\n"


def test_two_runs(jobs, data, origin):
    more = origin.files("more", 3, 500)[1]
    with standing(jobs, data) as first, standing(jobs, more) as second:
        told = look(jobs)["runs"]
        assert [run["files"] for run in told] == [FILES, 3]
        text = once(jobs)
        assert text.startswith("stoker top: 2 runs, 1 tier\n")
        assert re.findall(r"of (\d+) opens of (\d+) files", text) == [("24", "12"), ("6", "3")]
        assert f"tier /dev/shm/{HOME} served 15 opens" in text
        end(first)
        assert [run["files"] for run in look(jobs)["runs"]] == [3]
        end(second)
    assert once(jobs) == NO_RUN + "\n"


# ---- it only looks ----

def test_it_writes_nowhere(jobs, data):
    """But to pipes: its stdout, and that by which a child of its own gives it the options of its file. And it takes no
    lock by which it would hide from others what is dead."""
    log = "/dev/shm/strace"
    with standing(jobs, data):
        calls = "trace=%file,ftruncate,fallocate,write,pwrite64,flock,fchmod"
        jobs.place.run(["strace", "-f", "-y", "-o", log, "-e", calls, jobs.build / "stoker", "top",
                        "--once", "--json"])
        text = Path(jobs.place.path(log)).read_text()
    assert f"/dev/shm/{HOME}/runs/" in text
    assert not re.search(r"O_CREAT|O_WRONLY|O_TRUNC|LOCK_EX|\b(unlink|rename|mkdir|ftruncate|fallocate"
                         r"|pwrite64|chmod|fchmod|link|symlink)\w*\(", text)
    assert set(re.findall(r"\bwrite\(\d+<(\w+)", text)) == {"pipe"}


def test_others_see_nothing_of_it(jobs, data, as_root):
    """And can do nothing to it."""
    with standing(jobs, data) as process:
        line = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups",
                jobs.build / "stoker", "top"]
        assert jobs.place.run(line).stdout == NO_RUN + "\n"
        assert json.loads(jobs.place.run([*line, "--json"]).stdout)["tiers"] == []
        assert look(jobs)["runs"][0]["opens"] == 2 * FILES
        end(process)


def test_a_run_of_another_is_not_shown_to_root(jobs, scratch, as_root):
    scratch.chmod(0o755)
    (scratch / "file").write_bytes(bytes(SIZE))
    settle()
    script = 'cat "$0"/file >/dev/null; echo ready; read line'
    line = jobs.command_line(["sh", "-c", script, scratch], path=scratch)
    other = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
    with jobs.started([*other, *line]) as process:
        assert read_line(process) == "ready"
        assert os.path.exists(jobs.place.path(f"/dev/shm/stoker-{OTHER}"))
        assert once(jobs) == NO_RUN + "\n"
        end(process)


# ---- on a terminal ----

class Terminal:
    """`stoker top` in a window of tmux, beside the words of the shell that has started it."""

    def __init__(self, jobs, scratch, columns=80, rows=24):
        self._run = {"env": {"PATH": os.environ["PATH"], "TMUX_TMPDIR": str(scratch),
                             "LANG": "C.UTF-8"}, "check": True, "capture_output": True,
                     "text": True, "timeout": 60}
        top = jobs.place.command([jobs.build / "stoker", "top"], {"TERM": "screen"})
        script = ('exec 2>/dev/null; trap : INT QUIT; stty -g </dev/tty | cksum; echo BEFORE; "$@";'
                  ' echo "left with $?"; stty -g </dev/tty | cksum; exec sleep 300')
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, "sh", "-c",
                  script, "sh", *top)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", *map(str, words)], **self._run).stdout

    def close(self):
        """It may be closed already, with what ran in it."""
        subprocess.run(["tmux", "kill-server"], **{**self._run, "check": False})

    def lines(self):
        """Returns the lines on the screen, without empty ones at its end."""
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def shows(self, pattern):
        """Waits until the screen shows the pattern, and returns all of it. A half-drawn screen does
        not count."""
        def look():
            text = "\n".join(self.lines())
            return text if re.search(pattern, text, re.M) and text == "\n".join(self.lines()) else None
        return wait_for(look)

    def pid(self):
        """Returns the pid of `stoker top`."""
        shell = self.tmux("display", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text())

    def is_as_it_was(self, status):
        """It was left with this status, and is what it was before."""
        text = self.shows(rf"^left with {status}\n\d+ \d+$")
        # On top tmux puts what it had no room for when it was resized.
        modes = re.search(rf"^(\d+ \d+)\nBEFORE\nleft with {status}\n(\d+ \d+)$", text, re.M)
        assert modes and modes[1] == modes[2] != "4294967295 0", text
        modes = self.tmux("display", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}")
        assert modes.split() == ["0", "1", "1"]


@pytest.fixture
def terminal(jobs, scratch):
    if shutil.which("tmux") is None:
        pytest.skip("no tmux")
    opened = []

    def open_one(*size):
        opened.append(Terminal(jobs, scratch, *size))
        return opened[-1]
    yield open_one
    for one in opened:
        one.close()


def test_a_screen_of_one_run_and_two_tiers(jobs, data, scratch, terminal):
    disk = scratch / "disk"
    disk.mkdir()
    with standing(jobs, data, flags=[f"--tier={disk}:50M"], tier="/dev/shm:20M"):
        screen = terminal()
        lines = screen.shows(r"^  bytes ").split("\n")
        run, = look(jobs)["runs"]
        assert lines[0] == "stoker top: 1 run, 2 tiers; q leaves"
        assert len(lines) <= 24 and max(map(len, lines)) <= 80
        assert re.fullmatch(r"run \d+, 0:00:\d\d: sh -c cat .*\.\.\.", lines[2]) and len(lines[2]) == 80
        assert f"  hits     50.0% of {2 * FILES} opens of {FILES} files" in lines
        assert "  opens    0/s, of these 0/s filled" in lines
        said, = [line for line in lines if line.startswith("  storage  ")]
        median, last = (run["origin_waits"][name] for name in ("p50_us", "p99_us"))
        texts = [f"{us} us" if us < 1000 else f"{us / 1000:.1f} ms" for us in (median, last)]
        assert said == (f"  storage  p50 {texts[0]}, p99 {texts[1]} of {count_waits(run)} waits; "
                        "now 0.0 waiting")
        assert f"  opened   for the first, second, ... time: {FILES}, {FILES}" in lines
        tier, = (line for line in lines if line.startswith(f"tier /dev/shm/{HOME} "))
        assert re.fullmatch(rf"tier \S+ served {FILES} opens(; set aside [\d.]+ \wiB)?", tier)
        assert f"tier {disk}/{HOME} served 0 opens"[:77] in "\n".join(lines)
        assert len([line for line in lines if re.match(r"  \[[= -]{26}\] .* of (20|50)\.0 MiB", line)]) == 2


def test_what_is_left_out_of_a_small_one_is_said(jobs, data, terminal):
    with standing(jobs, data), standing(jobs, data), standing(jobs, data):
        screen = terminal()
        lines = screen.shows("now 0.0 waiting").split("\n")
        assert lines[0] == "stoker top: 3 runs, 1 tier, in short for want of rows; q leaves"
        assert len([line for line in lines if line.startswith("run ")]) == 3
        screen.tmux("resize-window", "-x", 50, "-y", 7)
        lines = screen.shows("left out for want of rows: 2 runs, 1 tier$").split("\n")
        assert len(lines) <= 7 and max(map(len, lines)) <= 50
        assert len([line for line in lines if line.startswith("run ")]) == 1
        screen.tmux("resize-window", "-x", 100, "-y", 60)
        lines = screen.shows("^stoker top: 3 runs, 1 tier; q leaves$").split("\n")
        assert len([line for line in lines if line.startswith("  bytes ")]) == 3
        screen.tmux("send-keys", "xyz q")
        screen.is_as_it_was(0)


@pytest.mark.parametrize("how, status", [("C-c", 0), ("C-z q", 0), ("C-\\", 131), ("TERM", 143)])
def test_however_it_is_left_the_terminal_is_as_it_was(jobs, data, terminal, how, status):
    screen = terminal()
    assert screen.shows("^no run lives").split("\n") == [NO_RUN + "; q leaves"]
    if how == "TERM":
        os.kill(screen.pid(), 15)
    else:
        screen.tmux("send-keys", *how.split())
    screen.is_as_it_was(status)


def test_a_run_that_ends_while_it_looks(jobs, data, terminal):
    """Nothing of it is kept; what was seen last stays to be seen, until another begins."""
    with standing(jobs, data) as process:
        screen = terminal()
        screen.shows("^stoker top: 1 run, 1 tier")
        end(process)
    text = screen.shows(", ended: sh -c")
    assert text.startswith("no run lives: ")
    assert os.listdir(jobs.place.path("/dev/shm")) == []
    assert "/stoker-" not in Path(f"/proc/{screen.pid()}/maps").read_text()
    with standing(jobs, data):
        text = screen.shows("^stoker top: 1 run, 1 tier")
        assert "ended" not in text
        screen.tmux("send-keys", "q")
        screen.is_as_it_was(0)


def test_where_there_is_no_terminal_to_draw_on_it_looks_once(jobs, scratch):
    line = ["script", "-qec", f"{jobs.build}/stoker top", f"{scratch}/typescript"]
    for env in ({"TERM": "dumb"}, {}):
        assert jobs.place.run(line, env=env).stdout.splitlines() == [NO_RUN]


@contextlib.contextmanager
def training(jobs, data):
    """A run that trains, and has done with three epochs."""
    program = [sys.executable, PROGRAMS / "passes.py", data, "1000", "1", "2", "0.01"]
    with jobs.started(jobs.command_line(program, path=data)) as process:
        try:
            for _ in range(3):
                read_line(process, 120)
            yield process
        finally:
            process.stdout.close()  # which ends the job after its next epoch


def given_meanwhile(jobs):
    """Returns a look at the only run at a moment when workers did not just begin; else None."""
    run, = look(jobs)["runs"]
    return run if run["per_second"]["samples"] > 0 else None


@pytest.mark.torch
def test_epochs_as_they_pass(jobs, data, terminal):
    with training(jobs, data):
        text = terminal().shows(r"^  loader   [1-9](.*\n)*  epochs   .*, \d+: \d+/s$")
        lines = text.split("\n")
        assert len(lines) <= 24 and max(map(len, lines)) <= 80
        number, = re.findall(r"^  epoch (\d+) +\[=* *\] \d of 6 batches, \d+ samples$", text, re.M)
        assert re.search(rf"^  epochs   .*\b{number}: \d+/s$", text, re.M)
        assert re.search(r"^  loader   [1-9]\d* samples/s, [\d.]+ batches/s; waits \d+% of the time, "
                         "2 workers$", text, re.M)
        run = wait_for(lambda: given_meanwhile(jobs))
        done = [one for one in run["passes"] if one["pass"] < len(run["passes"])]
        assert len(done) >= 3 and all(one["samples"] == FILES for one in done)
        assert run["epochs_by"] == "passes"
        assert 0 < run["waiting_for_batches"] <= 1


@pytest.mark.torch
def test_epochs_beyond_those_that_are_counted_one_by_one(jobs, data, scratch):
    """All epochs are counted, by their numbers, while the run stands still behind the last and afterwards. The sum of several
    is not one long epoch."""
    program = (f"import sys; sys.argv = ['', {str(data)!r}, '34', '1', '1']; sys.path[:0] = ["
               f"{str(PROGRAMS)!r}]; import passes; passes.main(); print('done', flush=True); input()")
    line = jobs.command_line([sys.executable, "-c", program], path=data, flags=[f"--json={scratch}/summary"])
    with jobs.started(line, env={"XDG_STATE_HOME": scratch}) as process:
        while read_line(process, 120) != "done":
            pass
        text = once(jobs)
        assert values(once(jobs, "--prometheus"))["stoker_loader_passes",] == 34
        said = process.communicate("go\n", timeout=60)[1]
    assert re.search(r"^  epoch 34 \[=+\] 6 of 6 batches, 12 samples$", text, re.M), text
    assert re.search(r"^  epochs   29: \d+/s, 30: \d+/s, 31: \d+/s, 32 on: \d+/s$", text, re.M), text
    assert re.search(rf"^  epochs 2-34: {33 * FILES} samples in ", said, re.M)
    summary = json.loads((scratch / "summary").read_text())
    assert summary["compared"]["epochs"] == 34
    recorded = json.loads(jobs.stoker("report", "--json", env={"XDG_STATE_HOME": scratch}).stdout)
    assert len(recorded["passes"]) == 32 and recorded["passes"][-1]["samples"] == 3 * FILES
    lasted = sum(summary["compared"][part]["seconds"] for part in ("first", "later"))
    assert recorded["report"]["idle_s"] <= lasted + 0.01  # of one worker
