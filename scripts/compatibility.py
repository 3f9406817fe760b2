#!/usr/bin/env python3
"""Makes docs/compatibility.md out of what the tests have recorded (tests/lib/matrix.py).

    scripts/compatibility.py ROWS >docs/compatibility.md
    scripts/compatibility.py ROWS PAGE >NEW_PAGE

ROWS is the file of JSON lines that STOKER_MATRIX named while the tests ran. Equal rows, in any
order and however often, make the same page. With PAGE, a page made before, ROWS may be those of some
tests: their subjects get new rows, and all else stays as PAGE has it.
"""

import collections
import json
import os
import platform
import re
import sys

HEAD = """\
# What runs under Stoker as it runs without

Made by `make compatibility` from what the tests recorded; not edited by hand. Each row is a subject that was run
without the library and under it, and compared: its bytes, its errors, its `stat`. *Same* means that nothing
differed, and that the cache had its part in it. A program that the library cannot see (static, or with system calls
of its own) is the same if it read the origin. Any other result is a known difference. CI runs a slice of this;
`make test-all` runs every case, and a row is there when it was run for this page. [Limits](limits.md) explains the
differences.

The cases:

| Case | What is cached |
|---|---|
| cold, warm | nothing yet; everything |
| dropped | the copies are gone, the files are known |
| from the origin | files that are not served, and need not be |
| known (of faults) | everything, and the origin is not asked |
| forgotten | the copies are there, the files are not known |
| replaced | other versions than those on the origin |
| run | as under `stoker run` |
| full | nothing, since there is no room |
| disk, booted | a tier on a disk: empty, and filled before a restart |

With faults each system call that the library makes for itself fails in turn, in several ways: 163 faults at 497
calls are 163 of these tries.

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


def cells_of(line):
    """Takes a line of a table apart."""
    return [part.strip().replace("\\|", "|") for part in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def read_page(path):
    """A page made before: its head, and {group: {(name, version, cases): result}}."""
    with open(path) as file:
        head, *sections = file.read().split("\n## ")
    groups = {}
    for section in sections:
        group, _, lines = section.partition("\n")
        rows = [cells_of(line) for line in lines.splitlines() if line.startswith("|")][2:]
        groups[group] = {(name, "".join(version), cases): came for name, *version, cases, came in rows}
    return head, groups


def replaced(page_rows, rows):
    """The rows of a page, with those of each subject in `rows` in the place of the page's own."""
    names = {name for name, _, _ in rows}
    return {key: came for key, came in page_rows.items() if key[0] not in names} | rows


def table(rows):
    versions = any(version for _, version, _ in rows)
    titles = ["What", *(["Version"] if versions else []), "Cases", "Result"]
    yield "| " + " | ".join(titles) + " |"
    yield "|" + "---|" * len(titles)
    for name, version, cases in sorted(rows, key=by_name):
        cells = [name, *([version] if versions else []), cases, rows[name, version, cases]]
        yield "| " + " | ".join(map(cell, cells)) + " |"


def made_here():
    return HEAD.format(system=system(), kernel=kernel(), libc=" ".join(platform.libc_ver()),
                       machine=platform.machine())


def page(head, groups):
    yield head
    for group in sorted(groups, key=str.lower):
        yield f"## {group}\n"
        yield from table(groups[group])
        yield ""


def main():
    if len(sys.argv) not in (2, 3) or not all(map(os.path.exists, sys.argv[1:])):
        sys.exit(__doc__)
    groups = {group: merged(rows) for group, rows in read(sys.argv[1]).items()}
    if not groups:
        sys.exit(f"{sys.argv[1]}: no test has recorded anything")
    head, before = read_page(sys.argv[2]) if len(sys.argv) == 3 else (made_here(), {})
    groups = before | {group: replaced(before.get(group, {}), rows) for group, rows in groups.items()}
    print("\n".join(page(head, groups)).rstrip("\n"))


if __name__ == "__main__":
    main()
