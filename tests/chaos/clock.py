"""Steps this machine's wall clock to and fro, and leaves it right. For all programs: so only on a
machine of one's own."""

import time

MOST_S = 3600


def step_until(end, dice):
    """Until time.monotonic() says end. What it is off by is always known, so that it can be undone."""
    off = 0
    try:
        while time.monotonic() < end:
            step = dice.choice([-1, 1]) * dice.choice([0.01, 1, 60, MOST_S])
            step_by(step)
            off += step
            time.sleep(dice.uniform(0.5, 3))
    finally:
        step_by(-off)


def step_by(seconds):
    time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + seconds)
