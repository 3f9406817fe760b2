"""Counts the processors that this process may use."""

import os


def processors():
    """Returns their number now. A launcher may have left the process fewer than the machine has."""
    return len(os.sched_getaffinity(0))
