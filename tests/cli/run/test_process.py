"""`stoker run` is to its command what a shell is: it ends as that ends, and does not stand in the
way of signals and terminals."""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from job_fixtures import PROGRAMS
from jobs import PATIENCE_S, read_line, signal_of, wait_for


@pytest.fixture(scope="module")
def data(session_origin):
    return session_origin.files("process", 1, 1000)[1]


@pytest.mark.parametrize("status", [0, 1, 2, 77, 126, 127, 128, 255])
def test_the_exit_status_is_the_command_s(jobs, data, status):
    ran = jobs.run(["sh", "-c", f"exit {status}"], path=data, check=False)
    assert (ran.status, ran.json["status"]) == (status, status)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV,
                                    signal.SIGABRT, signal.SIGHUP])
def test_a_signal_that_ends_the_command_ends_stoker(jobs, data, scratch, number):
    ran = jobs.run(["sh", "-c", f"cat $0/file0000 >/dev/null; kill -{number} $$", data], path=data,
                   check=False, cwd=scratch)
    assert signal_of(ran.status) == number
    assert (ran.json["status"], ran.fills) == (128 + number, 1)
    assert not list(scratch.glob("core*"))


CATCH = """
trap 'echo got TERM; exit 3' TERM
trap 'echo got HUP; exit 4' HUP
trap 'echo got INT; exit 5' INT
trap 'echo got USR1' USR1
echo ready; while :; do sleep 0.01; done
"""


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 3), (signal.SIGHUP, 4),
                                            (signal.SIGINT, 5)])
def test_a_signal_to_stoker_reaches_the_command_once(jobs, data, number, status):
    with jobs.started(jobs.command_line(["sh", "-c", CATCH], path=data)) as process:
        assert read_line(process) == "ready"
        process.send_signal(signal.SIGUSR1)
        assert read_line(process) == "got USR1"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert out == f"got {number.name[3:]}\n"
    assert process.returncode == status
    assert "NOTHING WAS SERVED" in err  # the summary is there all the same


