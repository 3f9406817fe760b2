#!/usr/bin/env python3
"""Draws a DataLoader's rates of one or several runs of the part batches, as SVG on standard output.

    bench/plot.py LABEL=FILE.json...      FILE: what `make bench T=batches` left in build/bench
"""

import json
import sys

WANTED = ("224 x 224 float, batch 64, 2 workers", "224 x 224 float, batch 256, 2 workers")
SIDES = (("plain", "#9aa0a6"), ("with --no-batches", "#6fa8dc"), ("stoker run", "#1b7f5c"))
WIDTH, LEFT, BAR, GAP, TOP = 760, 300, 18, 16, 40


def rates(path, what):
    """Images per second of the three sides."""
    with open(path) as file:
        rows = [row for row in json.load(file)["rows"]
                if row["what"] == what and row["unit"] == "images/s"]
    peers = {row["peer_name"]: row["peer"]["median"] for row in rows}
    return [peers["plain"], peers["with --no-batches"], rows[0]["ours"]["median"]]


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'


def draw(groups):
    most = max(max(values) for _, values in groups)
    height = TOP + len(groups) * (3 * BAR + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for i, (name, colour) in enumerate(SIDES):
        out += [f'<rect x="{LEFT + 140 * i}" y="12" width="12" height="12" fill="{colour}"/>',
                text(LEFT + 140 * i + 17, 22, name)]
    y = TOP
    for label, values in groups:
        out.append(text(LEFT - 8, y + 1.7 * BAR, label, "end"))
        for value, (_, colour) in zip(values, SIDES):
            long = value / most * (WIDTH - LEFT - 110)
            out += [f'<rect x="{LEFT}" y="{y}" width="{long:.0f}" height="{BAR - 2}" '
                    f'fill="{colour}"/>',
                    text(LEFT + long + 5, y + 12, f"{value:,.0f} images/s")]
            y += BAR
        y += GAP
    return "\n".join([*out, "</svg>"])


def main():
    named = [argument.split("=", 1) for argument in sys.argv[1:]]
    if not named or any(len(pair) != 2 for pair in named):
        sys.exit(__doc__.strip())
    print(draw([(f"{label}, {what.split(', ', 1)[1]}", rates(path, what))
                for label, path in named for what in WANTED]))


if __name__ == "__main__":
    main()
