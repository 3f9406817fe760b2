"""Which processes are gone, and have let go of what they held."""

import os


def _state(task):
    """R, S, D, ... as in proc(5); X of one that is not there any more."""
    try:
        with open(f"{task}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "X"


def is_alive(pid):
    """Returns true if a thread of it is left. A zombie has let go of all that it held."""
    try:
        return any(_state(f"/proc/{pid}/task/{thread}") not in "ZX"
                   for thread in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False


def _prints_to(pid, pipes):
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{number}") in pipes for number in (1, 2))
    except OSError:
        return False


def speakers(process):
    """Returns the pids that print to the pipes of a started process: its own, and those of its
    children."""
    ours = [pipe for pipe in (process.stdout, process.stderr) if pipe and not pipe.closed]
    pipes = {os.readlink(f"/proc/self/fd/{pipe.fileno()}") for pipe in ours}
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _prints_to(pid, pipes)]
