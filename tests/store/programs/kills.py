"""Processes that decode JPEGs by one sample store, and are killed at any moment.

    kills.py SECONDS SEED

Sixteen processes decode from bytes and from files, first touches and later ones, in rounds, each
with an empty store. One after the other is killed and takes up again. Every pixel is compared with
Pillow's. After each round a new process opens the store, finds what was kept, and keeps more.
Prints JSON.
"""

import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from tagged import BOX, digest, make_pictures, tagged

WORKERS = 16
ROUND_S = 3
MOST_S = 60  # for what a round has to do, on a busy machine
STUCK_S = 60
LEAST = {"killed": 25, "decodes": 500, "from_forms": 150, "unread": 50}  # in a round
FILES = 60
SLOT = struct.Struct("QQQQQ")  # when last seen, decodes, of these from forms, unread, wrong


# ---- a worker ----

class Worker:
    def __init__(self, slots, index, pictures, files, seed):
        self.slots, self.index, self.pictures, self.files = slots, index, pictures, files
        self.dice = random.Random(seed)

    def source(self):
        """Bytes or a path, and which picture it is. Newer ones are more likely new to the store."""
        if self.dice.random() < 0.4:
            number = self.dice.randrange(FILES)
            return str(self.files / f"{number}.jpg"), number % len(self.pictures)
        tag = self.dice.randrange(100 * (1 + int(time.monotonic() * 10) % 50))
        number = tag % len(self.pictures)
        return tagged(self.pictures[number][0], tag), number

    def step(self, decode):
        source, number = self.source()
        box = self.dice.choice((None, BOX))
        return digest(decode(source, box=box)) == self.pictures[number][1][box]

    def run(self):
        import stoker
        from stoker import _core
        before, wrong = _core.counts(), 0
        for decodes in range(1, 1 << 60):
            wrong += not self.step(stoker.decode)
            now = _core.counts()
            SLOT.pack_into(self.slots, self.index * SLOT.size, time.monotonic_ns(), decodes,
                           now["from_forms"] - before["from_forms"], now["unread"] - before["unread"],
                           wrong)


# ---- the one that kills ----

class Round:
    def __init__(self, pictures, number):
        self.pictures, self.dice, self.number = pictures, random.Random(number), number
        self.slots = mmap.mmap(-1, WORKERS * SLOT.size)
        self.pids = [0] * WORKERS
        self.total = {"killed": 0, "decodes": 0, "from_forms": 0, "unread": 0, "wrong": []}

    def start(self, index):
        self.seen(index)
        SLOT.pack_into(self.slots, index * SLOT.size, time.monotonic_ns(), 0, 0, 0, 0)
        self.pids[index] = os.fork()
        if self.pids[index] == 0:
            try:
                Worker(self.slots, index, self.pictures, self.files,
                       self.dice.random() + index).run()
            finally:
                os._exit(3)

    def seen(self, index):
        at, decodes, forms, unread, wrong = SLOT.unpack_from(self.slots, index * SLOT.size)
        self.total["decodes"] += decodes
        self.total["from_forms"] += forms
        self.total["unread"] += unread
        if wrong:
            self.total["wrong"].append(f"round {self.number}: {wrong} wrong pictures")
        if at and time.monotonic_ns() - at > STUCK_S * 1e9:
            self.total["wrong"].append(f"round {self.number}: a process was stuck")

    def kill(self, index):
        os.kill(self.pids[index], signal.SIGKILL)
        status = os.waitpid(self.pids[index], 0)[1]
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            self.total["wrong"].append(f"round {self.number}: a worker ended with {status:#x}")
        self.total["killed"] += 1

    def is_enough(self):
        return all(self.total[name] > least for name, least in LEAST.items())

    def run(self, directory, seconds):
        self.files = directory / "files"
        self.files.mkdir()
        for number in range(FILES):
            jpeg = tagged(self.pictures[number % len(self.pictures)][0], 1 << 40 | number)
            (self.files / f"{number}.jpg").write_bytes(jpeg)
        time.sleep(0.1)
        for index in range(WORKERS):
            self.start(index)
        began = time.monotonic()
        while (took := time.monotonic() - began) < seconds or (took < MOST_S and not self.is_enough()):
            time.sleep(self.dice.random() * 0.06)
            for index in self.dice.sample(range(WORKERS), self.dice.choice((1, 1, 1, 4, WORKERS))):
                self.kill(index)
                self.start(index)
        for index in range(WORKERS):
            self.kill(index)
            self.seen(index)
        return self.total


def look(files):
    """Returns what a new process finds in the store."""
    import stoker
    from stoker import _core
    pictures, wrong = make_pictures(), 0
    tags = [*range(2000), *range(1 << 50, (1 << 50) + 50)]
    for tag in (*tags, *tags[-50:]):
        jpeg, digests = pictures[tag % len(pictures)]
        wrong += digest(stoker.decode(tagged(jpeg, tag))) != digests[None]
    for number in range(FILES):
        found = digest(stoker.decode(str(pathlib.Path(files) / f"{number}.jpg")))
        wrong += found != pictures[number % len(pictures)][1][None]
    counts = _core.counts()
    print(json.dumps({"wrong": wrong, **{name: counts[name] for name in ("from_forms", "forms")}}))


def one_round(seconds, number, directory):
    import stoker
    pictures = make_pictures()
    stoker.decode(pictures[0][0])  # the store is open when the workers are forked
    print(json.dumps(Round(pictures, number).run(pathlib.Path(directory), seconds)))


def step(*words, store):
    """This program in a process of its own; what it said."""
    done = subprocess.run([sys.executable, "-B", __file__, *map(str, words)], check=True,
                          env={**os.environ, "STOKER_DECODED": f"{store}:1G"},
                          stdout=subprocess.PIPE, timeout=MOST_S + 300)
    return json.loads(done.stdout)


def main():
    if sys.argv[1] in ("round", "look"):
        one_round(float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]) if sys.argv[1] == "round" \
            else look(sys.argv[2])
        return
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    result = {"rounds": 0, "idle_rounds": 0, "killed": 0, "decodes": 0, "from_forms": 0, "unread": 0,
              "wrong": [], "found": 0, "kept": 0}
    end = time.monotonic() + seconds
    while (time.monotonic() < end or result["rounds"] < 2) and not result["wrong"]:
        directory = pathlib.Path(tempfile.mkdtemp())
        number = seed * 1000 + result["rounds"]
        told = step("round", ROUND_S, number, directory, store=directory / "store")
        seen = step("look", directory / "files", store=directory / "store")
        result["rounds"] += 1
        result["found"] += seen["from_forms"]
        result["kept"] += seen["forms"]
        for name, value in told.items():
            result[name] += value
        result["idle_rounds"] += any(told[name] <= least for name, least in LEAST.items())
        if seen["wrong"] or seen["forms"] < 50:
            result["wrong"].append(f"round {number}: afterwards {seen}")
        shutil.rmtree(directory)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
