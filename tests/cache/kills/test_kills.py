"""Processes that are killed or stopped while they fill. A survivor, or a later process, sees right
bytes, a budget that adds up, and no claim that blocks. The rounds are in rounds.py."""

import json
import os
import pathlib
import signal
import sys
import time

import rounds
from clock import Skewed
from jobs import HOME, drafts, wait_for
from matrix import record
from rounds import FILES
from slices import ALL

ROUNDS = 200 if ALL else 24
FIRST = int(os.environ.get("STOKER_SHIFT", "0")) * ROUNDS  # other rounds with another number
PATIENCE_S = 2  # what a claim without progress is given: cache/catalogue/claim.h
SLACK_S = 6  # of a machine that has more to do


def test_kills_at_any_moment(place, build, origin):
    argv = [sys.executable, "-B", pathlib.Path(rounds.__file__), build, origin.mount, FIRST, ROUNDS]
    done = json.loads(place.run(argv, timeout=3600).stdout)
    for number, what in done["wrong"].items():
        print(f"round {number}: {what}")
    assert not done["wrong"]
    assert done["rounds"] == ROUNDS and done["killed"] >= 2 * ROUNDS
    assert done["drafts"] >= ROUNDS // 4, "hardly any was killed in the middle of a fill"
    assert done["longest_s"] < PATIENCE_S + SLACK_S
    record("Kills", "SIGKILL at random moments", "",
           f"{done['rounds']} rounds, {done['killed']} processes killed, {done['drafts']} fills "
           f"cut off, longest open of the others {done['longest_s']:.1f} s", "same")


def filler(build, origin, how="plain", seed=1):
    return [build / "tests/cache/kills/filler", how, origin.mount, FILES, seed]


def pid_in_place(draft):
    """Drafts are named by the pids of their fillers; the place shares our process numbers."""
    return int(draft.name.split(".")[0].split("-")[1])


def stop_in_a_fill(place, process):
    """Stops the filler while it has a draft; returns its pid."""
    def caught():
        for draft in drafts(place):
            pid = pid_in_place(draft)
            os.kill(pid, signal.SIGSTOP)
            if draft.exists():
                return pid
            os.kill(pid, signal.SIGCONT)
        assert process.poll() is None, "it ended before it could be stopped"
        return None
    return wait_for(caught)


def longest_s(text):
    return int(text.splitlines()[-1].split()[1]) / 1e9


def test_a_stopped_filler_holds_nobody_up(place, jobs, build, origin):
    """The others go on without it; let go, it finds that it was overtaken, and goes on, too."""
    longest, times = 0, 6 if ALL else 2
    for number in range(times):
        env = jobs.preload_env(origin.mount, "/dev/shm:120M")
        with jobs.started(filler(build, origin, seed=number), env) as stopped:
            pid = stop_in_a_fill(place, stopped)
            try:
                others = jobs.place.run(filler(build, origin, "threads", number + 50), env)
                longest = max(longest, longest_s(others.stdout))
            finally:
                os.kill(pid, signal.SIGCONT)
            said, complaints = stopped.communicate(timeout=60)
            assert stopped.returncode == 0, said + complaints
        assert longest < PATIENCE_S + SLACK_S
        assert_next_run_works(jobs, build, origin)
        jobs.stoker("clear")
    record("Kills", "SIGSTOP in the middle of a fill", "",
           f"{times} fillers, longest open of the others {longest:.1f} s", "same")


def assert_next_run_works(jobs, build, origin):
    """Right bytes, a budget that adds up and hits."""
    look = f"{build}/tests/cache/kills/accounts /dev/shm/{HOME}"
    read = " ".join(map(str, filler(build, origin)))
    ran = jobs.run(["sh", "-c", f"{look}; {read} && {read}; {look}"], path=origin.mount,
                   tier="/dev/shm:120M", flags=["--keep"])
    first, *_, last = ran.stdout.splitlines()
    for line in first, last:
        accounts = json.loads(line)
        assert accounts["used"] == accounts["there"], accounts
    assert json.loads(last)["present"] >= FILES and json.loads(last)["filling"] == 0
    assert ran.hits >= FILES


def test_all_are_killed_and_the_next_start_clears(place, jobs, build, origin):
    """The command, its job and all fillers at once: the next run removes what they left."""
    home = pathlib.Path(place.path(f"/dev/shm/{HOME}"))
    for number in range(4 if ALL else 2):
        command = ["sh", "-c", " & ".join(" ".join(map(str, filler(build, origin, how, number)))
                                          for how in ("plain", "fork", "threads")) + " & wait"]
        line = jobs.command_line(command, path=origin.mount, tier="/dev/shm:120M")
        with jobs.started(line, start_new_session=True) as job:
            wait_for(lambda: drafts(place))
            os.killpg(job.pid, signal.SIGKILL)
        wait_for(lambda: not is_anybody_left(drafts(place)))
        assert home.exists()
        left = len(drafts(place))
        before = time.monotonic()
        ran = jobs.run(filler(build, origin), path=origin.mount, tier="/dev/shm:120M")
        assert (ran.opens, ran.fills + ran.hits) == (FILES, FILES)
        assert not home.exists(), "the last run's end leaves nothing"
        record("Kills", "everybody at once, the command too", "",
               f"{left} fills cut off; the next run took {time.monotonic() - before:.1f} s", "same")


def is_anybody_left(left):
    return any(os.path.exists(f"/proc/{pid_in_place(draft)}") for draft in left)


def test_the_command_alone_is_killed(place, jobs, build, origin):
    """Its job goes on, with the cache, and no process is in the way of the next run."""
    line = jobs.command_line(filler(build, origin, "fork"), path=origin.mount,
                             tier="/dev/shm:120M", flags=["--keep"])
    with jobs.started(line) as command:
        wait_for(lambda: drafts(place))
        command.kill()
        said, complaints = command.communicate(timeout=60)  # the job holds the pipes
        assert said.startswith("longest"), said + complaints
    assert_next_run_works(jobs, build, origin)


def stop_elsewhere(place, process):
    """Stops the filler, a child in a pid namespace of its own, while it has a draft; its pid."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")

    def caught():
        for pid in map(int, children.read_text().split() if drafts(place) else []):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.05)
            if drafts(place):
                return pid
            os.kill(pid, signal.SIGCONT)
        return None

    return wait_for(caught)


def test_the_clock_is_stepped_while_somebody_fills_elsewhere(place, jobs, build, scratch, origin):
    """A filler of another pid namespace is thought dead, and its draft removed: what that took is
    given back once."""
    skewed = Skewed(build, scratch / "skew")
    skewed.step_to(2 * 3600)
    look = [build / "tests/cache/kills/accounts", f"/dev/shm/{HOME}"]
    env = jobs.preload_env(origin.mount, "/dev/shm:120M")
    origin.fs.latency_ms = 50
    with jobs.started(["unshare", "-p", "--fork", *filler(build, origin)], env) as elsewhere:
        pid = stop_elsewhere(place, elsewhere)
        origin.fs.latency_ms = 1
        jobs.run(look, path=origin.mount, tier="/dev/shm:120M", flags=["--keep"], env=skewed.env())
        left = drafts(place)
        os.kill(pid, signal.SIGCONT)
        said, complaints = elsewhere.communicate(timeout=60)
        assert elsewhere.returncode == 0, said + complaints
    assert not left, "it was not thought dead"
    accounts = json.loads(place.run(look).stdout)
    assert all(used >= there for used, there in zip(accounts["used"], accounts["there"])), accounts
