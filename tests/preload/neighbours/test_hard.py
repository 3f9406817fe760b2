"""Programs that make it hard: children in our memory, handlers in our middle, little stack, few
descriptors. Each checks all it reads by itself, and says the same as without the library."""

import re

import pytest

from matrix import record
from origin import settle
from pair import COUNT
from slices import ALL

ROUNDS = 60 if ALL else 10


def note(name, cases):
    record("Neighbours", name, "", cases, "same")


def test_children_that_share_our_memory(pair, programs):
    said = pair.check([programs / "vfork", pair.data, COUNT, ROUNDS], hits=COUNT)
    assert said == (0, "wrong 0\n")
    note("vfork", "opens in a vfork child that executes, fails to, or ends; posix_spawn; beside "
         "threads; cold, warm")


@pytest.mark.parametrize("used", [[], ["unused"]])
def test_a_child_while_a_thread_is_in_the_loader(pair, programs, used):
    """Nothing is left to be looked up there, where the loader's lock is held for ever. That holds
    even if the parent has called no symbol of Stoker's."""
    said = pair.check([programs / "forks", pair.data, COUNT, *used], hits=COUNT)
    assert said == (0, "wrong 0, child 0\n")
    note("fork", "while another thread has the loader's lock; first calls of open, stat, access, "
         "chmod ... in the child; cold, warm")


@pytest.fixture
def quiet_line():
    """Without stderr, where the programs say what differs from run to run."""
    return lambda *argv: ["sh", "-c", '"$@" 2>/dev/null', "sh", *argv]


@pytest.mark.parametrize("threads", [0, 3])
def test_handlers_that_open_files(pair, programs, quiet_line, threads):
    line = quiet_line(programs / "signals", pair.data, COUNT, 20 * ROUNDS, threads)
    for _ in range(5 if ALL else 2):
        pair.forget()
        assert pair.check(line, hits=COUNT) == (0, "wrong 0\n")
    note("signal handlers", "a timer's handler opens files in the middle of fills and hits, 1 and "
         "4 threads")


def test_a_handler_that_jumps_out(pair, programs, quiet_line):
    """If the signal came inside of Stoker, its thread reads the origin from then on. No other
    thread is hurt."""
    line = quiet_line(programs / "signals", pair.data, COUNT, 30 * ROUNDS, "jump")
    for _ in range(5 if ALL else 2):
        pair.forget()
        for _ in range(2):
            ran = pair.shim(line)
            assert (ran.status, ran.stdout) == (0, "wrong 0\n")
        pair.check([programs / "reader", pair.data, COUNT, 2], hits=2 * COUNT, fills=0)
    record("Neighbours", "siglongjmp", "", "out of a handler in the middle of fills and hits",
           "same bytes; a thread that left us so reads the origin from then on")


@pytest.mark.parametrize("way", ["jump", "handler"])
def test_who_writes_while_we_are_inside(jobs, programs, scratch, way):
    """By a handler in the middle of a fill, or after a jump out of one: others read what is new."""
    data = scratch / "data"
    data.mkdir()
    for name in "known", "written":
        (data / name).write_bytes(b"old")
    for number in range(40):
        (data / str(number)).write_bytes(bytes([number + 1]) * (6 << 20))
    settle()
    ran = jobs.run([programs / "writers", data, way], path=data)
    assert "interrupted 1" in ran.stderr
    assert ran.stdout == "new\n"
    note("siglongjmp, handlers that write", "in the middle of a fill; another process reads")


def test_threads_with_little_stack(pair, programs, quiet_line):
    line = [programs / "stacks", pair.data, COUNT, 4, 65536]
    assert pair.check(quiet_line(*line), hits=COUNT) == (0, "wrong 0\n")
    pair.forget()
    used = re.search(r"used (\d+), beside (\d+)", pair.shim(line).stdout)
    assert int(used[1]) < 40 << 10 and int(used[2]) < 15 << 10
    note("small stacks", "64 KiB, cold and warm; PTHREAD_STACK_MIN for relative names that are not "
         "covered")


def test_few_descriptors(pair, programs):
    said = pair.check([programs / "limits", pair.data, COUNT], hits=COUNT)
    assert said[1].count("open -1 errno 24") == 3
    note("RLIMIT_NOFILE", "20 descriptors, opened until there are no more")
