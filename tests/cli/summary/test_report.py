"""The record that a run leaves behind, and the page that `stoker report` makes of it."""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import browser
import slowfs
from isolated import Isolated
from jobs import Jobs, read_line, wait_for
from origin import settle

HERE = pathlib.Path(__file__).parent
ALONE = {"meta", "br", "img", "link", "input", "hr"}  # tags that have no end


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("report", 4, 1000)[1]


@pytest.fixture
def runs(state):
    return state["XDG_STATE_HOME"] / "stoker/runs"


@pytest.fixture
def report(jobs, state):
    def ask(*arguments, **more):
        return jobs.stoker("report", *arguments, env=state, **more)
    return ask


def files_of(data):
    return sorted(data / name for name in os.listdir(data))


class Page(HTMLParser):
    """Its text, its tags and their attributes; fails when one is not closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self._texts, self._open = "", [], [], []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ALONE:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, text):
        self.text += text if self._open[-1:] not in (["style"], ["script"]) else ""

        self._texts.append((self._open[-1:], text))

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]

    def under(self, name):
        """The texts directly below the tags of that name."""
        return [text for within, text in self._texts if within == [name]]


# ---- a job that trains ----

@pytest.fixture(scope="module")
def trained(session_origin, session_scratch, build, programs):
    """A run with a DataLoader: what --json says of it, its record as JSON, and its page."""
    if Isolated.obstacle():
        pytest.skip(Isolated.obstacle())
    mount = session_origin.files("trained", 40, 20000)[1]
    state = {"XDG_STATE_HOME": session_scratch / "trained"}
    session_origin.fs.latency_ms = 4
    with Isolated() as place:
        jobs = Jobs(place, build, session_scratch)
        ran = jobs.run([sys.executable, programs / "passes.py", mount, 3, 1, 2, 0.01], path=mount,
                       env={**state, "STOKER_AHEAD": "off"})
        recorded = jobs.stoker("report", "--json", env=state)
        page = jobs.stoker("report", "-o", "-", env=state)
    session_origin.fs.latency_ms = 0
    assert (recorded.stderr, page.stderr) == ("", "")
    return ran.json, json.loads(recorded.stdout), page.stdout


def rows_of(recorded):
    """The series: a dictionary for each moment, after one for the start."""
    columns = recorded["series"]["columns"]
    rows = [dict(zip(columns, row)) for row in recorded["series"]["rows"]]
    return [dict.fromkeys(columns, 0), *rows]


@pytest.mark.torch
def test_the_record_is_what_the_run_said(trained):
    told, recorded, _ = trained
    assert {name: recorded[name] for name in told} == told
    assert recorded["run"]["ended"] is True and told["passes"]
    last = rows_of(recorded)[-1]
    for name in ("opens", "hits", "bytes_cache", "bytes_origin"):
        assert last[name] == told[name] > 0
    assert last["samples"] == sum(one["samples"] for one in told["passes"]) == 3 * 40
    assert abs(last["origin_s"] - told["origin_wait_s"]) < 0.001
    assert abs(last["seconds"] - told["seconds"]) < 0.01


@pytest.mark.torch
def test_the_series_only_grows(trained):
    rows = rows_of(trained[1])
    assert len(rows) > 5
    for before, after in zip(rows, rows[1:]):
        assert after["seconds"] > before["seconds"]
        assert all(after[name] >= before[name] for name in after)


def record_in(text):
    """The record that lies in a page. No byte of it ends the element that it lies in."""
    found, = re.findall('<script type="application/json" id="record">(.*?)</script>', text, re.S)
    assert "<" not in found
    return json.loads(found)


def assert_self_contained(text):
    """The file holds two scripts, the record and the one that draws it, and names nothing that a browser would load."""
    page = Page(text)
    own = text.replace("http://www.w3.org/2000/svg", "")  # the name of SVG's elements
    assert not re.search(r"https?:|//\w", re.sub('<script type="application/json".*?</script>', "", own, flags=re.S))
    assert "@import" not in text and "url(" not in text
    assert len(page.all("script")) == 2 and not page.all("link") and not page.all("img")
    policy, = (one["content"] for one in page.all("meta") if "http-equiv" in one)
    assert policy.startswith("default-src 'none';")
    record_in(text)


@pytest.fixture(scope="module")
def chromium(session_scratch):
    if browser.find() is None:
        pytest.skip("no Chromium here: no browser has looked at the page")
    (session_scratch / "chromium").mkdir()
    with browser.Browser(session_scratch / "chromium") as started:
        yield started


@pytest.fixture(scope="module")
def drawn(chromium):
    """Returns a page as a browser shows it, which must be whole and must have loaded nothing."""
    @functools.cache
    def draw(text):
        assert_self_contained(text)
        page = Page(chromium.rendered(text))
        assert not page.all("img") and not page.all("a") and not page.all("noscript")
        assert not any("src" in one or "url" in one.get("style", "") for _, one in page.tags)
        names = [one["id"] for _, one in page.tags if "id" in one]
        assert len(names) == len(set(names)) and "next" in names
        return page
    return draw


@pytest.mark.torch
def test_the_page_is_whole_and_needs_nothing(trained, drawn):
    page = drawn(trained[2])
    assert trained[2].startswith("<!doctype html>") and record_in(trained[2]) == trained[1]
    headings = ["What to change next", "Over time", "Epochs compared", "Where the time went",
                "How long storage took", "What was not cached, and why"]
    assert page.under("h2")[:len(headings)] == headings
    for drawing in page.all("svg"):
        assert drawing["role"] == "img"
    ids = {one.get("id") for _, one in page.tags}
    labels = [one["aria-labelledby"] for _, one in page.tags if "aria-labelledby" in one]
    assert len(labels) == 4 and all(set(label.split()) <= ids for label in labels)
    assert len(page.all("details")) >= 4


@pytest.mark.torch
def test_ranks_stand_side_by_side(trained, drawn):
    """The record is one of a single process, to which ranks are given."""
    ranks = [{"rank": rank, "seconds": 20.0, "waited_s": waited, "samples": 40, "batches": 5, "opens": 40, "hits": 20}
             for rank, waited in ((0, 0.5), (7, 12.0))]
    record = json.dumps({**trained[1], "ranks": ranks}).replace("<", "\\u003c")
    page = drawn(re.sub('(id="record">).*?(</script>)', lambda found: found[1] + record + found[2], trained[2], flags=re.S))
    assert "Ranks compared" in page.under("h2") and "Ranks compared" not in drawn(trained[2]).under("h2")
    assert "20.0 s, of which 12.0 s waiting; 40 samples" in page.text


@pytest.mark.torch
def test_the_advice_stands_in_the_page(trained, drawn):
    text = " ".join(drawn(trained[2]).text.split())
    advice = trained[0]["advice"].replace("`", "")
    assert advice and advice[1:] in text


# ---- what is hostile ----

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "&lt;b&gt;", "'\"`",
           "\x1b[2J\x07", "caf\u00e9 \u202egnp.exe", b"\xff\xfe\xc0\xaf", "</code></main>"]


def test_hostile_words_are_text(jobs, report, drawn, origin, state):
    source, _ = origin.directory("hostile")
    inner = origin.mount / source.name / "<img src=x>&\"'"
    (source / inner.name).mkdir()
    (source / inner.name / "file").write_text("x")
    settle()
    words = [word if isinstance(word, str) else os.fsdecode(word) for word in HOSTILE]
    jobs.run(["sh", "-c", 'cat "$0"/*', inner, *words], path=inner, env=state)
    page = drawn(report("-o", "-").stdout)
    for word in ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "&lt;b&gt;",
                 "</code></main>", str(inner)):
        assert word in page.text
    assert "\x1b" not in page.text and "\x07" not in page.text and "\ufffd" in page.text
    listed = report("--list").stdout
    assert listed.count("\n") == 1 and listed.isprintable() is False
    assert "\x1b" not in listed and "\x07" not in listed and "<script>" in listed


def test_a_long_command_is_cut_between_characters(jobs, report, drawn, data, state):
    for before in "x", "xx":
        jobs.run(["true", before + 3000 * "\U0001f600"], path=data, env=state)
        page = drawn(report("-o", "-").stdout)
        assert 1900 * "\U0001f600" in page.text and 2100 * "\U0001f600" not in page.text
        assert "\ufffd" not in page.text


def test_a_record_of_strange_words_is_json(jobs, report, data, state):
    words = ["true", '"', "\\", "\n", "\x01", "\u00e9\U0001f600"]
    odd = [b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xc3"]  # no UTF-8
    jobs.run([*words, *map(os.fsdecode, odd)], path=data, env=state)
    words += [word.decode("latin-1") for word in odd]
    assert json.loads(report("--json").stdout)["command"] == words


# ---- which records there are ----

def test_each_run_leaves_one_and_the_newest_is_meant(jobs, report, data, state):
    for word in ("one", "two", "three"):
        jobs.run(["cat", data / "file0000", "/dev/null"], path=data, env=state, stdin=None)
        jobs.run(["true", word], path=data, env=state)
    names = [line.split()[0] for line in report("--list").stdout.splitlines()]
    assert len(names) == len(set(names)) == 6
    assert json.loads(report("--json").stdout)["command"][1] == "three"
    assert json.loads(report("--json", names[2]).stdout)["command"][1] == "two"
    assert json.loads(report("--json", names[1]).stdout)["opens"] == 1


def test_the_newest_twenty_are_kept(jobs, report, data, state, runs):
    jobs.run(["true", "first"], path=data, env=state)
    first, = runs.iterdir()
    for number in range(25):
        copy = runs / f"{'.' if number % 5 == 0 else ''}copy-{number}"
        copy.write_bytes(first.read_bytes())
        os.utime(copy, (1000 + number, 1000 + number))
    jobs.run(["true", "last"], path=data, env=state)
    kept = {path.name for path in runs.iterdir()}
    assert first.name in kept and len([name for name in kept if name[0] != "."]) == 20
    assert {"copy-24", "copy-4", "copy-3"} <= kept and not {"copy-1", "copy-2", ".copy-0"} & kept
    assert json.loads(report("--json").stdout)["command"][1] == "last"
    assert len(report("--list").stdout.splitlines()) == 20


def test_two_runs_at_once(jobs, report, data, state):
    line = jobs.command_line(["sh", "-c", 'cat "$0"/* >/dev/null; echo ready; read line', data], path=data)
    with jobs.started(line, state) as one, jobs.started(line, state) as other:
        for process in (one, other):
            assert read_line(process) == "ready"
        for process in (one, other):
            process.communicate("\n", timeout=60)
            assert process.returncode == 0
    names = [line.split()[0] for line in report("--list").stdout.splitlines()]
    assert len(set(names)) == 2
    assert [json.loads(report("--json", name).stdout)["opens"] for name in names] == [4, 4]


def test_a_killed_run_has_a_report(jobs, report, drawn, data, state, runs):
    """As far as it was written when `stoker run` was killed."""
    script = 'for file in "$0"/*; do cmp -s "$file" "$file"; done; echo ready; read line'
    line = jobs.command_line(["sh", "-c", script, data], path=data)
    with jobs.started(line, state) as process:
        assert read_line(process) == "ready"
        wait_for(lambda: runs.is_dir() and any(one.name[0] != "." for one in runs.iterdir()))
        # On a busy machine it was first written before all was read.
        wait_for(lambda: json.loads(report("--json").stdout)["files"] == 4)
        process.kill()
        process.communicate()
    told = json.loads(report("--json").stdout)
    assert told["run"]["ended"] is False and told["files"] == 4
    assert told["series"]["rows"][-1][1] == told["opens"]
    assert "not ended at" in report("--list").stdout
    assert "had not ended when this was written" in drawn(report("-o", "-").stdout).text


def test_nothing_is_recorded_where_that_is_not_wanted(jobs, report, data, state, runs):
    reads, sizes = ["sh", "-c", 'cat "$0"/* >/dev/null', data], runs.with_name("sizes")
    jobs.run(reads, path=data, env=state, flags=["--no-history"])
    jobs.run(reads, path=data, env={**state, "STOKER_HISTORY": "off"})
    assert not runs.exists() and not sizes.exists()
    assert "no run has left a record yet" in report("--list").stderr
    assert report().returncode == 2
    assert jobs.run(["true"], path=data, env={**state, "STOKER_HISTORY": "no"},
                    check=False).status == 2
    jobs.run(reads, path=data, env=state)
    assert runs.exists() and sizes.exists()


# ---- where it cannot be written, or is not ours ----

def test_a_full_home_is_said_once(jobs, data, scratch):
    (scratch / "full/stoker/runs").mkdir(parents=True)
    jobs.place.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "full", scratch / "full"])
    jobs.place.run(["mkdir", "-p", scratch / "full/stoker/runs"])
    jobs.place.run(["sh", "-c", 'head -c 4096 /dev/zero >"$0"', scratch / "full/filler"])
    ran = jobs.run(["cat", data / "file0000"], path=data, env={"XDG_STATE_HOME": scratch / "full"})
    assert ran.said.count("no record of this run was kept") == 1 and "No space left" in ran.said
    assert jobs.place.run(["ls", "-A", scratch / "full/stoker/runs"]).stdout == ""


@pytest.fixture
def slow_home(scratch, build):
    """To be asked for before `jobs`, whose place knows what was mounted until then."""
    (scratch / "home").mkdir()
    with slowfs.SlowFS(scratch / "home", binary=str(build / "slowfs")) as fs:
        yield fs
        fs.latency_ms = 0


def test_a_home_that_hangs_holds_up_neither_the_start_nor_the_end(slow_home, jobs, data, scratch):
    """It goes on to hang until the run has ended; what is cached in memory is removed all the same."""
    (scratch / "disk").mkdir()
    with slow_home.faults(hang_ns=600 * 10**9):
        for tier, said in (f"{scratch}/disk:64M", "caches that were named by --tier are not remembered"), (
                None, "no record of this run was kept"):
            ran = jobs.run(["cat", data / "file0000"], path=data, tier=tier, timeout=60,
                           env={"XDG_STATE_HOME": slow_home.mountpoint})
            assert ran.opens == 1 and said in ran.said and ran.said.count("does not answer") <= 2
        assert "nothing is cached" not in jobs.stoker("ls", "--tier", scratch / "disk").stdout


def test_a_home_that_does_not_answer_holds_up_nobody(slow_home, jobs, data):
    """As one on a server that is busy, which a job that writes nothing there does not notice."""
    state = {"XDG_STATE_HOME": slow_home.mountpoint}
    jobs.run(["true"], path=data, env=state)
    assert len(os.listdir(f"{slow_home.source}/stoker/runs")) == 1
    line = jobs.command_line(["sh", "-c", "echo ready; read line"], path=data)
    with jobs.started(line, state) as process:
        assert read_line(process) == "ready"
        slow_home.latency_ms = 1500
        said = process.communicate("\n", timeout=60)[1]
    assert process.returncode == 0 and "was kept" in said and "does not answer" in said


def test_a_home_that_is_none_is_not_told_of(jobs, data, scratch):
    for env in ({"XDG_STATE_HOME": "/dev/null"}, {"XDG_STATE_HOME": "", "HOME": "/nonexistent"},
                {"XDG_STATE_HOME": "/proc/none"}):
        ran = jobs.run(["cat", data / "file0000"], path=data, env=env)
        assert "record" not in ran.stderr


def test_a_record_that_cannot_be_read_is_not_the_latest(jobs, report, data, state, runs):
    """As one that another version wrote, or that was cut."""
    jobs.run(["cat", data / "file0000"], path=data, env=state)
    name, = os.listdir(runs)
    (runs / "20991231-235959-vm-1").write_text("stoker-record 99 1\n")
    assert json.loads(report("--json").stdout)["run"]["name"] == name
    assert "(cannot be read)" in report("--list").stdout
    assert "no record that can be read of a run 2099" in report("20991231-235959-vm-1").stderr


def test_a_directory_of_another_user_is_left_alone(jobs, report, data, state, runs, as_root):
    jobs.run(["true"], path=data, env=state)
    os.chown(runs, 65534, 65534)
    ran = jobs.run(["true"], path=data, env=state)
    assert ran.said.count("no record of this run was kept") == 1
    assert len(list(runs.iterdir())) == 1
    assert "another user" in report("--list").stderr and report().returncode == 2
    os.chown(runs, 0, 0)
    record, = runs.iterdir()
    os.chown(record, 65534, 65534)
    assert "no run has left a record" in report("--list").stderr
    assert report(record.name).returncode == 2


def test_a_directory_that_others_may_write_to_is_left_alone(jobs, data, state, runs):
    jobs.run(["true"], path=data, env=state)
    assert runs.stat().st_mode & 0o777 == 0o700
    assert {one.stat().st_mode & 0o777 for one in runs.iterdir()} == {0o600}
    runs.chmod(0o777)
    assert "no record of this run was kept" in jobs.run(["true"], path=data, env=state).said


def test_nothing_is_made_in_the_home_of_another_user(jobs, data, scratch, as_root):
    """As after `sudo`, which keeps HOME in some setups; see test_state.py."""
    home = scratch / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    ran = jobs.run(["true"], path=data, env={"XDG_STATE_HOME": "", "HOME": home})
    assert list(home.iterdir()) == [] and ran.said.count("another user") == 1


def test_what_is_no_record_is_refused(jobs, report, data, state, runs):
    jobs.run(["true"], path=data, env=state)
    record, = runs.iterdir()
    whole = record.read_bytes()
    cases = [b"", b"x", whole[:100], whole[:-1], b"stoker-record 1 1 1 1\nabc",
             b"stoker-record 2 1 1 99999999999999999999\nabc", b"stoker-record 2 1 1 1\nab"]
    for case in cases:
        record.write_bytes(case)
        done = report("-o", "-")
        assert done.returncode == 2 and done.stdout == "" and "no record" in done.stderr, case
    assert report("--list").returncode == 0
    for name in ("../runs/" + record.name, ".hidden", "none", "/etc/passwd", ""):
        assert report("--json", name).returncode == 2


# ---- where the page goes ----

def test_where_the_page_goes(jobs, report, data, state, scratch, runs):
    jobs.run(["true"], path=data, env=state)
    name = next(runs.iterdir()).name
    line = ["env", "-C", scratch, jobs.build / "stoker", "report"]
    done = jobs.place.run(line, env=state)
    assert f"stoker-report-{name}.html" in done.stderr and done.stdout == ""
    page = (scratch / f"stoker-report-{name}.html").read_text()
    assert page == report("-o", "-").stdout
    assert report("-o", scratch / "x.html").returncode == 0
    assert (scratch / "x.html").read_text() == page
    (scratch / f"stoker-report-{name}.html").unlink()
    (scratch / "target").write_text("mine")
    (scratch / f"stoker-report-{name}.html").symlink_to("target")
    assert jobs.place.run(line, env=state, check=False).returncode == 2
    assert (scratch / "target").read_text() == "mine"
    assert "-o FILE" in report("-o", "/nowhere/x").stderr
    assert "could not be written" in jobs.place.run(
        ["sh", "-c", '"$0" report -o - >/dev/full', jobs.build / "stoker"], env=state,
        check=False).stderr


def test_a_page_without_a_dataloader(jobs, report, drawn, data, state):
    loop = 'for n in 1 2 3; do cat "$@"; sleep 0.3; done >/dev/null'
    jobs.run(["sh", "-c", loop, "sh", *files_of(data)], path=data, env=state)
    page = drawn(report("-o", "-").stdout)
    assert "Files opened per second" in page.text and "66.7% of the files opened" in page.text
    # These are n-th opens: the job had no epochs.
    assert "epoch" not in page.text.lower()
    assert not any(one.get("class") == "mark" for one in page.all("path"))
    jobs.run(["true"], path=data, env=state)
    page = drawn(report("-o", "-").stdout)
    assert "No file below --path was opened" in page.text


def test_a_short_run_has_no_curve(jobs, report, drawn, data, state):
    """Its one or two moments would be drawn as a rectangle; the table has them."""
    jobs.run(["cat", *files_of(data)], path=data, env=state)
    page = drawn(report("-o", "-").stdout)
    assert len(json.loads(report("--json").stdout)["series"]["rows"]) < 3
    assert "too short for a curve" in page.text and "Files opened per second" not in page.text
    assert "Over time" in page.under("h2") and "Opens per s" in page.text
    ids = {one.get("id") for _, one in page.tags}
    assert ids & {"speed", "hits", "bytes"} == set()


def test_a_page_of_big_files(jobs, report, drawn, origin, state):
    """One open serves many reads, so opens show nothing."""
    source, mount = origin.directory("big")
    (source / "file").write_bytes(os.urandom(3 << 20))
    settle()
    jobs.run(["sh", "-c", 'for i in 1 2; do dd if="$0" bs=64k of=/dev/null; sleep 0.4; done', mount / "file"], path=mount,
             env={**state, "STOKER_MAX_FILE": "1M", "STOKER_COMPLETE": "off"})
    told = json.loads(report("--json").stdout)
    page = drawn(report("-o", "-").stdout)
    cache, by_blocks = told["bytes_cache"], told["blocks"]
    cache += by_blocks["bytes_cache"]
    share = 100 * cache / (cache + told["bytes_origin"] + by_blocks["bytes_origin"])
    assert f"{share:.1f}% of the bytes read came from the cache" in page.text
    assert "Reads per second" in page.text and "0% of the files" not in page.text
    assert f"Reads from the cache{by_blocks['reads']}of big files" in page.text
    assert "hits" not in {one.get("id") for _, one in page.tags}


def test_what_was_bypassed_stands_in_the_page(jobs, report, drawn, data, state):
    jobs.run(["cat", *files_of(data)], path=data,
             env={**state, "STOKER_MAX_FILE": "500", "STOKER_BLOCK": "0"})
    page = drawn(report("-o", "-").stdout)
    cells = page.under("td")
    at = cells.index("above STOKER_MAX_FILE")
    assert cells[at + 1] == "4" and "a larger STOKER_MAX_FILE" in cells[at + 3]
    assert "large" in {one.get("data-why") for one in page.all("tr")}


def test_what_is_opened_again_and_never_remembered_is_at_most_so_large(jobs, report, drawn, data, state):
    """Opens of a file that is too new are not counted by file."""
    files = files_of(data)
    ran = jobs.run(["cat", *files, *files], path=data, env={**state, "STOKER_MIN_AGE": "1000000000"})
    size = 2 * sum(path.stat().st_size for path in files)
    assert ran.json["bypassed_bytes"] == {"young": size}
    assert f"not cached: {2 * len(files)} changed recently, at most {size / 1024:.1f} KiB (changed" in ran.said
    cells = drawn(report("-o", "-").stdout).under("td")
    assert cells[cells.index(f"at most {size / 1024:.1f} KiB") - 1] == str(2 * len(files))


@pytest.mark.torch
def test_what_reads_past_the_cache_comes_first(jobs, report, origin, programs, state):
    """Workers' own reads of the origin look like their own work."""
    mount = origin.files("past", 20, 20000)[1]
    origin.fs.latency_ms = 4
    ran = jobs.run([sys.executable, programs / "passes.py", mount, 2, 1, 1], path=mount,
                   env={**state, "STOKER_MAX_FILE": "5000", "STOKER_BLOCK": "0"})
    advice = json.loads(report("--json").stdout)["advice"]
    assert advice == ran.advice
    assert re.match(r"\d+ opens \(files of 391 KiB\) were not cached, above STOKER_MAX_FILE: "
                    "what would change it is STOKER_BLOCK above 0, .*", advice), advice


