"""Many processes on one sample store: killed ones, very many, other namespaces, and file systems
that are full. Their pixels are compared with Pillow's, picture by picture."""

import json
import os
import signal
import subprocess
import time

import pytest

from conftest import ENV, PROGRAMS, python
from matrix import record
from slices import ALL

pytest.importorskip("PIL")
MB = 1 << 20
SECONDS = int(os.environ.get("STOKER_KILL_S", "600" if ALL else "6"))
FIRST = int(os.environ.get("STOKER_SHIFT", "0"))  # other moments with another number


def decode(first, count, *processes):
    return python(PROGRAMS / "decode.py", first, count, *processes)


def environment(directory, size):
    return {**ENV, "STOKER_DECODED": f"{directory}:{size}", "STOKER_MIN_AGE": "0.05"}


def run(place, line, env, **more):
    return json.loads(place.run(line, env=env, timeout=300, **more).stdout.splitlines()[-1])


def test_killed_at_any_moment(place):
    line = python(PROGRAMS / "kills.py", SECONDS, FIRST)
    told = json.loads(place.run(line, env={**ENV, "STOKER_MIN_AGE": "0.05"},
                                timeout=10 * SECONDS + 600).stdout)
    assert told["wrong"] == []
    assert told["rounds"] > 1 and told["idle_rounds"] == 0, told
    assert told["found"] > 300 * told["rounds"] and told["kept"] >= 50 * told["rounds"]
    record("Kills", "SIGKILL among 16 processes that decode by the sample store", "",
           f"{told['killed']} killed, {told['decodes']} images decoded, {told['from_forms']} of them "
           "from forms", "same")


def test_two_hundred_readers_at_once(place):
    env = environment("/dev/shm/samples", "64M")
    made = run(place, decode(0, 4), env)
    assert made["forms"] == 4
    told = run(place, decode(0, 4, 200), env)
    assert (told["forms"], told["from_forms"], told["wrong"]) == (0, 200 * 4, 0)


def test_sixteen_writers_at_once(place):
    """All decode these images: each is kept once, or at most by all processes that were at it at
    one time."""
    told = run(place, decode(0, 120, 16), environment("/dev/shm/samples", "64M"))
    assert told["wrong"] == 0 and told["from_forms"] > 120
    again = run(place, decode(0, 120), environment("/dev/shm/samples", "64M"))
    assert again["from_forms"] > 116 and again["wrong"] == 0


# ---- no room ----

def test_a_full_store(place):
    env = environment("/dev/shm/samples", "2M")
    first, second = (run(place, decode(0, 300, 4), env) for _ in range(2))
    assert first["wrong"] == second["wrong"] == 0
    assert 4 * 50 < second["from_forms"] < 4 * 300 and second["forms"] == 0
    assert second["store"]["used_bytes"] <= 2 * MB


@pytest.mark.parametrize("processes", [1, 4])
def test_a_full_file_system(place, scratch, processes):
    """The budget is larger than what there is."""
    small = scratch / "small"
    small.mkdir()
    place.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "small", small])
    env = environment(small / "samples", "100M")
    first, second = (run(place, decode(0, 400, processes), env) for _ in range(2))
    assert first["wrong"] == second["wrong"] == 0
    assert processes * 50 < second["from_forms"] < processes * 400


def test_others_fill_the_file_system(place, scratch):
    """The file system fills up while the store is open and grows. Its values stay readable, and no
    process gets a SIGBUS."""
    small = scratch / "small"
    small.mkdir()
    place.run(["mount", "-t", "tmpfs", "-o", "size=6m,mode=0700", "small", small])
    env = environment(small / "samples", "100M")
    before = run(place, decode(0, 50), env)
    assert before["forms"] == 50
    place.run(["sh", "-c", f"cat /dev/zero >{small}/other; :"])
    full = run(place, decode(0, 200, 4), env)
    assert full["wrong"] == 0 and 4 * 50 <= full["from_forms"] < 4 * 60
    place.run(["rm", small / "other"])
    after = run(place, decode(0, 200), env)
    assert after["wrong"] == 0 and after["forms"] > 100


