"""One session: some readers, perhaps a writer, of one run; and its end, which may come early."""

import json
import os
import signal
import subprocess
import time

KINDS = ["run"] * 5 + ["alone"] * 2 + ["plain"]  # with the command, without it, without the library
FRESH = ["run"] * 7 + ["open"] * 2 + ["never"]
PATIENCE_S = 90
READERS = 2


class Session:
    def __init__(self, place, volume, run, dice, kinds=tuple(KINDS)):
        self.place, self.volume, self.run = place, volume, run
        self.kind = dice.choice(kinds)
        self.fresh = "open" if self.kind == "plain" else dice.choice(FRESH)
        self.seconds = dice.randint(2, 10)
        self.readers, self.hand = READERS, "here"
        self.writers = int(self.kind != "plain" and dice.random() < 0.6)
        # A writer may hold a lock, so it must not be killed for want of memory.
        self.squeezed = not self.writers and dice.random() < 0.5
        self.seed = dice.randrange(1 << 30)
        # Killed early are: no process, the command, or all.
        self.end = dice.choice(["", "", "", "command" if self.kind == "run" else "",
                                "all" if not self.writers else ""])
        self.end_after_s = dice.random() * self.seconds
        self.summary = place.scratch / f"summary-{run}.json"
        self.counts, self.said, self.refused = {}, [], False

    @classmethod
    def of_a_writer(cls, place, volume, hand, seconds, dice):
        """A writer beside the library, by the readers' mount or behind the origin."""
        session = cls(place, volume, 0, dice, ["plain"])
        session.readers, session.writers, session.hand = 0, 1, hand
        session.seconds, session.squeezed, session.end = seconds, False, ""
        return session

    def story(self):
        """Returns the session's description, in a line."""
        return (f"run {self.run} {self.kind} --fresh={self.fresh} volume {self.volume.number}, "
                f"{self.seconds} s, {self.writers} writers, killed: {self.end or 'nobody'}"
                f"{', little memory' if self.squeezed else ''}; {self.said}")

    def line(self):
        player = self.place.player(
            "session", self.volume.number, run=self.run, seconds=self.seconds, seed=self.seed,
            readers=self.readers, writers=self.writers, fresh=self.fresh, hand=self.hand, kills=1,
            library=int(self.kind != "plain"))
        env = self.place.env(STOKER_FRESH=self.fresh)
        if self.kind == "run":
            player = self.place.stoker(*player, flags=[f"--json={self.summary}", "--keep"])
        elif self.kind == "alone":
            env.update(self.place.preload())
        return self._within_little_memory() + self.volume.command(player, env)

    def _within_little_memory(self):
        if not (self.squeezed and self.place.memory):
            return []
        return ["sh", "-c", 'echo $$ >"$0/tasks" && exec "$@"', str(self.place.memory)]

    def play(self):
        """Runs it to its end. The versions that the run must not see any more are noted before it
        begins."""
        self.place.play("begin", self.volume.number, run=self.run)
        process = subprocess.Popen(self.line(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        if self.end:
            time.sleep(self.end_after_s)
            (os.killpg if self.end == "all" else os.kill)(process.pid, signal.SIGKILL)
        self._hear(process)
        if self.summary.exists():
            text = self.summary.read_text()
            self.counts = json.loads(text) if text else {}
            self.summary.unlink()

    def _hear(self, process):
        """Waits for everybody: orphans of a killed command hold the pipe."""
        try:
            said, complaints = process.communicate(timeout=self.seconds + PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.said.append(f"run {self.run}: the session has not ended")
            os.killpg(process.pid, signal.SIGKILL)
            said, complaints = process.communicate()
        self.said += said.splitlines()
        # Where memory is short, the kernel may have killed it; where the tier that was named is full,
        # no run begins.
        refused = process.returncode == 2 and "no tmpfs has room" in complaints
        if process.returncode not in (0, -signal.SIGKILL, 128 + signal.SIGKILL) and not refused:
            self.said.append(f"run {self.run}: ended with {process.returncode}: {complaints}")
        self.refused = refused
