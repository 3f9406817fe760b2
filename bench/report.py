#!/usr/bin/env python3
"""The table of the figures in build/bench/*.json: printed, or written into docs/performance-figures.md.

    bench/report.py            prints it
    bench/report.py --docs     replaces what is between the markers in docs/performance-figures.md
"""

import json
import os
import re
import sys

from parts import MODULES

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(REPOSITORY, "build", "bench")
DOCUMENT = os.path.join(REPOSITORY, "docs", "performance-figures.md")
BEGIN, END = "<!-- figures: written by bench/report.py -->", "<!-- end of the figures -->"
HEADS = ("what", "Stoker", "peer", "compared (quartiles)", "goal", "met")


def read_figures(directory, wanted=tuple(MODULES)):
    figures = []
    for part in wanted:
        path = os.path.join(directory, part + ".json")
        if os.path.exists(path):
            with open(path) as file:
                figures.append(json.load(file))
    return figures


# ---- cells ----

def figure(spread, row):
    text = "%.*f %s" % (row["decimals"], spread["median"], row["unit"])
    return text + " (%.0f us)" % (1e6 / spread["median"]) if row.get("per_us") else text


def compared(row):
    spread, decimals = row["compared"], max(row["decimals"], 2)
    if spread is None:
        return "%.*f..%.*f %s" % (row["decimals"], row["ours"]["low"], row["decimals"],
                                  row["ours"]["high"], row["unit"])
    sign = "+" if row["kind"] == "more" and spread["median"] >= 0 else ""
    tail = "x" if row["kind"] == "ratio" else " " + row["unit"]
    low, middle, high = ("%.*f" % (decimals, spread[each]) for each in ("low", "median", "high"))
    return "%s%s%s (%s..%s)" % (sign, middle, tail, low, high)


def goal(row):
    if row["goal"] is None:
        return ""
    tail = "x" if row["kind"] == "ratio" else " " + row["unit"]
    return "%s %g%s" % ("at least" if row["at_least"] else "at most", row["goal"], tail)


def cells(row):
    peer = ""
    if row["peer"] is not None:
        peer = "%s, %s" % (figure(row["peer"], row), row["peer_name"])
    met = {True: "yes", False: "no", None: ""}[row["met"]]
    return (row["what"], figure(row["ours"], row), peer, compared(row),
            goal(row), met)


# ---- for people at a terminal ----

def grid_cells(grid):
    """The medians of a table of spreads, with quartiles."""
    form = "%%.%df" % grid.get("decimals", 1)
    form = "%s (%s..%s)" % (form, form, form)

    def cell(spread):
        return form % (spread["median"], spread["low"], spread["high"]) if spread else ""
    return [grid["heads"]] + [[row[0]] + [cell(each) for each in row[1:]] for row in grid["rows"]]


def print_rows(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def print_table(directory=OUT, wanted=tuple(MODULES)):
    rows = [cells(row) for part in read_figures(directory, wanted) for row in part["rows"]]
    print_rows([HEADS] + rows)
    for part in read_figures(directory, wanted):
        for grid in part.get("grids", ()):
            print()
            print_rows(grid_cells(grid))
        for note in part["notes"]:
            print("%s: %s" % (part["part"], note))


# ---- for the document ----

def describe_machine(part):
    machine = part["machine"]
    line = "Measured on: %s, %d cores, Linux %s, %s, Python %s." % (
        machine["processor"], machine["cores"], machine["kernel"], machine["libc"], machine["python"])
    return line + (" **With BENCH_QUICK: these are no results.**" if part["quick"] else "")


def table_lines(rows):
    """The first row is the heads."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0])] + lines[1:]


def part_lines(part, machine):
    """`machine` is the one that most parts were measured on: the document's head names it."""
    lines = [] if describe_machine(part) == machine else [describe_machine(part), ""]
    if part["rows"]:
        lines += table_lines([HEADS] + [cells(row) for row in part["rows"]])
    lines += ["", *part["notes"]] if part["notes"] else []
    if part.get("steps"):
        lines += [""] + table_lines([("step of a hit, alone and warm", "ns (quartiles)")] + [
            (name, "%.0f (%.0f..%.0f)" % (each["median"], each["low"], each["high"]))
            for name, each in part["steps"].items()])
    for grid in part.get("grids", ()):
        lines += [""] + table_lines(grid_cells(grid))
    return lines


def command_of(name):
    """Returns the command that makes a part's table."""
    own = {"peers": "bench-peers", "stages": "bench-peers", "gpu": "bench-gpu"}
    return "`make %s`" % own.get(name, "bench T=" + name)


def sections(text):
    """The head of a document and its parts: those that were not measured again stay."""
    head, *found = re.split(r"^### (\w+)$", text, flags=re.MULTILINE)
    return head.strip(), {name: body.strip("\n").removeprefix(command_of(name)).strip("\n")
                          for name, body in zip(found[::2], found[1::2])}


def document_lines(machine, parts):
    lines = [machine]
    for name in sorted(parts, key=list(MODULES).index):
        lines += ["", "### " + name, "", command_of(name), "", parts[name]]
    return lines


def write_document():
    figures = read_figures(OUT)
    if not figures:
        sys.exit("report.py: no figures in build/bench: run `make bench`")
    with open(DOCUMENT) as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    there, after = rest.split(END)
    head, parts = sections(there)
    machine = head or describe_machine(figures[0])
    parts.update({part["part"]: "\n".join(part_lines(part, machine)).strip("\n") for part in figures})
    lines = document_lines(machine, parts)
    with open(DOCUMENT, "w") as file:
        file.write(before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + after)


if __name__ == "__main__":
    if sys.argv[1:] == ["--docs"]:
        write_document()
    elif sys.argv[1:]:
        sys.exit(__doc__.strip())
    else:
        print_table()
