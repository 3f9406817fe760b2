#!/usr/bin/env python3
"""Runs one part of subject.c over and over, each time with another fault in the library's calls.

    sweep.py BUILD SCRATCH PART STATE LIMIT SHIFT [CASE...]

Made for tests/cache/faults/test_faults.py, which runs it in a place of its own: /dev/shm/stoker-0 is
removed again and again. Prints JSON: what was done, and what went wrong. A case is
"at 17 EIO", "from 17 EMFILE" or "every openat2 ENOSYS". Without any named, LIMIT of all there are
(0: all) are run, evenly spread; SHIFT selects others.

After each case the program has printed what it prints without the library. Every entry in the tier
holds a version that its file has had. A later program without faults sees the files as they are.
"""

import collections
import errno
import functools
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

HOME = pathlib.Path("/dev/shm/stoker-0")
AGE = 0.1
TIER = "/dev/shm:64M"
PATIENCE_S = 60
BATCH = 25  # data sets made at once, since each has to come of age

ERRORS = ["EIO", "ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EACCES", "EINTR", "ESTALE", "ENOMEM",
          "ENOSYS", "EPERM"]
LASTING = ["EMFILE", "ENOSPC", "EIO", "ENOMEM", "EACCES"]
DENIED = ["ENOSYS", "EPERM", "EINTR", "EIO"]  # as a seccomp filter does, an interval timer, a disk
SHORTENED = {"read", "pread64", "pwrite64"}
LOSABLE = {"mkdirat", "renameat2", "linkat", "unlinkat", "fchmodat", "fallocate", "pwrite64",
           "ftruncate"}

# These calls show that a descriptor is an entry's. On a file in memory they cannot fail, and a
# failing disk fails the change as well. Others ask the origin after such a change: where it does
# not answer, the former version is still shown.
SPARED = {"descriptor": {"fstat", "newfstatat", "statx"}}

READERS = {"open", "stdio", "stat", "children", "pointers"}  # these leave the files as they are
FILES = {"small": 5000, "large": 600000, "other": 3000, "sub/inner": 2000}


# ---- data sets ----

def contents(version):
    return {name: random.Random(f"{name} {version}").randbytes(size)
            for name, size in FILES.items()}


OLD, NEW = contents("old"), contents("new")


def make(base, files):
    (base / "sub").mkdir(parents=True)
    for name, content in files.items():
        (base / name).write_bytes(content)
        os.utime(base / name, (1500000000, 1500000000))
    (base / "link").symlink_to("small")


class Bases:
    """Directories with a fresh data set each; `next` beside it holds the version to come."""

    def __init__(self, scratch, batch):
        self._scratch, self._batch, self._ready = scratch, batch, collections.deque()
        self._numbers = itertools.count(1)

    def get(self):
        if not self._ready:
            for _ in range(self._batch):
                base = self._scratch / f"base{next(self._numbers):05}"
                make(base / "data", OLD)
                make(base / "next", NEW)
                self._ready.append(base)
            time.sleep(AGE)
        return self._ready.popleft()

    def put(self, base):
        shutil.rmtree(base)


def replace_all(base):
    """New versions of the same sizes take the places of the files, behind everybody's back."""
    for name in FILES:
        os.rename(base / "next" / name, base / "data" / name)


# ---- running ----

