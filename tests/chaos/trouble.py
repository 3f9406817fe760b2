"""The faults of a round, one after the other, beside the killing that the player does."""

import contextlib
import errno
import os
import subprocess
import time

FAULTS = [{"read": errno.EIO}, {"read": errno.ESTALE, "read_from": 20000}, {"open": errno.EIO},
          {"open": errno.ESTALE}, {"getattr": errno.EIO}, {"lookup": errno.ESTALE, "spared": 3}]
SHORT = [{"read_most": 1000}, {"read_most": 70000}]
AFTERSHOCK_S = 1.0  # what was asked of a faulty origin may still be on its way
HOG_BYTES = 110 << 20


class Trouble:
    """Each method is one kind of trouble, and takes as long as it lasts."""

    def __init__(self, place, dice):
        self.place, self.dice = place, dice
        self.kinds = [self.quake, self.quake, self.brim, self.slowness, self.clear]
        self.done = dict.fromkeys(("quake", "brim", "slowness", "clear", "squeeze"), 0)
        if place.memory:
            self.kinds.append(self.squeeze)

    def make_one(self):
        kind = self.dice.choice(self.kinds)
        volume, seconds = self.dice.choice(self.place.volumes), self.dice.uniform(0.3, 2.5)
        kind(volume, seconds)
        self.done[kind.__name__] += 1
        time.sleep(self.dice.uniform(0.2, 2))

    def quake(self, volume, seconds):
        """The origin fails, is stale, or reads short."""
        self.place.play("shake", volume.number)
        with volume.fs.faults(**self.dice.choice(FAULTS + SHORT * volume.reads_short)):
            time.sleep(seconds)
        time.sleep(AFTERSHOCK_S)
        self.place.play("shake", volume.number)

    def slowness(self, volume, seconds):
        before = volume.fs.latency_ms
        volume.fs.latency_ms = self.dice.choice([0, 2, 20])
        time.sleep(seconds)
        volume.fs.latency_ms = before

    def brim(self, _, seconds):
        """Another program takes all that the tier's file system has, byte and inode."""
        flood = "/dev/shm/flood"
        with open(flood, "wb") as file, contextlib.suppress(OSError):
            for step in (1 << 20, 4096):
                while True:
                    free = os.statvfs("/dev/shm").f_bavail * 4096
                    if free < step:
                        break
                    size = os.fstat(file.fileno()).st_size
                    os.posix_fallocate(file.fileno(), size, free // step * step)
        time.sleep(seconds)
        os.unlink(flood)

    def clear(self, _, seconds):
        """The cache is removed below its users, or its part for the covered path."""
        what = [self.place.data] if self.dice.random() < 0.5 else []
        subprocess.run(self.dice.choice(self.place.volumes).command(
            [self.place.build / "stoker", "clear", *what], self.place.env()), check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds / 2)

    def squeeze(self, _, seconds):
        """A process in the readers' group takes most of its memory: the first to be killed for
        it."""
        hog = subprocess.Popen(
            ["sh", "-c", 'echo $$ >"$0/tasks" && echo 1000 >/proc/self/oom_score_adj && exec tail',
             self.place.memory], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        with contextlib.suppress(BrokenPipeError):
            for _ in range(HOG_BYTES >> 20):
                hog.stdin.write(bytes(1 << 20))
            hog.stdin.flush()
        time.sleep(seconds)
        hog.kill()
        with contextlib.suppress(BrokenPipeError):
            hog.stdin.close()
        hog.wait()
