"""Counts of stoker._gpu.uploads, where a test sets the time and the device. Usage: uploads.py"""

import torch
from sets import say

from stoker import _core
from stoker._gpu import uploads


class Fence:
    def __init__(self, there):
        self.there = there

    def query(self):
        return self.there


class Place:
    idle = locked = False
    noted = 0

    def is_idle(self):
        return self.idle

    def is_locked(self, tensor):
        return self.locked

    def note(self):
        self.noted += 1
        return self.noted

    def between_ns(self, noted, fence):
        return 1000 + noted


def counted(work):
    """Returns the counters that a function raises, with the difference."""
    before = _core.counts()
    work()
    return {name: count - before[name] for name, count in _core.counts().items() if count != before[name]}


def send(all_of, seconds, *tensors):
    clock = iter([0, int(seconds * 1e9)])
    uploads.monotonic_ns = lambda: next(clock)
    all_of.begin()
    for tensor, locked in tensors:
        all_of.add(tensor, locked)
    all_of.end()


place = Place()
images, labels = torch.zeros(2, 3, 4, 4, dtype=torch.uint8), torch.zeros(2)
every = uploads.Uploads(place)
say("busy", counted(lambda: send(every, 1, (images, True), (labels, False))))
place.idle = place.locked = True
say("idle", counted(lambda: send(every, 1, (images, True), (labels, False))))

say("there", counted(lambda: (every.ask(Fence(True)), every.look())))
say("noted", place.noted)
late = [Fence(False), Fence(False)]
say("late", counted(lambda: (every.ask(late[0]), every.ask(late[1]), every.look())))
late[0].there = True
say("arrived", counted(lambda: (every.look(), every.look())))
late[1].there = True
say("both", counted(every.look))