class Sweep:
    def __init__(self, build, scratch, part, state):
        self.build, self.scratch, self.part, self.state = build, scratch, part, state
        self.subject = build / "tests/cache/faults/subject"
        self.disk = scratch / "disk"
        self.disk.mkdir(exist_ok=True)
        self.on_disk = state in ("disk", "booted")
        self.tree = (self.disk / HOME.name if self.on_disk else HOME) / "tree"
        self.reuses = part in READERS and state != "replaced"
        self.bases = Bases(scratch, 1 if self.reuses else BATCH)
        self.base = self.bases.get() if self.reuses else None
        self.expected = self.expect()

    def env(self, base, **more):
        return {"PATH": os.environ["PATH"], "LANG": "C", "STOKER_PATHS": str(base / "data"),
                "STOKER_TIERS": f"{self.disk}:64M" if self.on_disk else TIER,
                "STOKER_MIN_AGE": "0.05", **more}

    def execute(self, argv, env):
        return subprocess.run(list(map(str, argv)), env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=PATIENCE_S)

    def plainly(self, part, base):
        env = {"PATH": os.environ["PATH"], "LANG": "C"}
        return self.execute([self.subject, part, base], env)

    def preloaded(self, part, base, **more):
        env = self.env(base, LD_PRELOAD=str(self.build / "libstoker.so"), **more)
        return self.execute([self.subject, part, base], env)

    def said(self, done, base):
        return done.returncode, done.stdout.replace(os.fsencode(base), b"@")

    def expect(self):
        """Returns the part's output without the library."""
        base = self.base or self.bases.get()
        if self.state == "replaced":
            replace_all(base)
        status, text = self.said(self.plainly(self.part, base), base)
        assert status == 0 and text.endswith(b"end\n"), text.decode(errors="replace")
        return status, text

    def prepare(self, base):
        """Empties the tier, or puts it into the state; returns what the environment then needs."""
        shutil.rmtree(HOME, ignore_errors=True)
        shutil.rmtree(self.disk / HOME.name, ignore_errors=True)
        if self.state in ("cold", "full", "run", "disk"):
            return {"STOKER_TIERS": "/dev/shm:1"} if self.state == "full" else {}
        warm = self.preloaded("look", base)
        assert warm.returncode == 0, warm.stdout
        if self.state == "dropped":
            shutil.rmtree(self.tree)
        if self.state == "forgotten":
            (HOME / "catalogue").unlink()
        if self.state == "booted":
            shutil.rmtree(HOME)
            for entry in self.tree.rglob("*;*"):
                os.utime(entry)  # by its mtime it is of this boot
        if self.state == "replaced":
            replace_all(base)
        return {"STOKER_FRESH": "never"} if self.state in ("known", "dropped") else {}

    def meddled(self, base, options):
        more = self.prepare(base)
        meddle = [self.build / "tests/cache/faults/meddle", *options]
        if self.state != "run":
            meddle += ["--preload", self.build / "libstoker.so"]
            return self.execute([*meddle, "--", self.subject, self.part, base],
                                self.env(base, **more))
        script = f'{self.subject} look "$0" >/dev/null && exec "$@"'
        return self.execute([self.build / "stoker", "run", "--keep", f"--path={base}/data",
                             f"--tier={TIER}", "--", "sh", "-c", script, base, *meddle, "--",
                             self.subject, self.part, base], self.env(base))

    def count(self):
        """The library's calls when all goes well: their names."""
        base = self.base or self.bases.get()
        log = self.scratch / "calls"
        done = self.meddled(base, ["--log", log])
        assert self.said(done, base) == self.expected, done.stdout.decode(errors="replace")
        return [line.split()[1] for line in log.read_text().splitlines()]

    def spared(self, case):
        """Which calls are none of a case's even where its number meets them. On a busy machine it may meet another one
        than it was made for, and the answer to a read, say, is never lost."""
        only = sorted(LOSABLE) if "lost-" in case else ()
        return [word for option, calls in (("--spare", sorted(SPARED.get(self.part, ()))), ("--only", only))
                for call in calls for word in (option, call)]

    def run(self, case):
        """Returns what is wrong after one case, or None."""
        base = self.base or self.bases.get()
        try:
            done = self.meddled(base, [*options_of(case), *self.spared(case)])
        except subprocess.TimeoutExpired as late:
            return f"did not end: {late.stdout}"
        wrong = (self.wrong_answer(case, self.said(done, base)) or
                 wrong_entries(self.tree, base) or self.after(base))
        if not self.reuses:
            self.bases.put(base)
        return wrong

    def wrong_answer(self, case, said):
        """Where the file of a descriptor cannot be known, a change may fail, and the state at its
        open may still be shown. But an entry is never shown or changed."""
        wrong = differences(self.expected, said)
        if wrong and self.part == "descriptor" and case.startswith("at") and said[0] == 0:
            failed = said[1].count(b"-1 ENOENT") > self.expected[1].count(b"-1 ENOENT")
            told = failed or contents_in(said[1]) == contents_in(self.expected[1])
            return None if told and b" mode 100400 nlink 1 " not in said[1] else wrong
        return wrong

    @functools.cached_property
    def unchanged(self):
        return self.said(self.plainly("look", self.base), self.base)

    def after(self, base):
        """Returns what a later program without faults sees wrong."""
        truth = self.unchanged if self.reuses else self.said(self.plainly("look", base), base)
        seen = self.said(self.preloaded("look", base), base)
        wrong = differences(truth, seen)
        return wrong and "afterwards: " + wrong

    def hits(self):
        """How many opens the cache has served since it was made, outside of runs."""
        done = self.execute([self.build / "tests/preload/symbols/counters", HOME / "runs/outside"], {})
        return json.loads(done.stdout)["hits"] if done.returncode == 0 else 0


