"""All samples and all collate functions. Arguments: methods to start workers, or "all" of them,
each with persistent workers and without."""

import sys

import saying
import torch
from samples import COLLATES, COUNT, LARGE, SAMPLES, SMALL, image

A_FEW = [  # table, method, persistent, pin_memory
    ("samples", "fork", False, False), ("samples", "fork", True, True),
    ("collates", "fork", False, False), ("samples", "spawn", True, True),
    ("collates", "spawn", False, False), ("samples", "forkserver", False, False)]
ALL = [(table, method, persistent, pin) for table in ("samples", "collates")
       for method in ("fork", "spawn", "forkserver") for persistent in (False, True)
       for pin in (False, True)]
TABLES = {"samples": SAMPLES, "collates": COLLATES}


class Samples(torch.utils.data.Dataset):
    def __getitem__(self, index):
        name, number, side = index
        return SAMPLES[name](number, side)


class Images(torch.utils.data.Dataset):
    def __getitem__(self, index):
        name, number, side = index
        return name, image(number, side)


def collate(samples):
    return COLLATES[samples[0][0]]([image for _, image in samples])


def loader_of(table, plan, method, persistent, pin):
    data, function = (Samples(), None) if table == "samples" else (Images(), collate)
    return torch.utils.data.DataLoader(
        data, batch_sampler=plan, num_workers=2, persistent_workers=persistent, pin_memory=pin,
        multiprocessing_context=method, collate_fn=function, timeout=60)


def epochs(table, method, persistent, pin):
    plan = [[(name, number, side) for number in range(COUNT)]
            for side in (SMALL, LARGE) for name in TABLES[table]]
    saying.seed(3)
    loader = loader_of(table, plan, method, persistent, pin)
    how = f"{method}{' persistent' * persistent}{' pin' * pin}"
    for epoch in range(1 + persistent):
        batches = iter(loader)
        for name, _, side in (each[0] for each in plan):
            saying.say(f"{table}, {name}, {side}, {how}, {epoch}", saying.outcome(next, batches))
        saying.say(f"{table}, the end, {how}, {epoch}",
                   [saying.outcome(next, batches), saying.draws()])


def main():
    for variant in ALL if "all" in sys.argv else A_FEW:
        if "all" in sys.argv or variant[1] in sys.argv:
            epochs(*variant)


if __name__ == "__main__":
    main()
