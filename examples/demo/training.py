"""Runs the training script as a user would, reads its lines, and counts at the origin meanwhile.

Knows the script only by what it prints, and slowfs only by its counters.
"""

import collections
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading

EPOCH_LINE = re.compile(r"epoch (\d+)/\d+: (\d+) images, ([\d.]+) images/s, "
                        r"waited for data ([\d.]+) s, loss (\S+)")
TICK_S = 0.25
PATIENCE_S = 5.0

# origin_ops: opens, reads and stats of files that reached the origin during the epoch
Epoch = collections.namedtuple("Epoch", "number images images_per_s waited_s loss origin_ops")


class TrainingError(RuntimeError):
    """The training command failed; the text holds what it said last."""


class Training:
    """One run of a training command over a SlowFS, as a context manager."""

    def __init__(self, command, fs):
        self._command = command
        self._fs = fs
        self._lines = queue.Queue()
        self._process = self._complaints = self._scratch = None

    def __enter__(self):
        self._complaints = tempfile.TemporaryFile("w+", errors="replace")
        # Workers that are ended leave their sockets' directories behind.
        self._scratch = tempfile.TemporaryDirectory(prefix="stoker-demo-")
        self._fs.reset()
        # In a session of its own: an interrupt comes to us, and we end it with all its workers.
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self._complaints, universal_newlines=True, start_new_session=True,
            env=dict(os.environ, TMPDIR=self._scratch.name))
        threading.Thread(target=self._read_lines, daemon=True).start()
        return self

    def __exit__(self, *exception):
        end_group(self._process)
        self._complaints.close()
        self._scratch.cleanup()

    def _read_lines(self):
        """Counts as soon as a line comes: the next epoch begins right behind it."""
        for line in self._process.stdout:
            self._lines.put((line.rstrip("\n"), self._fs.counts()))
        self._lines.put((None, None))

    def epochs(self, tick):
        """Yields (line, Epoch) for each epoch; calls tick(counts of it so far) meanwhile."""
        before = self._fs.counts()
        while True:
            try:
                line, counted = self._lines.get(timeout=TICK_S)
            except queue.Empty:
                tick(self._fs.counts() - before)
                continue
            if line is None:
                break
            found = EPOCH_LINE.match(line)
            if found:
                yield line, epoch_of(found, (counted - before).file_ops)
                before = counted
        self._check_end()

    def _check_end(self):
        status = self._process.wait()
        if status != 0:
            raise TrainingError("this failed with status %d: %s\n%s" % (
                status, " ".join(self._command), self.complaints()[-3000:]))

    def complaints(self):
        """Returns its standard error."""
        self._complaints.seek(0)
        return self._complaints.read().strip()


def epoch_of(found, origin_ops):
    number, images, images_per_s, waited_s, loss = found.groups()
    return Epoch(int(number), int(images), float(images_per_s), float(waited_s), float(loss),
                 origin_ops)


def end_group(process):
    """Ends the process and its workers, if they still run: asks first, then kills."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(PATIENCE_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
    process.wait()
    process.stdout.close()
