"""stoker warm of big files: block by block, each once, until the file is an entry."""

import contextlib
import errno
import os
import random
import re
import signal
import subprocess
import time

import pytest

from jobs import HOME, files_below, in_bytes, wait_for
from origin import settle
from test_big_files import MB, PAGES, ROUNDS, SIZE, SMALL, assert_next_run_counts, begin, big, \
    file, is_whole, make_another  # noqa: F401 (fixtures)
from test_warm import entries, warm

SLOWLY = 15  # ms for each operation
TIER = "--tier=/dev/shm:200M"


def warm_big(jobs, *arguments, env=None, **more):
    return warm(jobs, TIER, *arguments, env={**SMALL, **(env or {})}, **more)


@pytest.fixture
def several(origin, big):
    """A directory of three big files and some small ones: (at the origin, behind it)."""
    source, mount = origin.directory("several")
    for number in range(3):
        subprocess.run([big, "make", source / f"big{number}", str(5 * MB + number)], check=True)
    for number in range(20):
        (source / f"small{number}").write_bytes(os.urandom(3000))
    os.sync()
    settle()
    return mount, source


def test_a_big_file_is_filled_once(jobs, origin, file, build):
    with origin.fs.counting() as counted:
        warmed = warm_big(jobs, file[0].parent)
    assert (warmed.filled, warmed.present) == (1, 0)
    assert SIZE <= counted["read_bytes"] <= SIZE + PAGES
    assert is_whole(jobs, file[0])
    assert_next_run_counts(jobs, build, file)
    with origin.fs.counting() as counted:
        said = jobs.preloaded(["cmp", file[0], file[1]], file[0].parent, env=SMALL)
        warmed = warm_big(jobs, file[0].parent)
    assert said.stdout == "" and counted["read"] == 0
    assert (warmed.filled, warmed.present) == (0, 1)


def test_the_next_run_finds_it(jobs, origin, file):
    warm_big(jobs, file[0].parent)
    with origin.fs.counting() as counted:
        ran = jobs.run(["cmp", file[0], file[1]], path=file[0].parent, env=SMALL)
    assert ran.hits == 1 and counted["read"] == 0


def test_on_a_disk(jobs, origin, file, scratch):
    tier = scratch / "tier"
    tier.mkdir()
    assert warm(jobs, f"--tier={tier}:100M", file[0].parent, env=SMALL).filled == 1
    with origin.fs.counting() as counted:
        ran = jobs.run(["cmp", file[0], file[1]], path=file[0].parent, tier=tier, env=SMALL)
    assert ran.hits == 1 and counted["read"] == 0
    assert not files_below(tier / HOME / "fill")


def test_big_and_small_files(jobs, origin, several, place):
    mount, _ = several
    with origin.fs.counting() as counted:
        warmed = warm_big(jobs, mount)
    assert warmed.filled == 23 and len(entries(place)) == 23
    assert counted["read_bytes"] <= 3 * 5 * MB + 3 + 20 * 3000 + 3 * PAGES


@pytest.mark.parametrize("threads", [1, 4, 100])
def test_several_at_a_time(jobs, origin, several, threads):
    mount, source = several
    assert warm_big(jobs, f"--jobs={threads}", mount).filled == 23
    for name in os.listdir(source):
        said = jobs.preloaded(["cmp", mount / name, source / name], mount, env=SMALL)
        assert said.stdout == "" and is_whole(jobs, mount / name)


def hands_on(pid, path):
    """How many descriptors of the file a process has."""
    count = 0
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                count += os.readlink(f"/proc/{pid}/fd/{number}") == str(path)
    return count


def test_one_file_is_filled_by_all(jobs, origin, file, build):
    """Each thread has a descriptor of the file, and a block under way."""
    origin.fs.latency_ms = 4 * SLOWLY
    with jobs.started([build / "stoker", "warm", TIER, "--jobs=8", file[0].parent],
                      env=SMALL) as process:
        wait_for(lambda: hands_on(process.pid, file[0]) >= 8)
        origin.fs.latency_ms = 0
        process.communicate(timeout=60)


def test_shares_of_big_files(jobs, several, place):
    mount, _ = several
    found = []
    for node in 1, 2:
        warm_big(jobs, f"--shard={node}/2", mount)
        found.append(entries(place))
        jobs.stoker("clear")
    assert not found[0] & found[1] and len(found[0] | found[1]) == 23


def test_a_dry_run_counts_them(jobs, origin, several, place):
    mount, _ = several
    with origin.fs.counting() as counted:
        done = jobs.stoker("warm", "--dry-run", mount, env=SMALL)
    told = re.search(r"would fill (\d+) files? \((.*)\); (\d+)", done.stderr)
    assert (told[1], told[2], told[3]) == ("23", "15.1 MiB", "0"), done.stderr
    assert counted["open"] == 0 and os.listdir(place.path("/dev/shm")) == []


