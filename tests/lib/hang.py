"""Shows what hangs, and where: the processes that a test or a part of the tests has started, as the
kernel sees them. As a program it gives a command a limit:

    hang.py SECONDS COMMAND [ARGUMENT...]

runs it, and ends as it does. After so many seconds it shows what is running, kills all of it, and
ends with 124.
"""

import ctypes
import os
import pathlib
import signal
import sys

_PR_SET_CHILD_SUBREAPER = 36
_LONGEST = 300  # characters shown of a command line
_MOST = 3  # so that the report of a hang names the test, not its part


def patience(seconds):
    """Returns `seconds` of a free machine as a limit on this one, where other programs want the
    processors as well. Only a test that hangs reaches it."""
    share = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return seconds * min(max(share, 1), _MOST)


def _read(pid, name):
    """A file of a process, or nothing: it may have ended, or not be ours."""
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_text(errors="replace").rstrip("\0\n ")
    except OSError:
        return ""


def _parents():
    """The parent of each process there is. A name between the brackets may hold spaces."""
    found = {}
    for entry in os.listdir("/proc"):
        after = _read(entry, "stat").rpartition(")")[2].split() if entry.isdigit() else ()
        if len(after) > 1:
            found[int(entry)] = int(after[1])
    return found


def below(pid):
    """(depth, pid) of all processes that a process has started, each behind its parent."""
    parents = _parents()

    def walk(parent, depth):
        for child in sorted(one for one, its in parents.items() if its == parent):
            yield depth, child
            yield from walk(child, depth + 1)

    return list(walk(pid, 0))


def _lines(depth, pid):
    """Yields the lines of a process: its command line, and where each of its threads waits."""
    indent = "  " * depth
    yield f"{indent}{pid} {_read(pid, 'cmdline').replace(chr(0), ' ')[:_LONGEST]!r}"
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        status = dict(line.partition(":")[::2] for line in _read(thread, "status").splitlines())
        where = f"syscall {_read(thread, 'syscall').split(' ')[0]}, {_read(thread, 'wchan')}"
        yield f"{indent}  {thread}: {status.get('State', '').strip()}, {where}"
        yield from (f"{indent}    {frame}" for frame in _read(thread, "stack").splitlines())


def show(pid, file):
    """Prints what a process has started. It waits for nothing."""
    for depth, child in below(pid):
        print("\n".join(_lines(depth, child)), file=file)
    file.flush()


def _wait(pid):
    """Returns the exit status of a process. Orphans that have become this process's children are
    reaped as init would."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def _late(_signal, _frame):
    raise TimeoutError


def main(seconds, *command):
    # An orphan becomes this process's child, so that it is shown and killed as well.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGALRM, _late)
    pid = os.posix_spawnp(command[0], command, os.environ)
    signal.alarm(int(seconds))
    try:
        status = _wait(pid)
        return status if status >= 0 else 128 - status
    except TimeoutError:
        print(f"{' '.join(command)}: still running after {seconds} s, with:", flush=True)
    show(os.getpid(), sys.stdout)
    for _, child in below(os.getpid()):
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return 124


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