def contents_in(text):
    return [line for line in text.split(b"\n") if line.startswith(b"  content")]


def differences(expected, seen):
    if expected == seen:
        return None
    if expected[0] != seen[0]:
        return f"ended with {seen[0]}: {seen[1][-500:].decode(errors='replace')}"
    pairs = itertools.zip_longest(expected[1].split(b"\n"), seen[1].split(b"\n"), fillvalue=b"")
    lines = [(a, b) for a, b in pairs if a != b][:3]
    return "; ".join(f"{a.decode(errors='replace')} -> {b.decode(errors='replace')}"
                     for a, b in lines)


def wrong_entries(tree, base):
    """Entries that hold what no file of theirs has ever held."""
    possible = {*OLD.values(), *NEW.values()}
    possible.update(path.read_bytes() for path in (base / "data").rglob("*") if path.is_file())
    for path in tree.rglob("*"):
        if (path.is_file() and path.name != ";origin" and path.name[-1] != ";" and
                path.read_bytes() not in possible):
            return f"wrong entry {path}: {path.stat().st_size} bytes"
    return None


# ---- cases ----

def options_of(case):
    how, which, fault = case.split()
    if fault == "halved":
        return [f"--{how}", which, "--halve"]
    verb, name = ("--lost", fault[5:]) if fault.startswith("lost-") else ("--fail", fault)
    return [f"--{how}", which, verb, str(getattr(errno, name))]


def faults_of(call):
    faults = list(ERRORS)
    if call in SHORTENED:
        faults.append("halved")
    if call in LOSABLE:
        faults += ["lost-EIO", "lost-EINTR"]
    return faults


def all_cases(part, calls):
    """Every call with each fault, once, from there on, and wherever it is made."""
    spared = SPARED.get(part, set()) | {"clock_gettime"}
    cases = [f"at {number} {fault}" for number, call in enumerate(calls, 1) if call not in spared
             for fault in faults_of(call)]
    if part not in SPARED:
        cases += [f"from {number} {error}" for number in range(1, len(calls) + 1)
                  for error in LASTING]
    names = sorted(set(calls) - SPARED.get(part, set()))
    every = [f"every {call} {error}" for call in names for error in DENIED]
    return cases + every


def some_of(cases, limit, shift):
    step = max(1, len(cases) // limit) if limit else 1
    return cases[shift % step::step]


def sweep(build, scratch, part, state, limit, shift, only):
    this = Sweep(build, scratch, part, state)
    calls = this.count()
    # Few, and the only ones that make wrong bytes out of right ones: always.
    copied = [f"at {number} halved" for number, call in enumerate(calls, 1)
              if call in ("pread64", "pwrite64")]
    # A call that is made again after a signal must end, too, if there is always another signal.
    interrupted = [f"every {call} EINTR" for call in ("pread64", "pwrite64") if call in calls]
    cases = only or sorted({*some_of(all_cases(part, calls), limit, shift), *copied, *interrupted})
    wrong, looks, with_hits = {}, 0, 0
    for number, case in enumerate(cases):
        what = this.run(case)
        if what:
            wrong[case] = what
        if number % 10 == 0:
            looks, with_hits = looks + 1, with_hits + (this.hits() > 0)
    return {"calls": len(calls), "cases": len(cases), "looks": looks, "with_hits": with_hits,
            "wrong": wrong}


def main():
    build, scratch, part, state, limit, shift = sys.argv[1:7]
    print(json.dumps(sweep(pathlib.Path(build), pathlib.Path(scratch), part, state, int(limit),
                           int(shift), sys.argv[7:])))


if __name__ == "__main__":
    main()
