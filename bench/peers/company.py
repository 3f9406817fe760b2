"""The processes of one start: each library's, started together, ended together."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections import namedtuple

import ground
from parts.pixels.decode import PHOTOS, SIZES

WORKER = os.path.join(ground.REPOSITORY, "bench", "peers", "worker.py")
VENV = os.environ.get("BENCH_PEERS", "")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                            "NUMBA_NUM_THREADS"), "1")

# A process has the environment whose Python it is, the library's module, and what is to be installed
# for it. `hook`: `stoker run` stands before the command ("all", or an option of it). `environment` is
# more environment. `samples`: with a sample store all but the first time is decoded from forms.
Process = namedtuple("Process", "venv module needs hook environment samples",
                     defaults=("", {}, False))
LIBJPEG = {"STOKER_ENTROPY": "libjpeg"}
AVX2 = {"STOKER_SIMD": "avx2"}
SAMPLES_SIZE = "2G"

PROCESSES = {
    "ours": Process("main", "ours", "torch"),
    "ours, later": Process("main", "ours", "torch", samples=True),
    "ours with AVX2": Process("main", "ours", "torch", environment=AVX2),
    "ours with AVX2, later": Process("main", "ours", "torch", environment=AVX2, samples=True),
    "ours on libjpeg": Process("main", "ours", "torch", environment=LIBJPEG),
    "Pillow": Process("main", "pillow", "torch"),
    "Pillow of this Debian": Process(None, "pillow", None),
    "Pillow-SIMD": Process("simd", "pillow", "simd"),
    "OpenCV": Process("main", "opencv", "opencv"),
    "simplejpeg": Process("main", "simplejpeg", "simplejpeg"),
    "torchvision.io": Process("main", "torchvision_io", "torch"),
    "DALI": Process("main", "dali", "dali"),
    "FFCV": Process("ffcv", "ffcv", "ffcv"),
    "torchvision": Process("main", "torchvision_pillow", "torch"),
    "torchvision, hooked": Process("main", "torchvision_pillow", "torch", "all"),
    "torchvision, hooked, later": Process("main", "torchvision_pillow", "torch", "all",
                                          samples=True),
    "torchvision, hooked on libjpeg": Process("main", "torchvision_pillow", "torch", "all",
                                              LIBJPEG),
    "torchvision, only images hooked": Process("main", "torchvision_pillow", "torch",
                                               "--no-torchvision"),
}


class Missing(Exception):
    """This library is not there, and why."""


def python_of(process):
    if process.venv is None:
        return os.environ.get("PYTHON", "/usr/bin/python3")
    missing = os.path.join(VENV, "%s.missing" % process.needs)
    if os.path.exists(missing):
        with open(missing) as file:
            raise Missing(file.read().strip() or "it could not be installed")
    return os.path.abspath(os.path.join(VENV, process.venv, "bin", "python"))


def python_of_main():
    return python_of(PROCESSES["torchvision"])


class Worker:
    """A process of worker.py."""

    def __init__(self, name, summary):
        process = PROCESSES[name]
        command = [python_of(process), WORKER, process.module, ground.OUT]
        environment = ground.bare_environment()
        environment.update(ONE_THREAD)
        environment.update(process.environment)
        self.forms = process.samples
        if process.samples and not process.hook:
            environment["STOKER_DECODED"] = "%s:%s" % (summary + ".samples", SAMPLES_SIZE)
        if process.module == "ours":
            environment["PYTHONPATH"] = os.path.join(ground.BUILD, "python")
        self.summary = summary if process.hook else None
        if process.hook:
            # It covers a directory of which no file is read: only the decoding differs.
            more = [process.hook] if process.hook != "all" else []
            more += ["--decoded", SAMPLES_SIZE if process.samples else "0"]
            command = [ground.STOKER, "run", "--path", os.path.dirname(summary), "--tier",
                       "/dev/shm", "--json", summary, *more, "--", *command]
        self.passes = 0
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, env=environment, text=True, stderr=self.errors,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.version = None

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise Missing("it failed: " + (self.errors.read().strip() or "?").splitlines()[-1])
        return line.strip()

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        self.passes += 1
        return self.answer()

    def check_forms(self):
        """Each photograph is decoded from its bytes once, in whatever job it comes first."""
        least = self.passes * PHOTOS - len(SIZES) * PHOTOS
        forms = int(self.ask("forms", 0, "all"))
        if forms < least:
            raise RuntimeError("%d images were decoded from forms, not %d" % (forms, least))
        self.passes -= 1

    def close(self):
        """Ends it; that the hook and the forms were at work is checked."""
        if self.forms and self.passes:
            self.check_forms()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()
        if self.summary and self.passes:
            with open(self.summary) as file:
                decoded = json.load(file)["decode"]
            if decoded["images"] < self.passes * PHOTOS or decoded["settled"]:
                raise RuntimeError("the hook decoded %s in %d passes" % (decoded, self.passes))


class Company:
    """All processes of one start; those that do not come are said once and left out."""

    said = {}

    def __init__(self, directory):
        self.workers = {}
        for number, name in enumerate(PROCESSES):
            if name not in self.said:
                self._start(name, os.path.join(directory, "%d.json" % number))

    def _start(self, name, summary):
        try:
            worker = self.workers[name] = Worker(name, summary)
            worker.version = worker.answer()
        except (Missing, OSError) as reason:
            self.leave_out(name, reason)

    def leave_out(self, name, reason):
        ground.say("%s is left out: %s" % (name, reason))
        self.said[name] = str(reason)
        worker = self.workers.pop(name, None)
        if worker:
            worker.passes = 0
            worker.close()

    def ask(self, lane, what, kilobytes):
        """The answer, or None where there is no such process."""
        worker = self.workers.get(lane.process)
        try:
            return worker and worker.ask(what, kilobytes, lane.job)
        except (Missing, OSError) as reason:
            self.leave_out(lane.process, reason)
            return None

    def close(self):
        for worker in self.workers.values():
            worker.close()


@contextlib.contextmanager
def company():
    with ground.scratch() as directory:
        found = Company(directory)
        try:
            yield found
        finally:
            found.close()