def helpers_of(process):
    """The processes of stoker's own that it has started, and that stand alone by now."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
        pids = [int(pid) for pid in children.read().split()]
    return [pid for pid in pids
            if pathlib.Path(f"/proc/{pid}/comm").read_text() == "stoker\n" and os.getsid(pid) == pid]


def test_a_signal_to_a_helper_is_not_passed_on(jobs, data):
    """As of `scancel --signal`, which signals each process: the command alone passes it on."""
    with jobs.started(jobs.command_line(["sh", "-c", CATCH], path=data)) as process:
        assert read_line(process) == "ready"
        while not (helpers := helpers_of(process)):
            time.sleep(0.01)
        for helper in helpers:
            for number in signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
                os.kill(helper, number)
        time.sleep(0.2)
        assert helpers_of(process) == helpers
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert out == "got TERM\n" and process.returncode == 3


def test_a_command_that_is_ended_by_a_signal_to_stoker(jobs, data, scratch):
    line = jobs.command_line(["sh", "-c", "echo ready; exec sleep 100"], path=data,
                             flags=[f"--json={scratch}/json"])
    with jobs.started(line) as process:
        assert read_line(process) == "ready"
        process.terminate()
        process.communicate(timeout=60)
    assert signal_of(process.returncode) == signal.SIGTERM
    assert '"status": 143' in (scratch / "json").read_text()


def test_stopping_and_going_on(jobs, data):
    """Job control: the terminal stops the whole group; what continues us continues the command."""
    line = jobs.command_line(["sh", "-c", "echo ready; read line; echo $line"], path=data)
    with jobs.started(line, start_new_session=True) as process:
        assert read_line(process) == "ready"
        os.killpg(process.pid, signal.SIGSTOP)
        wait_for(lambda: " T " in open(f"/proc/{process.pid}/stat").read())
        os.killpg(process.pid, signal.SIGCONT)
        assert process.communicate("on\n", timeout=60)[0] == "on\n"


def test_standard_streams_are_passed_through(jobs, data):
    ran = jobs.run(["sh", "-c", "cat; echo error >&2"], path=data, stdin=None, input="in\n")
    assert ran.stdout == "in\n"
    assert "\nerror\n" in ran.stderr
    closed = jobs.run(["sh", "-c", "cat; echo end"], path=data)
    assert closed.stdout == "end\n"


def test_no_descriptor_is_left_to_the_command(jobs, data):
    ran = jobs.run(["ls", "/proc/self/fd"], path=data)
    assert ran.stdout.split() == ["0", "1", "2", "3"]  # 3 is ls's own


def test_what_is_ignored_and_blocked_stays_so(jobs, data):
    """nohup: the command ignores a signal that Stoker was to ignore."""
    show = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"]
    status = ["grep", "-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"]
    without = jobs.place.run([*show, *status]).stdout
    line = jobs.command_line(status, path=data)
    assert jobs.place.run([*show, *line]).stdout == without


def test_nohup_survives_a_hangup(jobs, data):
    """When the terminal goes, all of the group get the signal, stoker too; nohup ignores it."""
    line = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh",
            *jobs.command_line(["sh", "-c", "echo ready; read line; echo $line"], path=data)]
    with jobs.started(line, start_new_session=True) as process:
        assert read_line(process) == "ready"
        os.killpg(process.pid, signal.SIGHUP)
        time.sleep(0.05)
        assert process.communicate("on\n", timeout=60)[0] == "on\n"


# ---- a terminal ----

class Terminal:
    """A command line running on a terminal of its own."""

    def __init__(self, place, line):
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            place.command(["setsid", "--ctty", "--wait", *line]), stdin=slave, stdout=slave,
            stderr=slave, start_new_session=False)
        os.close(slave)
        self.said = ""

    def type(self, text):
        os.write(self._master, text.encode())

    def wait_for(self, text, patience_s=PATIENCE_S):
        deadline = time.monotonic() + patience_s
        while text not in self.said:
            assert time.monotonic() < deadline, self.said
            self._read()

    def _read(self):
        if not select.select([self._master], [], [], 0.1)[0]:
            return True
        try:
            got = os.read(self._master, 65536).decode(errors="replace")
        except OSError:
            return False
        self.said += got
        return bool(got)

    def hang_up(self):
        """Closes the terminal, and returns the status. The kernel signals only the leader of the
        session, which was started here. If it goes on, its end signals the rest."""
        os.close(self._master)
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()

    def end(self):
        while self.process.poll() is None and self._read():
            pass
        status = self.process.wait(60)
        while select.select([self._master], [], [], 0.05)[0] and self._read():
            pass
        os.close(self._master)
        return status


TTY = """
import os, signal, sys, time
times = []
signal.signal(signal.SIGINT, lambda *_: times.append(1))
print("tty", os.isatty(0), os.isatty(1), os.tcgetpgrp(0) == os.getpgrp(), flush=True)
while not times:
    time.sleep(0.01)
