"""Reads the files of cases, in a way and as often as a plan says (see __main__.py).

A module of its own, since workers of multiprocessing import what they run by its name.
"""

import contextlib
import json
import multiprocessing
import os
import pathlib
import subprocess
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor

from . import cases, outcome
from .files import path_of

THREADS = 3
WORKERS = 2


# ---- the cache ----

def counters(program):
    """The counters of this run so far, or None without Stoker, or a program."""
    run = os.environ.get("STOKER_RUN")
    if not run or not program:
        return None
    return json.loads(subprocess.run([program, run], check=True, stdout=subprocess.PIPE).stdout)


def difference(before, after):
    return {key: after[key] - before[key] for key in after} if after else None


def drop(every):
    """Unlinks entries, in the midst of the run."""
    run = os.environ.get("STOKER_RUN")
    if run:
        tree = pathlib.Path(run).parents[1] / "tree"
        entries = [os.path.join(where, name) for where, _, names in os.walk(tree) for name in names
                   if name != ";origin"]
        for entry in sorted(entries)[::every]:
            pathlib.Path(entry).unlink(missing_ok=True)


@contextlib.contextmanager
def rain():
    """Entries keep vanishing."""
    over = threading.Event()

    def fall():
        while not over.wait(0.02):
            drop(1)

    thread = threading.Thread(target=fall)
    thread.start()
    yield
    over.set()
    thread.join()


# ---- reading ----

def metadata(case, path):
    return [outcome.metadata(path)] if case.facts else []


def read_file(case, path):
    return [outcome.of(case.read, path), *metadata(case, path)]


def read_good(case, path, program):
    """(what came of it, what the reading was to the counters)."""
    before = counters(program)
    said = outcome.of(case.read, path)
    counted = difference(before, counters(program))
    return [said, *metadata(case, path)], counted


def read_case(top, name, program=None):
    case = cases[name]
    good = path_of(top, case, "good")
    said, counted = read_good(case, good, program)
    bad = {kind: read_file(case, path_of(top, case, kind)) for kind in case.bad}
    return {"good": said, **bad}, counted


def read_main(top, plan):
    """Returns what came of the cases, and what each was to the counters."""
    read = {name: read_case(top, name, plan["counters"]) for name in plan["cases"]}
    return ({name: said for name, (said, _) in read.items()},
            {name: counted for name, (_, counted) in read.items()})


def read_in_turn(top, plan):
    found = {}
    in_turn(top, plan["cases"], 0, found)
    return found


def in_turn(top, names, first, into):
    for name in names[first:] + names[:first]:
        into[name] = read_case(top, name)[0]


def read_threads(top, plan):
    """Each thread reads everything, each in another order."""
    names = plan["cases"]
    for name in names:
        cases[name].missing()  # a module that another thread is importing lacks half its names
    found = [{} for _ in range(THREADS)]
    threads = [threading.Thread(target=in_turn,
                                args=(top, names, number * len(names) // THREADS, into))
               for number, into in enumerate(found)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in names:
        for one in found[1:]:
            assert_equal(name, found[0][name], one[name])
    return found[0]


def assert_equal(name, one, other):
    for kind in one:
        assert one[kind] == other[kind], f"{name}, {kind}: {one[kind][0]}, but {other[kind][0]}"


def in_worker(job):
    top, name = job
    quiet()
    return name, read_case(top, name)[0]


def read_workers(top, plan, pool):
    return dict(pool.map(in_worker, [(top, name) for name in plan["cases"]]))


# ---- passes ----

def one_pass(top, plan, pool):
    before = counters(plan["counters"])
    if plan["how"] == "main":
        said = read_in_turn(top, plan)
    else:
        said = read_threads(top, plan) if pool is None else read_workers(top, plan, pool)
    return said, {"": difference(before, counters(plan["counters"]))}


def all_passes(top, plan, pool):
    for kind in plan["passes"]:
        if kind == "drop":
            drop(2)
            continue
        with rain() if kind == "rain" else contextlib.nullcontext():
            said, counts = read_main(top, plan) if kind == "count" else one_pass(top, plan, pool)
        yield {"said": said, "counts": counts}


def quiet():
    """Libraries warn as they like, and not always."""
    warnings.simplefilter("ignore")


def run(top, plan):
    if plan["how"] in ("main", "threads"):
        return list(all_passes(top, plan, None))
    if plan["how"] == "fork":
        for name in plan["cases"]:
            cases[name].missing()  # as a training script, imports before it forks
    # Not multiprocessing's own pool, which waits for ever for a worker that has died.
    context = multiprocessing.get_context(plan["how"])
    with ProcessPoolExecutor(WORKERS, context) as pool:
        return list(all_passes(top, plan, pool))