# ---- runs of days ----

@pytest.fixture(scope="module")
def series(session_scratch, repository, build):
    binary, objects = session_scratch / "series", build / "obj"
    parts = [HERE / "programs/series.c", objects / "cli/report/series.o", *sorted((objects / "cli/out").glob("*.o")),
             *sorted((objects / "base").glob("*.o"))]
    subprocess.run(["cc", "-D_GNU_SOURCE", f"-I{repository}", *parts, "-o", binary], check=True)

    def ask(seconds):
        return json.loads(subprocess.run([binary, str(seconds)], check=True, text=True,
                                         capture_output=True).stdout)["series"]["rows"]
    return ask


@pytest.mark.parametrize("seconds", [1, 47, 48, 49, 1000, 300000])
def test_a_long_run_has_no_more_moments(series, seconds):
    rows = series(seconds)
    assert min(5 * seconds, 110) <= len(rows) <= 240
    assert rows[-1][:2] == [seconds, 5 * seconds]
    steps = [after[0] - before[0] for before, after in zip(rows, rows[1:-1])]
    assert all(abs(step - steps[0]) < 0.001 for step in steps)
    for at, opens, *_ in rows:
        assert abs(at * 5 - opens) < 0.01


# ---- in a browser ----

LOOK = """(page, window) => {
    const box = one => { const {left, top, width, height} = one.getBoundingClientRect();
                         return {left, top, width, height}; };
    const behind = one => {
        for (; one; one = one.parentElement) {
            const colour = window.getComputedStyle(one).backgroundColor;
            if (colour !== "rgba(0, 0, 0, 0)") return colour;
        }
    };
    const all = (under, what) => [...under.querySelectorAll(what)];
    return {
        wide: page.documentElement.scrollWidth,
        plots: all(page, "svg[data-top]").map(svg => ({
            id: svg.closest("figure").id, box: box(svg), top: +svg.dataset.top,
            seconds: +svg.dataset.seconds,
            paths: all(svg, "path[data-name]").map(one => ({
                name: one.dataset.name, d: one.getAttribute("d"), box: box(one)})),
            marks: all(svg, "path.mark").map(one => box(one).left),
            columns: all(svg, "rect.block").map(one => ({
                count: +one.dataset.count, box: box(one)}))})),
        bars: all(page, ".bar").map(bar => ({
            name: bar.querySelector("span").textContent, box: box(bar.querySelector("svg")),
            parts: all(bar, "rect").map(one => ({value: +one.dataset.value, box: box(one)}))})),
        texts: all(page, "h1,h2,h3,.about,.note,.kicker,.y span,.x span,th,td,dt,dd,summary,li,code,"
                   + "footer,.value,a").map(one => ({
            text: one.textContent.slice(0, 40), ink: window.getComputedStyle(one).color,
            paper: behind(one)})),
        fills: all(page, ".area,.block").map(one => ({
            text: one.getAttribute("class"), ink: window.getComputedStyle(one).fill,
            paper: behind(one)})),
    };
}"""


