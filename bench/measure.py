"""Figures: spreads, comparisons of two sides measured in turn, and rows of the table."""

import os
import platform
import statistics

QUICK = os.environ.get("BENCH_QUICK", "") not in ("", "0")


def times(count):
    """How often to repeat, where `count` is the proper number."""
    return min(count, 2) if QUICK else count


def spread(values):
    """Median and quartiles."""
    values = sorted(values)
    if len(values) < 2:
        low = high = values[0]
    else:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "low": low, "high": high, "n": len(values)}


def in_us(starts):
    """From nanoseconds."""
    return [[ns / 1e3 for ns in slices] for slices in starts]


def in_ms(starts):
    return [[ns / 1e6 for ns in slices] for slices in starts]


def medians(starts):
    """The median of each start's slices."""
    return [statistics.median(slices) for slices in starts]


def ratio(ours, peers):
    """Ours against the peer's: each a list of starts, each of slices, taken in turn."""
    return spread([mine / other for mine, other in zip(medians(ours), medians(peers))])


def excess(ours, peers):
    """The time that ours takes more: within a start slice by slice, then over the starts."""
    return spread([statistics.median(mine - other for mine, other in zip(a, b))
                   for a, b in zip(ours, peers)])


class Table:
    """The rows of one part.

    A row's `kind` is "ratio" or "more" (a difference in `unit`), or "figure" when there is no
    peer: then its own spread is compared with the goal. With per_us a rate is given as microseconds
    for each, too. `goal` is a bound of `compared`'s median: at most, or with at_least the other way.
    """

    def __init__(self, part):
        self.part = part
        self.rows = []
        self.notes = []
        self.steps = {}  # of a hit, where they were measured: spreads in ns
        self.grids = []  # tables of spreads: heads; rows of a name and a spread for each column

    def note(self, text):
        self.notes.append(text)

    def row(self, what, unit, ours, peer=None, kind="ratio", peer_name="", goal=None,
            at_least=False, decimals=2, compared=None, per_us=False):
        if compared is None and peer is not None:
            compared = ratio(ours, peer) if kind == "ratio" else excess(ours, peer)
        if compared is None and goal is not None:
            compared = spread(medians(ours))
        self.rows.append({
            "what": what, "unit": unit, "kind": kind if peer is not None else "figure",
            "ours": spread(medians(ours)), "peer": spread(medians(peer)) if peer else None,
            "peer_name": peer_name, "compared": compared, "goal": goal, "at_least": at_least,
            "decimals": decimals, "per_us": per_us,
            "met": is_met(compared, goal, at_least),
        })

    def as_json(self):
        return {"part": self.part, "rows": self.rows, "notes": self.notes, "steps": self.steps,
                "grids": self.grids, "machine": machine(),
                "quick": QUICK}


def is_met(compared, goal, at_least):
    if goal is None or compared is None:
        return None
    return compared["median"] >= goal if at_least else compared["median"] <= goal


def machine():
    return {"processor": processor(), "cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release(), "libc": " ".join(platform.libc_ver()),
            "python": platform.python_version(), "load": os.getloadavg()[0]}


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
