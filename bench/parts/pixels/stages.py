"""Where the time of a photograph goes: the stages of decode/, and the steps of a script.

The stages are those of the C library (bench/programs/stages.c), the steps those of torchvision's pipeline in
Python, with the hook and without (bench/peers/steps.py), each less what it calls of the others.
"""

import json
import os
import random

import ground
from measure import Table, spread, times
from parts.pixels.decode import geometry, photographs
from peers.company import VENV, python_of_main

KILOBYTES, PIXELS = 75, (500, 375)
STARTS = 5
PROGRAM = os.path.join(ground.OUT, "stages")
SYMBOLS = os.path.join(ground.OUT, "symbols")
# Name, what is done, are they floats, where the coefficients come from: "" our own parser.
JOBS = (("decode", "decode", 0, ""), ("crop", "RandomResizedCrop(224)", 0, ""),
        ("center", "Resize(256), CenterCrop(224)", 0, ""),
        ("tensor", "RandomResizedCrop(224), to normalised float", 1, ""),
        ("decode-libjpeg", "decode", 0, "libjpeg"),
        ("crop-libjpeg", "RandomResizedCrop(224)", 0, "libjpeg"),
        ("decode-keep", "decode", 0, "keep"), ("decode-form", "decode", 0, "form"),
        ("crop-form", "RandomResizedCrop(224)", 0, "form"))
FROM = {"": "", "libjpeg": ", Huffman by libjpeg-turbo", "keep": ", making the form",
        "form": ", from the form"}
# The whole decodes by which a stage's time is divided.
EACH = (("Huffman", "symbols"), ("making the form", "blocks"), ("planes of the form", "blocks"),
        ("coefficients", "blocks"), ("IDCT", "blocks"), ("upsampling", "pixels"),
        ("colour", "pixels"), ("upsampling and colour", "pixels"))


# ---- stages of the library ----

def region_of(what, choose):
    """Crop, size and window, as numbers."""
    crop, out, window = geometry(PIXELS, what.partition(", to")[0], choose)
    return (*crop, *out, *(window or (0, 0, 0, 0)))


def write_list(directory, name, what, floats):
    choose = random.Random(KILOBYTES)
    folder = os.path.join(ground.OUT, "photographs-%d" % KILOBYTES)
    lines = ["%s %s %d" % (os.path.join(folder, file),
                           " ".join(map(str, region_of(what, choose))), floats)
             for file in sorted(os.listdir(folder))]
    return ground.write_list(directory, name, lines)


def measure_stages(lists):
    """For each job: stage -> starts, each of passes of microseconds per photograph."""
    found = {name: {} for name in lists}
    for _ in range(times(STARTS)):
        for name, (path, source) in lists.items():
            entropy = source if source == "libjpeg" else ""
            environment = dict(ground.bare_environment(), STOKER_ENTROPY=entropy)
            command = [PROGRAM, path] + ([source] if source in ("keep", "form") else [])
            for line in ground.run(command, environment).splitlines():
                stage, _, values = line.partition(":")
                found[name].setdefault(stage, []).append(
                    [float(value) / 1e3 for value in values.split()])
    return found


def stage_table(found):
    heads = ["stage, us a photograph of %d KB" % KILOBYTES] + [
        what + FROM[source] for _, what, _, source in JOBS]
    rows = [[stage] + [found[name][stage] for name, *_ in JOBS] for stage in found["decode"]]
    return {"heads": heads, "rows": rows}


def measure_symbols():
    folder = os.path.join(ground.OUT, "photographs-%d" % KILOBYTES)
    files = [os.path.join(folder, file) for file in sorted(os.listdir(folder))]
    lines = ground.run([SYMBOLS, *files]).splitlines()
    return {name: float(value) for name, _, value in (line.partition(":") for line in lines)}


def cycle_table(found, counts):
    """The stages of whole decodes, in cycles for each symbol, block or pixel."""
    jobs = [(name, source) for name, what, _, source in JOBS if what == "decode"]
    heads = ["stage, cycles of a processor with %.2f GHz" % counts["GHz"]]
    heads += ["decode" + FROM[source] for _, source in jobs]
    rows = []
    for stage, unit in EACH:
        each = 1e3 * counts["GHz"] / counts[unit]
        row = [[[value * each for value in start] for start in found[name][stage]]
               for name, _ in jobs]
        if any(value for starts in row for start in starts for value in start):
            rows.append(["%s, a %s" % (stage, unit[:-1])] + row)
    return {"heads": heads, "rows": rows}


# ---- steps of a script ----

def measure_steps():
    """For v1 and v2, plain and hooked: step -> starts of lists of microseconds."""
    script = os.path.join(ground.REPOSITORY, "bench", "peers", "steps.py")
    found = {}
    with ground.scratch() as directory:
        for _ in range(times(STARTS)):
            for version in ("v1", "v2"):
                command = [python_of_main(), script, ground.OUT, str(KILOBYTES), version]
                plain = ground.run(command)
                hooked, summary = ground.run_stoker(directory, "/dev/shm", command)
                if summary["decode"]["settled"] or not summary["decode"]["images"]:
                    raise RuntimeError("the hook left images: %s" % summary["decode"])
                add(found, version, plain)
                add(found, version + " under stoker run", hooked)
    return found


def add(found, name, printed):
    for step, values in json.loads(printed).items():
        found.setdefault(name, {}).setdefault(step, []).append(values)


def step_table(found):
    names = list(found)
    steps = dict.fromkeys(step for each in found.values() for step in each)
    return {"heads": ["step, us a photograph of %d KB" % KILOBYTES] + names,
            "rows": [[step] + [found[name].get(step) for name in names] for step in steps]}


def in_figures(table):
    """The starts become spreads."""
    rows = [[row[0]] + [starts and spread([value for start in starts for value in start])
                        for starts in row[1:]] for row in table["rows"]]
    return {"heads": table["heads"], "rows": rows}


def measure():
    if not os.path.exists(PROGRAM):
        raise ground.Skip("bench/programs/stages.c was not built")
    photographs(KILOBYTES, PIXELS)
    ground.one_core()
    table = Table("stages")
    with ground.scratch() as directory:
        lists = {name: (write_list(directory, name, what, floats), source)
                 for name, what, floats, source in JOBS}
        found, counts = measure_stages(lists), measure_symbols()
    table.grids += [in_figures(stage_table(found)), in_figures(cycle_table(found, counts))]
    table.note("A photograph of %d KB has %.0f symbols, %.0f blocks and %.0f pixels."
               % (KILOBYTES, counts["symbols"], counts["blocks"], counts["pixels"]))
    if VENV:
        table.grids.append(in_figures(step_table(measure_steps())))
    else:
        table.note("The steps of a script in Python: make bench-peers.")
    return table