@pytest.fixture(scope="module", params=["light", "dark"])
def looked(request, trained, chromium):
    """Returns the browser's report of the page, the width that it had, and whether it was dark."""
    dark = request.param == "dark"
    width = 400 if dark else 1000
    return chromium.look(trained[2], LOOK, width, dark), width, dark


def plot(looked, name):
    found, = (one for one in looked[0]["plots"] if one["id"] == name)
    return found


def steps_of(path, seconds, top):
    """The path back in figures: (from, to, value) for each step of its upper edge."""
    number = r"-?\d+(?:\.\d+)?"
    x, y, steps = 0.0, 200.0, []
    for letter, first, second in re.findall(rf"([MHV])({number})(?: ({number}))?", path["d"]):
        if letter == "V":
            y = float(first)
        elif letter == "M":
            x, y = float(first), float(second)
        elif float(first) > x:
            steps.append((x * seconds / 1000, float(first) * seconds / 1000, top * (1 - y / 200)))
            x = float(first)
    return steps


def grown(rows, name, from_s, to_s):
    """By how much a sum grew meanwhile, which began and ended at two of the moments."""
    at = {moment: min(rows, key=lambda row: abs(row["seconds"] - moment)) for moment in (from_s, to_s)}
    return at[to_s][name] - at[from_s][name]