def test_little_address_space(place):
    """A process whose map is smaller than the store misses what lies beyond it, and goes on."""
    env = environment("/dev/shm/samples", "90M")
    line = python(PROGRAMS / "little.py", 50, 160 * MB, 600, 120000)  # the map is a quarter of that
    with subprocess.Popen(place.command(line, env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as little:
        first = json.loads(little.stdout.readline())
        assert place.run(python(PROGRAMS / "cold.py", "keep", "600", "120000"), env=env).stdout == "600\n"
        second = json.loads(little.communicate("\n", timeout=300)[0])
    assert little.returncode == 0 and first == {"forms": 50, "from_forms": 0, "wrong": 0}
    assert second["decoded"]["wrong"] == second["values"]["wrong"] == 0
    assert second["values"]["found"] < 600, "the map was as large as the store"
    _, right = place.run(python(PROGRAMS / "cold.py", "read", "600", "120000"), env=env).stdout.split()
    assert right == "600"


def test_files_that_may_not_grow(place):
    env = environment("/dev/shm/samples", "64M")
    told = run(place, ["prlimit", f"--fsize={MB}", *decode(0, 300)], env)
    assert told["wrong"] == 0 and 30 < told["forms"] < 300


# ---- namespaces ----

def namespaced(line):
    return ["unshare", "-fp", "--mount-proc", "--kill-child", *line]


@pytest.fixture
def two(place):
    """Starts two commands at once, and hears both."""
    def both(lines, env):
        started = [subprocess.Popen(place.command(line, env), stdout=subprocess.PIPE, text=True)
                   for line in lines]
        told = [process.communicate(timeout=300)[0] for process in started]
        return [json.loads(text.splitlines()[-1]) for text in told]
    if place.run(namespaced(["true"]), check=False).returncode != 0:
        pytest.skip("no pid namespace of its own")
    return both


def stores(place, directory):
    return place.run(["sh", "-c", f"ls -d {directory}/pid-*"]).stdout.split()


def test_two_pid_namespaces_with_the_same_pid(place, two):
    """Each has a store of its own: LMDB asks by number whether a reader lives. Copies are written behind the decoder, so a
    pass may come before those of the pass before it."""
    env = environment("/dev/shm/samples", "64M")
    for _ in range(3):
        told = two([namespaced(decode(0, 120, 3))] * 2, env)
        assert [one["pid"] for one in told] == [1, 1]
        assert all(one["wrong"] == 0 and one["from_forms"] > 40 for one in told)
    assert len(stores(place, "/dev/shm/samples")) >= 2


def test_two_runs_in_two_pid_namespaces_on_one_tier(place, two, jobs, scratch):
    """One budget, one grant for each. Neither has room for all of its 500 images, so which ones stay is a matter of turns."""
    (scratch / "data").mkdir()
    env = {**ENV, "STOKER_MIN_AGE": "0.05"}
    lines = [namespaced(jobs.command_line(decode(0, 500, 2), path=scratch / "data",
                                          tier="/dev/shm:64M", flags=["--decoded=8M", "--no-decode"]))
             for _ in range(2)]
    told = two(lines, env)
    assert all(one["wrong"] == 0 and one["from_forms"] > 50 for one in told)
    assert all(one["store"]["used_bytes"] <= 8 * MB for one in told)


def test_a_namespace_that_is_gone(place, two):
    """All of it is killed while it writes; the next one begins anew, and the store of before goes."""
    env = environment("/dev/shm/samples", "64M")
    process = subprocess.Popen(place.command(namespaced(decode(0, 5000, 8)), env),
                               stdout=subprocess.DEVNULL)
    time.sleep(2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    told = run(place, namespaced(decode(0, 100)), env)
    assert told["wrong"] == 0 and told["forms"] + told["from_forms"] == 100


# ---- on a disk ----

@pytest.fixture
def disk(place, scratch):
    """A file system of its own in an image: (where it is mounted, the image)."""
    image, path = scratch / "image", scratch / "disk"
    path.mkdir()
    with open(image, "wb") as file:
        file.truncate(64 * MB)
    made = place.run(["sh", "-c", f"mkfs.ext4 -q {image} && mount -o loop,commit=1 {image} {path}"],
                     check=False)
    if made.returncode != 0:
        pytest.skip(f"no loop mounts: {made.stderr}")
    return path, image


@pytest.mark.parametrize("size", [9000, 150_000, 900_000])
def test_cold_values_are_read_at_once(place, scratch, size):
    """Not page by page, each of which waits for the disk. (The tree's pages are.)"""
    if place.run(["stat", "-f", "-c", "%T", scratch]).stdout.strip() == "tmpfs":
        pytest.skip("no disk")
    env = environment(scratch / "samples", "64M")
    cold = python(PROGRAMS / "cold.py")
    assert place.run([*cold, "keep", "20", size], env=env).stdout.split() == ["20"]
    place.run([*cold, "forget", scratch / "samples"], env=env)
    faults, right = map(int, place.run([*cold, "read", "20", size], env=env).stdout.split())
    assert right == 20
    assert faults <= 20 + 10, faults


def test_a_disk_that_cannot_read_any_more(place, scratch, disk):
    """A value that is not in memory is a miss, not the end of the program."""
    path, image = disk
    env = environment(path / "samples", "40M")
    cold = python(PROGRAMS / "cold.py")
    place.run([*cold, "keep", "20", "150000"], env=env)
    place.run([*cold, "forget", path / "samples"], env=env)
    with subprocess.Popen(place.command([*cold, "wait", "20", "150000"], env),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout.readline() == "20\n"
        place.run(["truncate", "-s", "1M", image])
        told = reader.communicate("\n", timeout=60)[0]
    assert reader.returncode == 0
    assert int(told.split()[1]) == 0


# ---- a power cut ----

@pytest.mark.parametrize("lost", ["what was not written yet", "all but the first pages"])
def test_after_a_power_cut(place, scratch, disk, lost):
    """Whatever has reached the disk: a store of before is not read, and makes room for the next."""
    path, image = disk
    env = environment(path / "samples", "40M")
    assert run(place, decode(0, 200), env)["forms"] == 200
    before, = stores(place, path / "samples")
    if lost == "what was not written yet":
        time.sleep(2)  # the journal is written each second, and files long after
    else:
        place.run(["sync", "-f", path])
    (scratch / "boot_id").write_text("01234567-89ab-4cde-8f01-23456789abcd\n")
    place.run(["sh", "-ec", f"cp --sparse=always {image} {image}.cut; umount {path};"
               f"mount -o loop {image}.cut {path};"
               f"mount --bind {scratch}/boot_id /proc/sys/kernel/random/boot_id"])
    place.run(["test", "-e", f"{before}/data.mdb"])
    if lost == "all but the first pages":
        place.run(["truncate", "-s", "8192", f"{before}/data.mdb"])
    after = run(place, decode(0, 200), env)
    assert (after["forms"], after["from_forms"], after["wrong"]) == (200, 0, 0)
    again = run(place, decode(0, 200), env)
    assert (again["forms"], again["from_forms"], again["wrong"]) == (0, 200, 0)
    now, = stores(place, path / "samples")
    assert now != before and now.endswith("-01234567")
