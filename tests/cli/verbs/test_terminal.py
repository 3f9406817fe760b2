"""Any user may have made a file's name: a terminal gets no command from it, whichever verb prints it."""

import json
import os
import pty
import re
import subprocess

import pytest

import hang
from jobs import HOME
from origin import settle

EVIL = os.fsdecode(b"a\x1b]0;title\x07\x1b[31m\r\x9b2J\xc2\x9b1m\x7f\x01 \xff\xc3\xa9z")
SEEN = "a?]0;title??[31m??2J?1m?? ?\u00e9z"


@pytest.fixture
def data(scratch):
    """A data set whose name has control characters and a line's end, with a file of that name in it."""
    path = scratch / (EVIL + "\nx")
    path.mkdir()
    (path / EVIL).write_bytes(b"content")
    settle()
    return path


@pytest.fixture
def disk(scratch):
    path = scratch / ("disk" + EVIL)
    path.mkdir()
    return path


@pytest.fixture
def stoker(jobs, state):
    """Runs the command, checks every byte of its output, and returns that. (Text would hide line ends.)"""
    def run(*arguments, status=0, **env):
        line = jobs.place.command([jobs.build / "stoker", *arguments],
                                  {"STOKER_MIN_AGE": "0.05", **state, **env})
        done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=hang.patience(60))
        assert done.returncode == status, done.stdout
        said = done.stdout.decode("utf-8")
        assert not re.search("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f]", said), repr(said)
        return said
    return run


def run(stoker, data, disk, *flags):
    return stoker("run", f"--path={data}", f"--tier={disk}:64M", *flags, "--", "cat", data / EVIL)


def test_a_run_and_what_it_leaves(stoker, data, disk):
    said = run(stoker, data, disk)
    assert SEEN in said
    listed = stoker("ls")
    assert f"disk{SEEN}/{HOME}: " in listed and f"{SEEN}?x\n" in listed
    assert f"disk{SEEN}/{HOME}: " in stoker("ls", "--tier", disk)
    assert SEEN in stoker("last") and SEEN in stoker("report", "--list")


def test_two_tiers(stoker, data, disk):
    """The summary names each tier."""
    assert f"disk{SEEN}/{HOME}" in run(stoker, data, disk, "--tier=/dev/shm:8M")


def test_a_tier_that_is_full(stoker, data, disk):
    (data / "big").write_bytes(bytes(3 << 20))
    settle()
    script = 'cat "$0"/* "$0"/* >/dev/null'
    assert SEEN in stoker("run", f"--path={data}", f"--tier={disk}:1M", "--", "sh", "-c", script, data)


def test_verify(stoker, data, disk):
    run(stoker, data, disk)
    entry, = (path for path in (disk / HOME / "tree").rglob("*") if path.is_file() and
              path.read_bytes()[:7] == b"content")
    entry.chmod(0o600)
    stamps = entry.stat()
    with open(entry, "r+b") as file:
        file.write(b"CONTENT")
    os.utime(entry, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    entry.chmod(0o400)
    assert f"{SEEN}?x/{SEEN}: the copy differs" in stoker("verify", status=1)


def test_clear(stoker, data, disk):
    run(stoker, data, disk)
    assert "removed 1 cached file of" in stoker("clear", data)
    assert SEEN in stoker("clear", data)


def test_warm_and_top(stoker, data, disk):
    assert SEEN in stoker("warm", data, "--tier", f"{disk}:64M")
    stoker("top", "--once")
    told = json.loads(stoker("top", "--once", "--json"))
    assert SEEN not in json.dumps(told)
    stoker("top", "--prometheus")
    stoker("clear")


def test_doctor(stoker, data):
    assert SEEN in stoker("doctor", data, "--", EVIL, status=1)
    found = json.loads(stoker("doctor", "--json", data, "--", EVIL, status=1))
    assert any(EVIL[:5] in each["text"] for each in found)


@pytest.mark.parametrize("words", [
    ["ls", EVIL], ["ls", "--tier", EVIL], ["clear", EVIL], ["clear", "--" + EVIL],
    ["report", EVIL], ["last", EVIL], ["top", EVIL],
    ["verify", "--" + EVIL], ["verify", f"--json=/none/{EVIL}"], ["warm", f"/none/{EVIL}"], ["env", f"--{EVIL}"],
    ["run", f"--share={EVIL}", "--path=/usr", "--", "true"], ["run", f"--path={EVIL}", "--", "true"],
    ["run", "--tier", EVIL, "--path=/usr", "--", "true"], ["help", EVIL], [EVIL],
    ["doctor", "--" + EVIL], ["run", f"--warm={EVIL}", "--path=/usr", "--", "true"],
    ["run", f"--fresh={EVIL}", "--path=/usr", "--", "true"]], ids=lambda words: words[0])
def test_errors(stoker, words):
    assert "?" in stoker(*words, status=2)


def test_a_command_that_is_not_there(stoker, data):
    assert SEEN in stoker("run", f"--path={data}", "--", EVIL, status=127)


def test_env(jobs, data):
    """A shell gets the name to the letter, a terminal does not."""
    line = jobs.place.command([jobs.build / "stoker", "env", f"--path={data}"])
    master, slave = pty.openpty()
    for out in (slave, subprocess.PIPE):
        done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                              timeout=hang.patience(60))
        assert done.returncode == 0
    assert os.fsencode(data) in done.stdout
    os.close(slave)
    said = os.read(master, 1 << 16)
    os.close(master)
    assert SEEN.encode() in said and b"\x1b" not in said and b"\x9b" not in said
