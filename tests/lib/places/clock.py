"""Steps the wall clock to and fro, and leaves it right. It is that of a round's processes alone
(skew.c), or this machine's, for all programs: so only on a machine of one's own."""

import struct
import time

FAR_S = [0.01, 1, 60, 3600, 5 * 3600]


class Skewed:
    """The clock of processes that have the library preloaded."""

    def __init__(self, build, file):
        self._library, self._file, self._off_ns = build / "tests/chaos/skew.so", file, 0
        file.write_bytes(struct.pack("q", 0))

    def env(self, preload=""):
        """Returns the environment of all these processes, with further preloaded libraries."""
        return {"LD_PRELOAD": f"{self._library} {preload}".strip(), "SKEW": self._file}

    def step_by(self, seconds):
        self.step_to(self._off_ns / 1e9 + seconds)

    def step_to(self, seconds):
        """That far ahead. In place: all have the file mapped."""
        self._off_ns = round(seconds * 1e9)
        with open(self._file, "r+b", buffering=0) as file:
            file.write(struct.pack("q", self._off_ns))


class Machine:
    """The clock of all programs."""

    @staticmethod
    def env(preload=""):
        return {"LD_PRELOAD": preload}

    @staticmethod
    def step_by(seconds):
        now = time.clock_gettime(time.CLOCK_REALTIME)
        time.clock_settime(time.CLOCK_REALTIME, now + seconds)


def step_until(end, dice, clock):
    """Steps the clock until time.monotonic() reaches end; half of the time it is right. Returns how
    often it was stepped. The error is always known, so that it can be undone."""
    off = steps = 0
    try:
        while time.monotonic() < end:
            far = dice.choice([-1, 1]) * dice.choice(FAR_S) * dice.uniform(0.5, 1)
            step = (0 if off else far) - off
            off += step
            clock.step_by(step)
            steps += 1
            time.sleep(dice.uniform(0.5, 3))
    finally:
        clock.step_by(-off)
    return steps
