"""Faults in workers, with consumers, and in the main process. A case prints how it ends. Some, by
their names, print too by how much the leftovers have grown.

Errors are printed as the program sees them. Leftovers of torch's are not printed: how many of its
descriptors are open depends on how many batches have arrived."""

import gc
import os
import random
import signal
import sys
import time

import saying
import torch
from samples import image
from torch.utils.data import DataLoader, Dataset, IterableDataset

SIDE = 100


class Images(Dataset):
    def __init__(self, count=40):
        self._count = count

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        return image(index, SIDE), index


class Raising(Images):
    def __getitem__(self, index):
        if index in (9, 22):
            raise OSError(5, "the data set's own")
        return super().__getitem__(index)


class Killed(Images):
    """The only worker dies in the middle of its fifth batch, once this has been asked for: so the four
    before it have been seen."""

    def __init__(self, die):
        super().__init__()
        self._die = die
        self._asked, self._ask = os.pipe()

    def ask(self):
        os.write(self._ask, b"x")

    def __getitem__(self, index):
        one = super().__getitem__(index)
        if index == 18:
            for _ in range(5):
                os.read(self._asked, 1)
            self._die()
            time.sleep(20)
        return one


def by(number):
    return lambda: os.kill(os.getpid(), number)


class Forking(Images):
    """Children that end in each of the ways."""

    def __getitem__(self, index):
        one = super().__getitem__(index)
        child = os.fork()
        if child == 0:
            one[0].fill_(3)
            if index % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(0)
        os.waitpid(child, 0)
        return one


class Endless(IterableDataset):
    def __iter__(self):
        index = 0
        while True:
            yield image(index % 7, SIDE)
            index += 1


def loader(data, **options):
    return DataLoader(data, **{"batch_size": 4, "num_workers": 2, "timeout": 60, **options})


def seen(one):
    """All that comes of an epoch, the errors as well, until it cannot go on."""
    saw, batches = [], iter(one)
    ask = getattr(one.dataset, "ask", bool)

    def following():
        try:
            ask()
            return next(batches)
        except RuntimeError as error:  # its wording depends on where the news arrives
            raise error.__cause__ or error from None

    while len(saw) < 20:
        said = saying.outcome(following)
        saw.append(said)
        if said[1] in ("StopIteration", "RuntimeError"):
            break
    return saw


def nameless(said):
    """Without the numbers of processes."""
    return [[*one[:2], [" ".join(word for word in line.split() if not word.strip("()s,.").isdigit())
                        for line in one[2]]] if one[0] == "raised" else one for one in said]


def killed(die, **options):
    said = nameless(seen(loader(Killed(die), num_workers=1, **options)))
    return said, nameless(seen(loader(Images(), num_workers=1)))  # and another goes on


def left():
    """Returns what this process holds: descriptors, maps of nameless files, other maps,
    children."""
    gc.collect()
    maps = [line.split(None, 5)[5:] for line in open("/proc/self/maps")]
    names = [name[0].strip() for name in maps if name]
    task = f"/proc/self/task/{os.getpid()}/children"
    return {"fds": len(os.listdir("/proc/self/fd")),
            "nameless": sum("memfd" in name or "deleted" in name for name in names),
            "maps": len(maps), "children": len(open(task).read().split()),
            "resident": int(open("/proc/self/statm").read().split()[1]) // 256,
            "shm": len(os.listdir("/dev/shm"))}


def grown(make, count, slots=0):
    """By how much that grows in so many runs, after some to settle. Small numbers are noise, and so many
    slots may be in flight or not."""
    for _ in range(3):
        make()
    before = left()
    for _ in range(count):
        make()
    slack = {"fds": 2, "nameless": 8 + slots, "maps": 30 + slots, "children": 0, "resident": 40, "shm": 0}
    for _ in range(100):  # an ended process goes a moment later
        time.sleep(0.2)
        after = left()
        more = {key: after[key] - before[key] for key in before if after[key] - before[key] > slack[key]}
        if not more:
            break
    return more


def a_loader(stop=2):
    for number, batch in enumerate(loader(Images(16))):
        if number == stop:
            break


def many(count):
    return lambda: grown(a_loader, count)


def one_for_long():
    one = iter(loader(Endless(), persistent_workers=True))
    return grown(lambda: [next(one) for _ in range(20)], 8)


class Sizes(IterableDataset):
    """Tensors of 20 KB to 2.5 MB."""

    def __iter__(self):
        sizes = random.Random(5)
        while True:
            yield torch.ones(int(5000 * 2 ** sizes.uniform(0, 7)))


def of_many_sizes():
    one = iter(loader(Sizes(), batch_size=None, persistent_workers=True))
    return grown(lambda: [next(one).shape for _ in range(100)], 6, 2 * 64)  # of two workers


def kept_and_dropped():
    def make():
        kept = list(loader(Images()))
        del kept
    return grown(make, 6)


def an_exception():
    def make():
        seen(loader(Raising()))
    return grown(make, 9)


def left_early():
    one = loader(Images(), persistent_workers=True, prefetch_factor=8)
    return grown(lambda: next(iter(one)), 20)


def last_batch_after_the_loader():
    batches = iter(loader(Images()))
    last = next(batches)
    del batches
    gc.collect()
    before = saying.describe(last)
    for _ in range(3):
        a_loader()
    return before == saying.describe(last), before


def main_process(how):
    """To be killed, or to end as it likes: workers must go. Prints their pids."""
    one = loader(Endless(), persistent_workers=True, prefetch_factor=4)
    batches = iter(one)
    kept = [next(batches) for _ in range(6)]
    print(os.getpid(), *[worker.pid for worker in batches._workers], flush=True)
    if how == "waits":
        time.sleep(100)
    if how == "exits":
        os._exit(3)
    if how == "raises":
        raise KeyError(len(kept))


CASES = {
    "exception": lambda: seen(loader(Raising())),
    "exception, persistent": lambda: [seen(one) for one in
                                      [loader(Raising(), persistent_workers=True)] * 2],
    "killed": lambda: killed(by(signal.SIGKILL)),
    "terminated": lambda: killed(by(signal.SIGTERM)),
    "bus error": lambda: killed(by(signal.SIGBUS)),
    "exits": lambda: killed(lambda: os._exit(3)),
    "forks": lambda: seen(loader(Forking(), persistent_workers=True)),
    "times out": lambda: killed(bool, timeout=10),
    "last batch after the loader": last_batch_after_the_loader,
}
LEFT = {
    "left of an exception": an_exception, "left of one for long": one_for_long,
    "left of many sizes": of_many_sizes,
    "left of what was kept": kept_and_dropped, "left by one who leaves early": left_early,
    "left of many": many(int(os.environ.get("LOADERS", "25"))),
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["main"]:
        main_process(sys.argv[2])
    elif sys.argv[1:2] == ["left"]:
        del sys.argv[1]
        saying.run(LEFT)
    else:
        saying.run(CASES)