@pytest.mark.torch
def test_curves_are_the_figures(looked, trained):
    rows = rows_of(trained[1])
    for name, sums in (("speed", ["samples"]), ("bytes", ["bytes_origin", "bytes_cache"])):
        drawn = plot(looked, name)
        assert [path["name"] for path in drawn["paths"]] == sums
        assert abs(drawn["seconds"] - rows[-1]["seconds"]) < 0.001
        for layer, path in enumerate(drawn["paths"], 1):
            steps = steps_of(path, drawn["seconds"], drawn["top"])
            assert steps[0][0] == 0 and abs(steps[-1][1] - drawn["seconds"]) < 0.01
            for from_s, to_s, value in steps:
                more = sum(grown(rows, one, from_s, to_s) for one in sums[:layer])
                assert abs(value - more / (to_s - from_s)) < drawn["top"] / 100
            # Everything is somewhere in it.
            area = sum((to_s - from_s) * value for from_s, to_s, value in steps)
            whole = sum(rows[-1][one] for one in sums[:layer])
            assert abs(area - whole) < 0.01 * drawn["top"] * drawn["seconds"]


@pytest.mark.torch
def test_the_hit_rate_is_the_figures(looked, trained):
    rows = rows_of(trained[1])
    drawn = plot(looked, "hits")
    steps = steps_of(drawn["paths"][0], drawn["seconds"], drawn["top"])
    assert drawn["top"] == 100 and steps
    for from_s, to_s, value in steps:
        opens, hits = (grown(rows, name, from_s, to_s) for name in ("opens", "hits"))
        assert opens > 0 and abs(value - 100 * hits / opens) < 1
    assert sum(grown(rows, "opens", *step[:2]) for step in steps) == rows[-1]["opens"]


