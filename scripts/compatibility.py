#!/usr/bin/env python3
"""Makes docs/compatibility.md out of what the tests have recorded (tests/lib/matrix.py).

    scripts/compatibility.py ROWS >docs/compatibility.md

ROWS is the file of JSON lines that STOKER_MATRIX named while the tests ran. The same rows, in any
order and however often, make the same page.
"""

import collections
import json
import os
import platform
import sys

HEAD = """\
# What runs under Stoker as it runs without

Made by `make compatibility` from what the tests recorded; not edited by hand. Each row is a
subject that was run without the library and under it, and compared: what it read, the errors it
met, what `stat` told it. *Same* means that nothing differed, and that the cache had its part in it;
of a program that the library cannot see (static, or with system calls of its own), that it read
the origin. Any other result is a difference that is known, and what it is. CI runs a slice of this;
`make test-all` runs every case, and a row is there when it was run for this page.

What the cases are called: *cold*, nothing is cached yet; *warm*, everything is; *dropped*, the copies are gone, and
what is known of the files is there; *from the origin*, these are not served, and need not be. Of the faults also:
*known*, warm, and the origin is not asked; *forgotten*, the copies are there, and nothing is known of them;
*replaced*, the files have other versions since; *run*, under `stoker run`; *full*, there is room for nothing;
*disk* and *booted*, in a tier on a disk, empty, and filled before a restart. There each system call that the
library makes for itself is made to fail in turn, in several ways: 163 faults at 497 calls are 163 of these tries.

Made on {system}, kernel {kernel}, {libc}, {machine}.
"""


def system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def kernel():
    return ".".join(platform.release().split(".")[:2])


def read(path):
    """The rows: {group: {(name, version, cases): set of results}}."""
    groups = collections.defaultdict(lambda: collections.defaultdict(set))
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            key = (row["name"], row["version"], row["cases"])
            groups[row["group"]][key].add(row["result"])
    return groups


def result(found):
    """Several results of one row: a difference anywhere is the result."""
    return "; ".join(sorted(found - {"same"})) or "same"


def together(cases):
    """Several texts as one; what they have in common, up to a colon, is said once."""
    heads = collections.defaultdict(list)
    for text in sorted(cases):
        head, colon, rest = text.partition(": ")
        heads[head].append(rest if colon else None)
    return "; ".join(head if rests == [None] else f"{head}: {', '.join(filter(None, rests))}"
                     for head, rests in heads.items())


def merged(rows):
    """{(name, version, cases): result} with one row for what came out the same."""
    alike = collections.defaultdict(list)
    for (name, version, cases), found in rows.items():
        alike[name, version, result(found)].append(cases)
    return {(name, version, together(cases)): came
            for (name, version, came), cases in alike.items()}


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def by_name(key):
    return [(part.lower(), part) for part in key]


def table(rows):
    rows = merged(rows)
    versions = any(version for _, version, _ in rows)
    titles = ["What", *(["Version"] if versions else []), "Cases", "Result"]
    yield "| " + " | ".join(titles) + " |"
    yield "|" + "---|" * len(titles)
    for name, version, cases in sorted(rows, key=by_name):
        cells = [name, *([version] if versions else []), cases, rows[name, version, cases]]
        yield "| " + " | ".join(map(cell, cells)) + " |"


def page(groups):
    yield HEAD.format(system=system(), kernel=kernel(), libc=" ".join(platform.libc_ver()),
                      machine=platform.machine())
    for group in sorted(groups, key=str.lower):
        yield f"## {group}\n"
        yield from table(groups[group])
        yield ""


def main():
    if len(sys.argv) != 2 or not os.path.exists(sys.argv[1]):
        sys.exit(__doc__)
    groups = read(sys.argv[1])
    if not groups:
        sys.exit(f"{sys.argv[1]}: no test has recorded anything")
    print("\n".join(page(groups)).rstrip("\n"))


if __name__ == "__main__":
    main()
