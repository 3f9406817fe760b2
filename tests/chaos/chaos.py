#!/usr/bin/env python3
"""A round of chaos: readers and writers of all kinds, and everything goes wrong at the same time.

    chaos.py [--build DIR] [--seconds N] [--seed N] [--step-clock] [--without]

Eight readers in four sessions, each of one run, in two mount namespaces where one path leads to
different volumes. Each namespace has a writer beside the library and one behind the origin. The
sessions have further writers, through the library. Readers are killed and stopped, and commands
killed. The tier is filled to the brim and cleared, the origin fails, memory is short, the wall
clock is stepped. Every byte that a reader sees is compared with the ledger of writes (ledger.h). A
seed fixes the plan; not how it falls out.

The clock is stepped to and fro for the processes of the round alone (skew.c). With --step-clock it
is this machine's, for all programs: only for a machine of your own.

Exits 1 when anything was wrong, and 77 when it cannot be done here.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import sys
import textwrap
import threading
import time

import after
import clock
import place as places
from session import KINDS, Session
from trouble import Trouble

LANES = 4
# The catalogue, four runs' tables and that of the processes outside any run take 4.7 MiB: the least
# budget leaves room for some entries, and is full at once.
BUDGETS = ["6M", "12M", "60M"]
LAST_S = 3  # before the end nothing goes wrong any more


class Round:
    def __init__(self, place, options):
        self.place, self.options = place, options
        self.end = time.monotonic() + options.seconds
        self.wrong, self.sums = [], collections.Counter()
        self.lock = threading.Lock()
        self.runs = 0
        self.trouble = Trouble(place, random.Random(f"{options.seed} trouble"))

    def next_run(self):
        """Its number, which no other run has had: what one must not see depends on the volume."""
        with self.lock:
            self.runs += 1
            return self.runs

    def lane(self, number):
        """Sessions in one volume, one after the other."""
        dice = random.Random(f"{self.options.seed} lane {number}")
        volume = self.place.volumes[number % places.VOLUMES]
        kinds = ["plain"] if self.options.without else KINDS
        while time.monotonic() < self.end - LAST_S:
            session = Session(self.place, volume, self.next_run(), dice, kinds)
            session.play()
            if self.options.verbose:
                print(f"{time.monotonic() - self.end:.0f} {session.story()}", file=sys.stderr)
            self.note(session)

    def note(self, session):
        with self.lock:
            self.wrong += session.said
            self.sums.update({"sessions": 1, session.kind: 1, f"{session.end} killed": 1})
            self.sums.update({name: session.counts.get(name, 0)
                              for name in ("opens", "hits", "fills")})
            self.sums["refused"] += session.refused

    def writers(self, volume, hand):
        """Plays a writer beside the library, all the time."""
        session = Session.of_a_writer(self.place, volume, hand, self.options.seconds - LAST_S,
                                      random.Random(f"{self.options.seed} {volume.number} {hand}"))
        session.play()
        self.note(session)

    def troubles(self):
        while time.monotonic() < self.end - LAST_S:
            self.trouble.make_one()

    def play(self):
        threads = [threading.Thread(target=self.lane, args=(number,)) for number in range(LANES)]
        threads += [threading.Thread(target=self.writers, args=(volume, hand))
                    for volume in self.place.volumes for hand in ("here", "behind")]
        threads.append(threading.Thread(target=self.troubles))
        for thread in threads:
            thread.start()
        self.sums["steps"] = clock.step_until(
            self.end - LAST_S, random.Random(f"{self.options.seed} clock"), self.place.clock)
        for thread in threads:
            thread.join()
        if not self.options.without:
            self.wrong += after.check(self.place, self.next_run)
            if self.sums["hits"] == 0:
                self.wrong.append("nothing was served from the cache")
            if self.sums["refused"] > self.trouble.done["brim"] * LANES:
                self.wrong.append("runs were refused, and the tier was not full")

    def summary(self):
        """One paragraph."""
        counts, sums, done = json.loads(self.place.play("counts")), self.sums, self.trouble.done
        return textwrap.fill(
            f"chaos: seed {self.options.seed}, {self.options.seconds} s: {counts['operations']} looks "
            f"({counts['judged']} judged, {counts['unjudged']} in the middle of a change or fault), "
            f"{counts['changes']} changes; {sums['run']} sessions with the command, {sums['alone']} "
            f"without it, {sums['plain']} without the library; the commands counted {sums['opens']} "
            f"opens, {sums['hits']} hits, {sums['fills']} fills; {counts['killed']} readers killed, "
            f"{counts['stopped']} stopped, {sums['command killed']} commands and "
            f"{sums['all killed']} whole sessions killed, {sums['refused']} refused for want of "
            f"room; {done['quake']} times a faulty origin, "
            f"{done['slowness']} a slow one, {done['brim']} a full tier, {done['clear']} a cleared "
            f"one, {done['squeeze']} short of memory, {sums['steps']} steps of the clock; "
            f"{max(len(self.wrong), counts['violations'])} violations.", 100)


def by_kind(wrong):
    """One of each kind of violation, and how many there are."""
    kinds = collections.defaultdict(list)
    for line in wrong:
        kinds[re.sub(r"^\S+/|[0-9a-f]*[0-9][0-9a-f]*|latest|\b[ab]\b", "", line)[:60]].append(line)
    return [f"{len(lines)} times: {lines[0]}" for lines in kinds.values()]


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--step-clock", action="store_true")
    parser.add_argument("--without", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    obstacle = places.obstacle()
    if obstacle:
        print(f"skipped: chaos: {obstacle}")
        return 77
    places.enter()
    budget = random.Random(f"{options.seed} budget").choice(BUDGETS)
    disk = random.Random(f"{options.seed} disk").choice((False, True))
    with places.Place(options.build, budget, disk, options.step_clock) as place:
        if not place.memory:
            print("skipped: chaos: memory is never short: no memory group can be made here")
        for volume in place.volumes:
            place.play("make", volume.number, seed=options.seed)
        this = Round(place, options)
        this.play()
        print(*by_kind(this.wrong), this.summary(), sep="\n")
        return 1 if this.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