@pytest.mark.torch
def test_the_histogram_is_the_figures(looked, trained):
    drawn = plot(looked, "histogram")
    counts = [column["count"] for column in drawn["columns"]]
    buckets = trained[0]["origin_waits"]["buckets"]
    assert [count for count in counts if count] == [bucket["count"] for bucket in buckets]
    for column in drawn["columns"]:
        height = drawn["box"]["height"] * column["count"] / drawn["top"]
        assert abs(column["box"]["height"] - height) < 1
        bottom = column["box"]["top"] + column["box"]["height"]
        assert abs(bottom - drawn["box"]["top"] - drawn["box"]["height"]) < 1


@pytest.mark.torch
def test_bars_are_the_figures(looked, trained):
    told = trained[0]
    bars = {bar["name"]: bar for bar in looked[0]["bars"]}
    epochs = [one for one in told["passes"] if one["loader"] == told["compared"]["loader"]]
    longest = max(one["seconds"] for one in epochs)
    assert len(epochs) == told["compared"]["epochs"]
    for number, epoch in enumerate(epochs, 1):
        bar = bars[f"Epoch {number}"]
        work, wait = bar["parts"]
        assert abs(wait["value"] - epoch["waited_s"]) < 0.001
        assert abs(work["value"] + wait["value"] - epoch["seconds"]) < 0.001
        width = work["box"]["width"] + wait["box"]["width"]
        assert abs(width - bar["box"]["width"] * epoch["seconds"] / longest) < 2
    for name, figure in (("Storage", "origin_s"), ("The job's transforms", "other_s")):
        part, = bars[name]["parts"]
        assert abs(part["value"] - told["time"][figure]) < 0.001
    first, later = bars["In epoch 1"], bars["In later epochs"]
    counted = sum(part["value"] for bar in (first, later) for part in bar["parts"])
    assert abs(counted - told["time"]["fetch_s"]) < 0.2 * told["time"]["fetch_s"]
    assert first["parts"][0]["value"] > later["parts"][0]["value"]  # the origin


@pytest.mark.torch
def test_it_fits_and_is_drawn(looked):
    told, width, _ = looked
    assert told["wide"] <= width
    for drawn in told["plots"]:
        assert drawn["box"]["width"] > 0.7 * width and drawn["box"]["height"] > 100
        for path in drawn["paths"]:
            assert path["box"]["width"] > 0
            assert path["box"]["top"] >= drawn["box"]["top"] - 1
        right = drawn["box"]["left"] + drawn["box"]["width"]
        assert all(drawn["box"]["left"] - 1 <= mark <= right + 1 for mark in drawn["marks"])
    assert len(plot(looked, "speed")["marks"]) == 3


def luminance(colour):
    channels = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one):
    lower, higher = sorted(map(luminance, (one["ink"], one["paper"])))
    return (higher + 0.05) / (lower + 0.05)


@pytest.mark.torch
def test_it_can_be_read_in_light_and_dark(looked):
    told, _, dark = looked
    assert all((luminance(one["paper"]) < 0.05) == dark for one in told["texts"])
    assert [one for one in told["texts"] if contrast(one) < 4.5] == []
    faint = [one for one in told["fills"] if contrast(one) < 3 and "idle" not in one["text"]]
    assert faint == []
