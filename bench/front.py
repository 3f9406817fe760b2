#!/usr/bin/env python3
"""The first page of docs/performance.md, and its plots, out of figures that are written down already.

    bench/front.py            writes them: from the tables of docs/performance-figures.md (bench/report.py --docs), and
                              from what `make demo` printed (examples/demo/figures.txt)
    bench/front.py --check    says which are not what these figures make
"""

import os
import re
import sys

from plot import text

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCUMENT = os.path.join(ROOT, "docs", "performance.md")
FIGURES = os.path.join(ROOT, "docs", "performance-figures.md")
DEMO = os.path.join(ROOT, "examples", "demo", "figures.txt")
BEGIN, END = "<!-- first page: written by bench/front.py -->", "<!-- end of the first page -->"
GREY, BLUE, GREEN = "#9aa0a6", "#6fa8dc", "#1b7f5c"
WIDTH, LEFT, BAR, GAP = 760, 300, 20, 12

IMAGES, TORCHVISION = "decode and RandomResizedCrop, origin 1 ms: ", "75 KB, to normalised float, "
# The claim, the part that measures it, its row, the peer.
ROWS = (
    ("ImageFolder, JPEGs 1 ms away, epoch 1", "epochs", IMAGES + "epoch 1", "without the library"),
    ("the same, later epochs", "epochs", IMAGES + "later epochs", "without the library"),
    ("the same, later epochs", "epochs", IMAGES + "later epochs", "local disk"),
    ("a DataLoader alone, 2 workers, decoded images kept", "batches",
     "224 x 224 float, batch 64, 2 workers", "plain"),
    ("one HDF5 file 1 ms away, 4 workers, epoch 2", "readers", "HDF5, 4 workers: epoch 2", "without"),
    ("what it costs: bytes only, storage as fast as memory, epoch 1", "epochs",
     "bytes only, origin 0 ms: epoch 1", "without the library"))


# ---- the figures ----

def read_tables(document):
    """{(part, row, peer): (ours, peer's, compared)}, as they are written."""
    figures, part = {}, None
    for line in document.splitlines():
        if line.startswith("### "):
            part = line[4:]
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if len(cells) == 6 and ", " in cells[2]:
            value, peer = cells[2].split(", ", 1)
            figures[part, cells[0], peer] = (cells[1], value, cells[3])
    return figures


def number(cell):
    return float(re.match(r"[\d.]+", cell)[0])


def read_demo():
    """[(epoch, without, with)], in images per second."""
    with open(DEMO) as file:
        rows = [line.split() for line in file if re.match(r" *\d+ ", line)]
    return [(int(row[0]), float(row[1]), float(row[2])) for row in rows]


# ---- the pictures ----

def draw(heads, groups, unit):
    """Bars of (label, value, colour), group by group; heads are (name, colour)."""
    most = max(value for group in groups for _, value, _ in group)
    top = 40 if heads else 12
    height = top + sum(len(group) * BAR + GAP for group in groups)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for i, (name, colour) in enumerate(heads):
        out += [f'<rect x="{LEFT + 140 * i}" y="12" width="12" height="12" fill="{colour}"/>',
                text(LEFT + 140 * i + 17, 22, name)]
    y = top
    for group in groups:
        for label, value, colour in group:
            long = value / most * (WIDTH - LEFT - 120)
            out += [text(LEFT - 8, y + 13, label, "end"),
                    f'<rect x="{LEFT}" y="{y}" width="{long:.0f}" height="{BAR - 3}" fill="{colour}"/>',
                    text(LEFT + long + 5, y + 13, f"{value:,.0f} {unit}")]
            y += BAR
        y += GAP
    return "\n".join([*out, "</svg>"]) + "\n"


def draw_demo(_):
    groups = [[(f"epoch {epoch}", without, GREY), ("", with_, GREEN)] for epoch, without, with_ in read_demo()]
    return draw((("without Stoker", GREY), ("with Stoker", GREEN)), groups, "images/s")


