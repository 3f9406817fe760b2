"""How many processors there are for this process."""

import os


def processors():
    """Those that it may use now: a launcher may have left it fewer than there are."""
    return len(os.sched_getaffinity(0))
