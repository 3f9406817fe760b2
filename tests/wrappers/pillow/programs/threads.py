"""Eight threads decode for a while, and processes are forked meanwhile: each result is the one that
a single thread had. Arguments: a directory of JPEGs, seconds: the least, on a machine that is busy."""

import os
import random
import sys
import threading
import time
import warnings

import cases
from cases import Image, case, digest

DIRECTORY, SECONDS = sys.argv[1], float(sys.argv[2])
del sys.argv[2]
NAMES = ["color.jpg", "444.jpg", "422.jpg", "exif.jpg", "small.jpg", "tall.jpg", "large.jpg",
         "rgb.jpg", "restart.jpg", "grey.jpg", "progressive.jpg"]
THREADS, PATIENCE_S = 8, 120
LEAST = 250  # looks of all threads


def opened(name):
    return Image.open(os.path.join(DIRECTORY, name))


def whole(image):
    return image.tobytes()


def region(image):
    width, height = image.size
    image = image.convert("RGB").crop((width // 3, height // 3, width // 2 + 1, height // 2 + 1))
    return image.resize((24, 24), 2).transpose(0).tobytes()


def two_of_one(image):
    image = image.convert("RGB")
    return b"".join(image.resize(size, 3).tobytes() for size in ((9, 9), (30, 8)))


def pixel(image):
    return repr(image.load()[0, 0]).encode()


def ordinary(image):
    return image.rotate(3).tobytes()


WAYS = (whole, region, two_of_one, pixel, ordinary)
EXPECTED = {(name, way.__name__): digest(way(opened(name))) for name in NAMES for way in WAYS}

# All threads use these at once. New images come now and then, so that one thread settles each. They
# wait only if they come from this thread.
shared = {}


def renew():
    for name in NAMES:
        shared[name] = opened(name).copy()


renew()


def wrong(dice):
    """One random look; what was wrong with it, or None."""
    name, way = dice.choice(NAMES), dice.choice(WAYS)
    if dice.random() < 0.3:
        image = shared[name].copy()
    else:
        image = opened(name)
    found = digest(way(image))
    return None if found == EXPECTED[name, way.__name__] else (name, way.__name__, found)


def work(number, is_over, looks, failures):
    dice = random.Random(number)
    while not is_over():
        looks.append(number)
        try:
            failure = wrong(dice)
        except Exception as error:
            failure = type(error).__name__, str(error)
        if failure is not None:
            failures.append(failure)
            return


def run_threads(count, seconds, least=0, first=0):
    """Starts them. Returns the threads, a function that says if their time is over, and where they say what was
    wrong."""
    until, looks, failures = time.monotonic() + seconds, [], []

    def is_over():
        return bool(failures) or time.monotonic() >= until and len(looks) >= least

    workers = [threading.Thread(target=work, args=(first + number, is_over, looks, failures))
               for number in range(count)]
    for worker in workers:
        worker.start()
    return workers, is_over, failures


def child(number):
    """Decodes in a process that was forked while other threads decoded. Never returns."""
    status = 1
    try:
        # Not of `shared`: loading an ordinary image by several threads is nothing Pillow promises.
        good = all(digest(way(opened(name))) == EXPECTED[name, way.__name__]
                   for name in NAMES for way in WAYS)
        workers, _, failures = run_threads(2, 0.2, first=100 * number)
        for worker in workers:
            worker.join()
        status = 0 if good and not failures else 2
    finally:
        os._exit(status)


def status_of(pid):
    """How a child ended; it is ended when it hangs."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.02)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "hung"


@case
def alone():
    return EXPECTED


@case
def together():
    workers, is_over, failures = run_threads(THREADS, SECONDS, LEAST)
    while not is_over():
        renew()
        time.sleep(0.005)
    for worker in workers:
        worker.join()
    return failures


@case
def forked_while_decoding():
    workers, is_over, failures = run_threads(THREADS, SECONDS)
    statuses, number = set(), 0
    while number < 2 or not is_over():
        number += 1
        renew()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from 3.12 on, of forking beside threads
            pid = os.fork()
        if pid == 0:
            child(number)
        statuses.add(status_of(pid))
    for worker in workers:
        worker.join()
    return failures, sorted(map(str, statuses))


cases.tell()