def test_blocks_left_off(jobs, several):
    warmed = warm_big(jobs, several[0], env={"STOKER_BLOCK": "0"})
    assert warmed.filled == 20 and warmed.said("large") == 3


def test_a_database_is_left(jobs, origin, place):
    source, mount = origin.directory("base")
    (source / "plain").write_bytes(b"SQLite format 3\0" + bytes(3 * MB))
    settle()
    warmed = warm_big(jobs, mount)
    assert warmed.filled == 0 and warmed.said("database") == 1 and entries(place) == set()


def test_interrupted(jobs, origin, file, build, place):
    """Whatever was filled stays, and is not read again."""
    origin.fs.latency_ms = SLOWLY
    line = [build / "stoker", "warm", TIER, "--jobs=2", file[0].parent]
    with origin.fs.counting() as counted:
        with jobs.started(line, env=SMALL) as process:
            wait_for(lambda: counted["read_bytes"] > 4 * MB)
            process.send_signal(signal.SIGINT)
            stderr = process.communicate(timeout=60)[1]
        assert process.returncode == 128 + signal.SIGINT and "goes on from here" in stderr
        assert "not cached" not in stderr and counted["read_bytes"] < SIZE
        origin.fs.latency_ms = 0
        assert warm_big(jobs, file[0].parent).filled == 1
    # Blocks under way at its end may come twice.
    assert counted["read_bytes"] <= SIZE + 2 * MB + PAGES
    assert is_whole(jobs, file[0])
    assert_next_run_counts(jobs, build, file)


def test_killed(jobs, origin, file, build):
    origin.fs.latency_ms = SLOWLY
    line = [build / "stoker", "warm", TIER, "--jobs=2", file[0].parent]
    with origin.fs.counting() as counted:
        with jobs.started(line, env=SMALL) as process:
            wait_for(lambda: counted["read_bytes"] > 4 * MB)
            process.kill()
            process.wait()
        origin.fs.latency_ms = 0
        assert warm_big(jobs, file[0].parent).filled == 1
    assert counted["read_bytes"] <= SIZE + 2 * MB + PAGES
    said = jobs.preloaded(["cmp", file[0], file[1]], file[0].parent, env=SMALL)
    assert said.stdout == "" and is_whole(jobs, file[0])


def test_killed_again_and_again(jobs, origin, file, build, big):
    """Beside a job that reads: right bytes in each round, and in the end a whole file."""
    draw = random.Random(3)
    env = {**jobs.preload_env(file[0].parent, "/dev/shm:200M"), **SMALL, "STOKER_BLOCK": "64K"}
    for number in range(ROUNDS):
        if number % 5 == 0:
            jobs.stoker("clear")
        origin.fs.latency_ms = 2
        with jobs.started([build / "stoker", "warm", TIER, "--jobs=4", file[0].parent],
                          env=env) as process, \
                jobs.started([big, "random", file[0], str(SIZE), "2", "20", str(number)],
                             env=env) as job:
            time.sleep(draw.uniform(0.02, 0.4))
            process.kill()
            process.wait()
            assert job.communicate(timeout=60)[0] == "good\n"
    origin.fs.latency_ms = 0
    warmed = warm_big(jobs, file[0].parent)
    assert warmed.filled + warmed.present == 1
    said = jobs.preloaded(["cmp", file[0], file[1]], file[0].parent, env=SMALL)
    assert said.stdout == "" and is_whole(jobs, file[0])
    assert_next_run_counts(jobs, build, file)


def test_beside_a_job_that_reads_it(jobs, origin, file, big, build):
    """Each block is filled by the one or the other."""
    origin.fs.latency_ms = 20
    env = {**jobs.preload_env(file[0].parent, "/dev/shm:200M"), **SMALL}
    jobs.preloaded(["head", "-c", "1", file[0]], file[0].parent, "/dev/shm:200M", env=SMALL)
    with origin.fs.counting() as counted:
        with jobs.started([big, "random", file[0], str(SIZE), "4", "100", "1"], env) as job:
            warmed = warm_big(jobs, file[0].parent)
            assert warmed.filled + warmed.present == 1  # the job may be done with it by then
            assert job.communicate(timeout=60)[0] == "good\n"
    # The command's open has the kernel forget what is under way for the job.
    assert counted["read_bytes"] <= SIZE + 4 * MB
    assert is_whole(jobs, file[0])
    assert_next_run_counts(jobs, build, file)