time.sleep(0.2)
print("interrupts", len(times), flush=True)
sys.exit(9)
"""


def test_ctrl_c_reaches_the_command_once(jobs, data):
    line = jobs.command_line([sys.executable, "-S", "-E", "-c", TTY], path=data)
    terminal = Terminal(jobs.place, line)
    terminal.wait_for("tty True True True")
    terminal.type("\x03")
    terminal.wait_for("interrupts 1")
    assert terminal.end() == 9
    assert "NOTHING WAS SERVED" in terminal.said


def test_ctrl_c_ends_a_command_that_does_not_catch_it(jobs, data):
    # exec: a dash that is interrupted while it starts a program waits for that to end.
    terminal = Terminal(jobs.place, jobs.command_line(["sh", "-c", "echo ready; exec sleep 100"],
                                                      path=data))
    terminal.wait_for("ready")
    terminal.type("\x03")
    assert terminal.end() in (130, -signal.SIGINT)
    assert "NOTHING WAS SERVED" in terminal.said


def test_typing_reaches_the_command(jobs, data):
    terminal = Terminal(jobs.place, jobs.command_line(["sh", "-c", "read x; echo got $x"],
                                                      path=data))
    terminal.type("something\n")
    terminal.wait_for("got something")
    assert terminal.end() == 0


def test_a_line_tells_how_far_the_first_epoch_is(jobs, session_origin):
    """On a terminal, from two seconds on, and until files are opened for the second time."""
    data = session_origin.files("line", 3, 1000)[1]
    script = 'cat "$0"/* >/dev/null; read x; cat "$0"/* >/dev/null; read x; echo over'
    terminal = Terminal(jobs.place, ["env", "STOKER_MIN_AGE=0.05",
                                     *jobs.command_line(["sh", "-c", script, data], path=data)])
    terminal.wait_for("first opens: 3 files, 2.9 KiB, ")
    terminal.wait_for("\x1b[K\r")
    assert re.search(r"first opens: 3 files, [^\r]*\x1b\[K\r", terminal.said)  # what the job writes goes over it
    gone = "\r\x1b[K"
    assert gone not in terminal.said
    terminal.type("\n")
    terminal.wait_for(gone)
    terminal.type("\n")
    assert terminal.end() == 0
    assert terminal.said.count("first opens: ") < 100 and "6 opens of 3 files" in terminal.said


def test_no_line_where_it_could_not_be_written_over(jobs, session_origin):
    data = session_origin.files("dumb", 3, 1000)[1]
    for kind, drawn in ("dumb", False), ("screen", True):
        terminal = Terminal(jobs.place, ["env", f"TERM={kind}", jobs.build / "stoker", "warm", data])
        assert terminal.end() == 0
        assert ("\x1b" in terminal.said) == drawn and "were there" in terminal.said


@pytest.mark.torch
def test_the_line_counts_the_batches_of_a_loader(jobs, session_origin):
    """The line counts no files: these workers read ahead, so the number of files is not known."""
    data = session_origin.files("batches", 60, 1000)[1]
    job = [sys.executable, PROGRAMS / "passes.py", data, "1", "1", "1", "0.1"]
    terminal = Terminal(jobs.place, ["env", "STOKER_MIN_AGE=0.05", *jobs.command_line(job, path=data)])
    terminal.wait_for("/30 batches, ")
    terminal.wait_for(" left\x1b[K\r")
    assert terminal.end() == 0
    counted = [int(given) for given in re.findall(r"epoch 1: (\d+)/30 batches, \d+ files/s", terminal.said)]
    assert counted == sorted(counted) and 0 < counted[0] <= counted[-1] <= 30


@pytest.mark.parametrize("job, status", [
    ("trap 'echo hangup >$0; exit 3' HUP; echo ready; while :; do sleep 0.05; done", 3),
    ("echo ready; exec sleep 100", -signal.SIGHUP),
    ("echo ready; kill -STOP $$; sleep 100", -signal.SIGHUP)])
def test_a_terminal_that_goes_away_ends_the_command(jobs, data, scratch, job, status):
    """As it would without stoker, which is the session's leader in its place."""
    told = scratch / "told"
    terminal = Terminal(jobs.place, jobs.command_line(["sh", "-c", job, told], path=data))
    terminal.wait_for("ready")
    if "STOP" in job:
        wait_for(lambda: has_stopped_child(terminal.process.pid))
    assert terminal.hang_up() == status
    assert told.exists() == (status == 3)


def has_stopped_child(pid):
    children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return any(" T " in open(f"/proc/{child}/stat").read() for child in children)


def test_nohup_survives_a_terminal_that_goes_away(jobs, data, scratch):
    told = scratch / "told"
    job = f"echo ready; read line; echo on >{told}"  # until the terminal has gone
    line = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh",
            *jobs.command_line(["sh", "-c", job], path=data)]
    terminal = Terminal(jobs.place, line)
    terminal.wait_for("ready")
    assert terminal.hang_up() == 0 and told.read_text() == "on\n"
