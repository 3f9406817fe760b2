#!/usr/bin/env python3
"""Rounds of killing: processes fill the cache from one data set, and some are killed at any moment.

    rounds.py BUILD DIRECTORY FIRST COUNT

Made for tests/cache/kills/test_kills.py, which runs it in a place of its own. Prints JSON: what was done,
and what went wrong. A round's number says all that is up to chance, so that it can be repeated.

After each round no surviving process has seen a wrong byte, and every entry equals its origin. The
next run finds no drafts, a budget that adds up, and work to do only once.
"""

import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

HOME = pathlib.Path("/dev/shm/stoker-0")
FILES = 60  # in the directory
FILLERS = 8
PATIENCE_S = 60
TIER = "/dev/shm:120M"
KINDS = ["run", "alone", "parent", "all"]


class Round:
    def __init__(self, build, directory, number):
        self.build, self.directory = build, directory
        self.number, self.dice = number, random.Random(number)
        self.kind = KINDS[number % len(KINDS)]
        self.reaps = self.dice.random() < 0.5  # else the dead stay zombies till the end
        self.wrong, self.longest_ns, self.killed, self.drafts = [], 0, 0, 0

    # ---- what runs ----

    def env(self, **more):
        return {"PATH": os.environ["PATH"], "LANG": "C", "STOKER_MIN_AGE": "0.05", **more}

    def stoker(self, *command, flags=()):
        return [self.build / "stoker", "run", f"--path={self.directory}", f"--tier={TIER}", *flags,
                "--", *command]

    def start_run(self):
        """A `stoker run` that waits for its end; returns it and the environment of its children."""
        if self.kind == "alone":
            return None, self.env(LD_PRELOAD=str(self.build / "libstoker.so"), STOKER_TIERS=TIER,
                                  STOKER_PATHS=str(self.directory))
        holder = start(self.stoker("sh", "-c", "env; echo .; exec cat", flags=["--keep"]),
                       self.env(), stdin=subprocess.PIPE)
        lines = []
        while not lines or lines[-1] != b".\n":
            lines.append(holder.stdout.readline())
            assert lines[-1], "stoker run ended"
        return holder, dict(line.decode().rstrip("\n").split("=", 1) for line in lines[:-1])

    def start_fillers(self, env):
        ways = ["plain", "threads", "fork", "fork"]
        program, seed = self.build / "tests/cache/kills/filler", self.number * FILLERS
        return [start([program, ways[i % 4], self.directory, FILES, seed + i], env)
                for i in range(FILLERS)]

    # ---- killing ----

    def kill_some(self, holder, fillers):
        """One after the other, or all at once; of forkers the parent alone or its children, too."""
        victims = self.dice.sample(fillers, FILLERS if self.kind == "all"
                                   else self.dice.randint(1, FILLERS - 2))
        if self.dice.random() < 0.9:  # else they may not have come to their first file
            wait_for_a_fill(fillers)
        in_fills = self.dice.random() < 0.5  # all files may be there within milliseconds
        if not in_fills:
            time.sleep(self.dice.random() * 0.15)
        pause = 0 if self.kind == "all" else self.dice.random() * 0.02
        if holder and self.kind in ("parent", "all"):
            os.killpg(holder.pid, signal.SIGKILL) if self.kind == "all" else holder.kill()
        for victim in victims:
            alone = self.kind != "all" and self.dice.random() < 0.5
            stopped = stop_in_a_fill(victim) if in_fills else None
            with contextlib.suppress(ProcessLookupError):
                if alone:
                    os.kill(stopped or victim.pid, signal.SIGKILL)
                else:
                    os.killpg(victim.pid, signal.SIGKILL)
                self.killed += 1
                self.drafts += stopped is not None
            if self.reaps:
                victim.wait()
            time.sleep(pause)
        return victims

    def hear(self, fillers, victims):
        """Waits for everybody, children of the killed included: they hold the pipe."""
        for filler in fillers:
            said = filler.communicate(timeout=PATIENCE_S)[0].decode()
            lines = said.splitlines()
            if lines and lines[-1].startswith("longest"):
                self.longest_ns = max(self.longest_ns, int(lines.pop().split()[1]))
            elif filler not in victims:
                self.wrong.append(f"a filler ended with {filler.returncode}")
            self.wrong += lines

    # ---- checks ----

    def check_entries(self):
        for path in (HOME / "tree").glob("*/**/*"):
            if path.is_file() and path.name != ";origin" and path.name[-1] != ";":
                below = path.relative_to(HOME / "tree")
                origin = self.directory.joinpath(*below.parts[1:-1], path.name.split(";", 1)[1])
                if path.read_bytes() != origin.read_bytes():
                    self.wrong.append(f"{path} does not equal its origin")
                if path.stat().st_mode & 0o7777 != 0o400:
                    self.wrong.append(f"{path} has another mode")

    def recover(self):
        """The next run: what is left is counted and cleared, and the cache works."""
        tests = self.build / "tests/cache/kills"
        look = f"{tests}/accounts {HOME}"
        read = f"{tests}/filler plain {self.directory} {FILES}"
        summary = pathlib.Path("/dev/shm/summary")
        done = subprocess.run(
            list(map(str, self.stoker("sh", "-c", f"{look}; find {HOME}/fill -type f | wc -l; {read} 1 && "
                                      f"{read} 2; {look}",
                                      flags=["--keep", f"--json={summary}"]))),
            env=self.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        lines = done.stdout.decode().splitlines()
        if done.returncode != 0 or len(lines) != 5:
            self.wrong.append(f"the next run ended with {done.returncode}: {lines} {done.stderr}")
            return
        self.check_accounts("at the start of the next run", json.loads(lines[0]))
        self.check_accounts("at its end", json.loads(lines[4]), present=FILES)
        if lines[1] != "0":
            self.wrong.append(f"{lines[1]} drafts are left")
        if json.loads(summary.read_text())["hits"] < FILES:
            self.wrong.append("the next run does not hit")

    def check_accounts(self, when, accounts, present=None):
        if accounts["used"] != accounts["there"]:
            self.wrong.append(f"the budget is off {when}: {accounts}")
        if present is not None and (accounts["present"] < present or accounts["filling"] != 0):
            self.wrong.append(f"not all is filled {when}: {accounts}")

    # ---- a round ----

    def run(self):
        holder, env = self.start_run()
        fillers = self.start_fillers(env)
        victims = self.kill_some(holder, fillers)
        self.hear(fillers, victims)
        if holder:
            holder.communicate(timeout=PATIENCE_S)
        self.drafts = max(self.drafts, len(drafts()))  # a survivor may have removed some
        self.check_entries()
        self.recover()
        self.check_entries()

    def tidy(self):
        """Before the next round: nothing is known, or half of the entries are gone unnoticed."""
        if self.dice.random() < 0.5:
            shutil.rmtree(HOME)
        else:
            entries = [path for path in (HOME / "tree").glob("*/**/*") if path.is_file()]
            for path in self.dice.sample(entries, len(entries) // 2):
                path.unlink()


def drafts():
    return list((HOME / "fill").glob("*"))


def is_over(filler):
    return bool(os.waitid(os.P_PID, filler.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))


def wait_for_a_fill(fillers):
    """Waits until a filler has a draft, or has ended. On a busy machine they take a while to start."""
    while not (drafts() or any(map(is_over, fillers))):
        time.sleep(0.001)


def stop_in_a_fill(filler):
    """Stops a process of a filler while it fills. Returns its number, or None if the filler has ended or fills no more."""
    for _ in range(50):
        for draft in drafts():
            pid = int(draft.name.split(".")[0].split("-")[1])  # a draft is named by its filler
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(pid) == filler.pid:
                    os.kill(pid, signal.SIGSTOP)
                    if draft.exists():
                        return pid
                    os.kill(pid, signal.SIGCONT)
        if is_over(filler):
            break
        time.sleep(0.0005)
    return None


def start(argv, env, **more):
    """In a session of its own, so that its children can be killed with it."""
    return subprocess.Popen(list(map(str, argv)), env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, start_new_session=True,
                            **{"stdin": subprocess.DEVNULL, **more})


def main():
    build, directory, first, count = sys.argv[1:]
    result = {"rounds": 0, "killed": 0, "drafts": 0, "longest_s": 0, "longest_reaped_s": 0,
              "wrong": {}}
    for number in range(int(first), int(first) + int(count)):
        this = Round(pathlib.Path(build), pathlib.Path(directory), number)
        this.run()
        this.tidy()
        result["rounds"] += 1
        result["killed"] += this.killed
        result["drafts"] += this.drafts
        result["longest_s"] = max(result["longest_s"], this.longest_ns / 1e9)
        if this.reaps:
            result["longest_reaped_s"] = max(result["longest_reaped_s"], this.longest_ns / 1e9)
        if this.wrong:
            result["wrong"][number] = this.wrong[:5]
    print(json.dumps(result))


if __name__ == "__main__":
    main()