def test_two_at_once(jobs, origin, file, build):
    """Each says what it has filled itself."""
    origin.fs.latency_ms = 5
    begin(jobs, file[0])
    line = [build / "stoker", "warm", TIER, "--jobs=4", file[0].parent]
    with origin.fs.counting() as counted, jobs.started(line, env=SMALL) as one, \
            jobs.started(line, env=SMALL) as other:
        stderr = [each.communicate(timeout=60)[1] for each in (one, other)]
    told = [re.search(r" files? \((.*?)\) filled", each) for each in stderr]
    told = [in_bytes(each[1]) if each else 0 for each in told]  # one of them may come too late
    assert 0.9 * SIZE < sum(told) < 1.1 * SIZE, stderr
    assert counted["read_bytes"] <= SIZE + 8 * MB and is_whole(jobs, file[0])


def test_what_does_not_fit_is_not_begun(jobs, origin, file, build, place):
    """Its readers have what room there is, for the blocks that they want."""
    small = file[1].parent / "small"
    small.write_bytes(b"x" * 5000)
    settle()
    with origin.fs.counting() as counted:
        warmed = warm(jobs, "--tier=/dev/shm:9M", file[0].parent, env=SMALL)
    assert warmed.filled == 1 and warmed.said("budget") == 1
    assert counted["read_bytes"] < MB and entries(place) == {b"small"}
    assert_next_run_counts(jobs, build, file, "/dev/shm:9M")


def test_two_of_which_one_fits(jobs, origin, several, build):
    """Each would fit alone; the second is begun before the first is whole, and is left."""
    mount, source = several
    origin.fs.latency_ms = 1
    warmed = warm(jobs, "--tier=/dev/shm:12M", mount, env=SMALL)
    assert warmed.said("budget") + warmed.said("tier") >= 1, warmed.stderr
    origin.fs.latency_ms = 0
    for number in range(3):
        said = jobs.preloaded(["cmp", mount / f"big{number}", source / f"big{number}"], mount,
                              "/dev/shm:12M", env=SMALL)
        assert said.stdout == ""
    assert_next_run_counts(jobs, build, [mount / "big0"], "/dev/shm:12M")


def test_a_file_system_that_gets_full(jobs, origin, file, build):
    """In the middle of it."""
    origin.fs.latency_ms = 10 * SLOWLY
    line = [build / "stoker", "warm", TIER, "--jobs=2", file[0].parent]
    fill_up = "fallocate -l $(($(stat -f -c %a*%S /dev/shm) - 3000000)) /dev/shm/other"
    with origin.fs.counting() as counted, jobs.started(line, env=SMALL) as process:
        wait_for(lambda: counted["read_bytes"] > 4 * MB)
        jobs.place.run(["sh", "-c", fill_up])
        stderr = process.communicate(timeout=60)[1]
    assert "stoker: 0 files (" in stderr and "not cached: 1 " in stderr, stderr
    origin.fs.latency_ms = 0
    for _ in range(2):
        said = jobs.preloaded(["cmp", file[0], file[1]], file[0].parent, env=SMALL)
        assert said.stdout == ""
    jobs.place.run(["rm", "/dev/shm/other"])
    assert_next_run_counts(jobs, build, file)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_changes_meanwhile(jobs, origin, file, build, replaced):
    """Nothing of the old version is served, nor mixed with the new one."""
    origin.fs.latency_ms = SLOWLY
    line = [build / "stoker", "warm", TIER, "--jobs=2", file[0].parent]
    with origin.fs.counting() as counted, jobs.started(line, env=SMALL) as process:
        wait_for(lambda: counted["read_bytes"] > 4 * MB)
        make_another(file[1], replaced)
        process.communicate(timeout=60)
    origin.fs.latency_ms = 0
    settle()
    reader = ["python3", "-c", "import os,sys; fd = os.open(sys.argv[1], 0); "
              "sys.stdout.buffer.write(os.pread(fd, 1 << 28, 0))", file[0]]
    compare = ["sh", "-c", '"$@" | cmp - "$0"', file[1], *reader]
    assert jobs.run(compare, path=file[0].parent, env=SMALL).stdout == ""
    warm_big(jobs, file[0].parent)
    assert is_whole(jobs, file[0])
    assert jobs.run(compare, path=file[0].parent, env=SMALL).stdout == ""


def test_an_origin_that_fails(jobs, origin, file):
    with origin.fs.faults(read=errno.EIO, read_from=8 * MB):
        warmed = warm_big(jobs, file[0].parent)
    assert warmed.filled == 0 and warmed.said("changed") == 1
    assert warm_big(jobs, file[0].parent).filled == 1
    assert is_whole(jobs, file[0])


def test_progress_is_of_bytes(jobs, origin, file):
    origin.fs.latency_ms = SLOWLY
    seen = jobs.on_terminal("warm", TIER, "--jobs=2", file[0].parent, env=SMALL)
    line = rb"\rstoker: 0/1 files, [1-9][\d.]* MiB of 20\.0 MiB, .* MiB/s, 0:00:\d\d left\x1b"
    assert re.search(line, seen), seen