def draw_epochs(figures):
    def peer(name):
        return number(figures["epochs", IMAGES + "later epochs", name][1])
    first, *_ = figures["epochs", IMAGES + "epoch 1", "without the library"]
    later, *_ = figures["epochs", IMAGES + "later epochs", "without the library"]
    return draw((), [[("files 1 ms away, without Stoker", peer("without the library"), GREY),
                      ("files on the local disk", peer("local disk"), GREY),
                      ("files copied to /dev/shm by hand", peer("copied to /dev/shm by hand"), GREY)],
                     [("1 ms away, stoker run, epoch 1", number(first), GREEN),
                      ("1 ms away, stoker run, later epochs", number(later), GREEN)]], "images/s")


def draw_pipelines(figures):
    def ours(name):
        return number(next(cells[0] for (part, row, _), cells in figures.items()
                           if part == "peers" and row == TORCHVISION + name))
    peers = [(peer, number(cells[1]), GREY) for (part, row, peer), cells in figures.items()
             if part == "peers" and row == TORCHVISION + "stoker.decode"]
    hooked = "torchvision v1 under stoker run"
    return draw((), [sorted(peers, key=lambda each: each[1]),
                     [("the same script (v1), stoker run, first touch", ours(hooked), BLUE),
                      ("the same script (v1), stoker run, later", ours(hooked + ", from forms"), BLUE)],
                     [("stoker.transforms, first touch", ours("stoker.transforms"), GREEN),
                      ("stoker.transforms, later", ours("stoker.transforms, from forms"), GREEN)]], "images/s")


def draw_big(figures):
    def rates(kind):
        row = f"{kind}, 4 workers: epoch "
        first, second = (figures["readers", row + epoch, "without"] for epoch in "12")
        disk = figures["readers", row + "2", "local disk"]
        return [(f"{kind} 1 ms away, without Stoker", number(first[1]), GREY),
                ("on the local disk", number(disk[1]), GREY),
                ("1 ms away, stoker run, epoch 1", number(first[0]), GREEN),
                ("1 ms away, stoker run, epoch 2", number(second[0]), GREEN)]
    return draw((), [rates("HDF5"), rates("LMDB")], "samples/s")


PLOTS = {"demo": draw_demo, "epochs": draw_epochs, "pipelines": draw_pipelines, "big": draw_big}


# ---- the page ----

def table(figures):
    lines = ["| what | with Stoker | without, or with something else | times as fast (quartiles) | made by |",
             "| --- | --- | --- | --- | --- |"]
    for told, part, row, peer in ROWS:
        ours, theirs, compared = figures[part, row, peer]
        lines.append(f"| {told} | {ours} | {theirs}, {peer} | {compared} | `make bench T={part}` |")
    return "\n".join(lines)


def make_all():
    """{path: what belongs there}."""
    with open(FIGURES) as file:
        figures = read_tables(file.read())
    with open(DOCUMENT) as file:
        document = file.read()
    before, rest = document.split(BEGIN)
    after = rest.split(END)[1]
    made = {os.path.join(ROOT, "docs", "plots", name + ".svg"): draw_one(figures)
            for name, draw_one in PLOTS.items()}
    return {**made, DOCUMENT: f"{before}{BEGIN}\n\n{table(figures)}\n\n{END}{after}"}


def is_there(path, wanted):
    try:
        with open(path) as file:
            return file.read() == wanted
    except FileNotFoundError:
        return False


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__.strip())
    stale = {path: wanted for path, wanted in make_all().items() if not is_there(path, wanted)}
    if sys.argv[1:]:
        sys.exit("".join(f"not what the figures make: {path}\n" for path in stale) or 0)
    for path, wanted in stale.items():
        with open(path, "w") as file:
            file.write(wanted)


if __name__ == "__main__":
    main()
