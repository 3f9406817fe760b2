#!/usr/bin/env python3
"""One library at work, in a process of its own.

    worker.py LIBRARY DIRECTORY      LIBRARY: a module of bench/peers/libraries

Says its version, then obeys lines of its standard input, each with one line of its own:

    pass KILOBYTES JOB     does the job with each photograph once; the nanoseconds of processor time
                           that one took, all threads together
    check KILOBYTES JOB    the same; a digest of all results and the mean of their values
    forms 0 all            how many images this process has decoded from forms
"""

import hashlib
import importlib
import os
import random
import sys
import time
import traceback

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

from parts.pixels.decode import SIZES, geometry  # noqa: E402


class Photo:
    """A photograph with its geometry drawn beforehand, the same for all libraries that take a geometry."""

    def __init__(self, path, size, choose):
        self.path = path
        with open(path, "rb") as file:
            self.data = file.read()
        self.size = size
        self.crop = geometry(size, "RandomResizedCrop(224)", choose)[0]
        self.flip = choose.random() < 0.5
        _, self.resized, self.window = geometry(size, "Resize(256), CenterCrop(224)", choose)


def photos_of(directory, kilobytes):
    choose = random.Random(kilobytes)
    folder = os.path.join(directory, "photographs-%d" % kilobytes)
    return [Photo(os.path.join(folder, name), dict(SIZES)[kilobytes], choose)
            for name in sorted(os.listdir(folder))]


def flat(result):
    """The bytes of an image or an array."""
    if hasattr(result, "numpy"):
        result = result.numpy()
    return result.tobytes()


def mean_of(result, numpy):
    return float(numpy.asarray(result, dtype="float64").mean())


def check(library, job, photos):
    import numpy
    results = list(library.run(job, photos))
    assert len(results) == len(photos), "%d results of %d photographs" % (len(results), len(photos))
    digest = hashlib.sha256(b"".join(flat(each) for each in results)).hexdigest()
    return digest, sum(mean_of(each, numpy) for each in results) / len(results)


def run_pass(library, job, photos):
    start = time.process_time_ns()
    for _ in library.run(job, photos):
        pass
    return [(time.process_time_ns() - start) / len(photos)]


def forms(_library, _job, _photos):
    import stoker
    return [stoker.counts()["from_forms"]]


JOBS = {"check": check, "pass": run_pass, "forms": forms}


def main():
    name, directory = sys.argv[1:]
    # Ahead of the libraries' own names stands nothing of ours.
    module = importlib.import_module("peers.libraries." + name)
    photos = {kilobytes: photos_of(directory, kilobytes) for kilobytes, _ in SIZES}
    library = module.Library(photos)
    print(library.version, flush=True)
    for line in sys.stdin:
        what, kilobytes, job = line.split()
        library.begin()
        print(*JOBS[what](library, job, photos.get(int(kilobytes))), flush=True)


if __name__ == "__main__":
    # Some libraries' threads keep a process from ending, above all after an error.
    status = 1
    try:
        main()
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
