"""Programs that close descriptors that are not theirs: daemons, and os.closerange in the middle of
a run. A fill that is under way then is given up; no wrong entry is published."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

import beneath
import slowfs
from jobs import HOME, wait_for
from matrix import record
from origin import Origin, settle
from slices import ALL

FILES = 60
ROUNDS = 60 if ALL else 8


@pytest.fixture(scope="module")
def files(build, tmp_path_factory):
    """Makes files by tests/cache/kills/filler: 20 MB that can be checked."""
    path = tmp_path_factory.mktemp("closing")
    subprocess.run([build / "tests/cache/kills/filler", "make", path, str(FILES)], check=True)
    settle()
    return path


def entries(place, files):
    """(entry, its origin) for each entry there is."""
    tree = pathlib.Path(place.path(f"/dev/shm/{HOME}/tree"))
    for entry in tree.glob("*/**/*;f*"):
        yield entry, files / entry.parent.name / entry.name.split(";", 1)[1]


def test_closing_while_others_open(place, jobs, build, files, scratch):
    opens = seen = 0
    for number in range(ROUNDS):
        logs = scratch / f"logs{number}"
        logs.mkdir()
        env = jobs.preload_env(files, "/dev/shm:120M")
        done = place.run([build / "tests/cache/faults/closer", files, FILES, 0.3, logs], env)
        opens += int(done.stdout.split()[0])
        for entry, origin in entries(place, files):
            assert entry.read_bytes() == origin.read_bytes(), (number, entry)
            seen += 1
        ran = jobs.run([build / "tests/cache/kills/filler", "plain", files, FILES, number], path=files,
                       tier="/dev/shm:120M")
        assert ran.opens == FILES and ran.hits + ran.fills > FILES // 2, ran.json
        jobs.stoker("clear")
    assert seen > ROUNDS, "hardly anything was filled"
    record("Faults", "close_range(3, ~0) while threads open", "",
           f"{ROUNDS} rounds, {opens} opens, {seen} entries compared", "same")


OPENS_TWICE = beneath.SOURCE + """
import os, re, sys, threading, time
path, mine, modules, control = sys.argv[1:]
sys.path.insert(0, modules)
import slowfs
origin = slowfs.Control(control)
def mount_of(fd):
    try:
        return re.search("mnt_id:\\\\s*([0-9]+)", open(f"/proc/self/fdinfo/{fd}").read())[1]
    except FileNotFoundError:
        return None
def opened():
    return {fd for fd in range(3, 32) if mount_of(fd) == mount}
def wait_for(count):
    for _ in range(12000):
        if len(opened()) == count:
            return
        time.sleep(0.005)
    sys.exit("nobody opens it")
def start_opening(thread):
    before = origin.counts()["open"]
    thread.start()
    while origin.counts()["open"] == before:
        time.sleep(0.001)
os.path.exists(path + "none")  # so that all is set up
fd = os.open(path, os.O_PATH)  # and its name looked up
mount = mount_of(fd)
os.close(fd)
threads = [threading.Thread(target=os.open, args=(path, os.O_RDONLY)) for _ in range(2)]
origin.latency_ms = 2000  # neither knows of the other when it asks
start_opening(threads[0])
time.sleep(0.5)  # so much sooner it fills, and has the lower number
start_opening(threads[1])
origin.latency_ms = 50
wait_for(2)
first = {min(opened())}
number, = opened() - first
os.close(number)
assert os.open(mine, os.O_RDWR | os.O_CREAT, 0o644) == number
filling = first == opened()
for thread in threads:
    thread.join()
os.write(number, b"mine")
print(filling, *map(name_of, first))
"""


@pytest.fixture(scope="module")
def origin(build, tmp_path_factory):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse cannot be opened: no slow origin")
    with slowfs.SlowFS(tmp_path_factory.mktemp("origin"), binary=str(build / "slowfs")) as fs:
        yield Origin(fs)


def test_a_number_that_is_another_file_by_then(place, jobs, origin, scratch):
    """A thread waits for another's fill, and loses its descriptor's number. The entry must not be
    put on the file that has that number now."""
    mount = origin.files("twice", 1, 6000000)[1]
    origin.fs.latency_ms = 50
    ran = jobs.preloaded([sys.executable, "-c", OPENS_TWICE, mount / "file0000", scratch / "mine",
                          pathlib.Path(slowfs.__file__).parent, origin.control_path], mount)
    filling, entry = ran.stdout.split()
    assert filling == "True" and f"/{HOME}/tree/" in entry
    assert (scratch / "mine").read_bytes() == b"mine"


DAEMON = """
import hashlib, json, os, sys
out, *paths = sys.argv[1:]
def digests():
    return [hashlib.md5(open(path, "rb").read()).hexdigest() for path in paths]
before = digests()
held = [open(path, "rb") for path in paths]
if os.fork():
    sys.exit()
os.setsid()
if os.fork():
    os._exit(0)
os.closerange(0, 4096)
for _ in range(3):
    os.open(os.devnull, os.O_RDWR)
after = [digests() for _ in range(3)]
with open(out + ".new", "w") as file:
    json.dump([before, *after, sorted(map(int, os.listdir("/proc/self/fd")))], file)
os.rename(out + ".new", out)
"""


def test_a_daemon(place, jobs, build, files, scratch):
    out = scratch / "out"
    paths = [files / str(number % 4) / f"f{number:04}" for number in range(FILES)]
    env = jobs.preload_env(files, "/dev/shm:120M")
    place.run([sys.executable, "-c", DAEMON, out, *paths], env)
    wait_for(out.exists)
    *digests, descriptors = json.loads(out.read_text())
    truth = [hashlib.md5(path.read_bytes()).hexdigest() for path in paths]
    assert digests == [truth] * 4
    assert len(descriptors) <= 6, "0 to 2, the file it writes, the directory: none of ours"
    counters = place.run([build / "tests/preload/symbols/counters", f"/dev/shm/{HOME}/runs/outside"])
    assert json.loads(counters.stdout)["hits"] >= 3 * FILES
    record("Faults", "daemon: double fork, closerange(0, 4096)", "", f"{FILES} files, four times",
           "same")
