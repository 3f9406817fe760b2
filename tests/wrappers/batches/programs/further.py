"""Batches go on to further processes: by queues and pipes, by fork, under the feet of a child."""

import gc
import os
import pickle

import saying
import torch
import torch.multiprocessing as mp
from samples import image
from torch.utils.data import DataLoader, Dataset

SIDE = 100
AGAIN = 12  # batches after which all memory has been used again


class Images(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return image(index, SIDE)


class Telling(Images):
    """A worker that sends tensors on by a queue of its own."""

    def __init__(self, queue):
        self._queue = queue

    def __getitem__(self, index):
        one = image(index, SIDE)
        self._queue.put((index, one.clone()))
        return one


def batches(data=None):
    loader = DataLoader(Images() if data is None else data, batch_size=4, num_workers=2,
                        persistent_workers=True, timeout=60)
    while True:
        yield from loader


def pass_on(source, count=AGAIN):
    """Drops the next message at once."""
    for _ in range(count):
        next(source)


def digests(tensors):
    return [saying.digest_of(one) for one in tensors]


def collect(queue, go, answer):
    """Runs in another process: keeps everything that comes, and reports on it on order."""
    kept = [queue.get() for _ in range(6)]
    answer.put("got")
    go.get()
    answer.put(digests(kept))
    kept[0].fill_(9)
    answer.put("changed")
    go.get()


def sent(method):
    """To a process that outlives its batches in the main process, which keeps one itself."""
    context = mp.get_context(method)
    queue, go, answer = context.Queue(), context.Queue(), context.Queue()
    child = context.Process(target=collect, args=(queue, go, answer))
    child.start()
    source, first, saw = batches(), None, []
    for number in range(6):
        batch = next(source)
        first = batch if number == 0 else first
        saw.append(saying.digest_of(batch))
        queue.put(batch)
        del batch
    answer.get(timeout=60)
    pass_on(source)
    go.put(1)
    told = answer.get(timeout=60)
    answer.get(timeout=60)
    seen_here = saying.digest_of(first)  # the other process has written to it
    go.put(1)
    child.join(60)
    return [saw, told, seen_here, child.exitcode]


def by_pipe():
    """One process holds both ends."""
    left, right = mp.Pipe()
    source, saw = batches(), []
    for _ in range(4):
        batch = next(source)
        saw.append(saying.describe(batch))
        left.send([batch, batch[1]])
        del batch
        pass_on(source, 5)
        saw.append(saying.describe(right.recv()))
    return saw


class Child:
    """A forked process that waits, then reports the result of call()."""

    def __init__(self, call):
        (self._reader, writer), (waiter, self._go) = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.read(waiter, 1)
            os.write(writer, pickle.dumps(call()))
            os._exit(0)
        os.close(writer), os.close(waiter)

    def told(self):
        os.write(self._go, b"x")
        os.close(self._go)
        with open(self._reader, "rb") as pipe:
            said = pickle.load(pipe)
        os.waitpid(self._pid, 0)
        return said


def looked_at_by_a_child():
    """Which has what the parent had at the fork, though the parent has dropped it since."""
    source = batches()
    kept = [next(source) for _ in range(3)]
    view = next(source)[1].numpy()
    saw = digests([*kept, view])
    child = Child(lambda: digests([*kept, view]))
    del kept, view
    gc.collect()
    pass_on(source)
    return saw, child.told()


def process_with_arguments():
    context = mp.get_context("fork")
    source, answer, go = batches(), context.Queue(), context.Queue()
    batch = next(source)
    saw = saying.digest_of(batch)
    child = context.Process(target=tell_later, args=(batch, go, answer))
    child.start()
    del batch
    gc.collect()
    pass_on(source)
    go.put(1)
    told = answer.get(timeout=60)
    child.join(60)
    return saw, told


def tell_later(batch, go, answer):
    go.get()
    answer.put(saying.digest_of(batch))


def dropped_by_a_child():
    """Which drops what its parent goes on with."""
    source = batches()
    kept = [next(source) for _ in range(4)]
    saw = digests(kept)

    def drop():
        kept.clear()
        gc.collect()
        return []
    child = Child(drop)
    child.told()
    pass_on(source)
    return saw, digests(kept)


def used_by_a_child():
    """A child that goes on with a loader of its own, and its parent's batches in view."""
    source = batches()
    kept = [next(source) for _ in range(4)]

    def use():
        own = batches()
        mine = [next(own) for _ in range(AGAIN)]
        return digests(mine), digests(kept)
    child = Child(use)
    told = child.told()
    pass_on(source)
    return told, digests(kept)


def new_workers_under_way():
    """Workers are forked that have another loader's batches in view."""
    source, saw = batches(), []
    kept = [next(source) for _ in range(3)]
    for _ in range(3):
        other = batches()
        kept += [next(other), next(source)]
        saw += digests(kept)
        pass_on(other, 5), pass_on(source, 5)
        saw += digests(kept)
        del other
    return saw


def told_by_the_way():
    """Messages of workers' own queues are torch's alone."""
    queue = mp.get_context("fork").Queue()
    source, saw, said = batches(Telling(queue)), [], {}
    for _ in range(8):
        saw.append(saying.digest_of(next(source)))
    while not said.keys() >= set(range(32)):
        number, one = queue.get(timeout=60)
        said[number] = saying.describe(one)
    return saw, [said[number] for number in range(32)]


def produce(queue, go):
    one = image(1, SIDE)
    queue.put(one)
    go.get()
    one.fill_(3)
    queue.put("changed")
    go.get()


def without_a_loader():
    """Tensors between processes that are no workers: the same memory at both ends."""
    context = mp.get_context("fork")
    queue, go = context.Queue(), context.Queue()
    child = context.Process(target=produce, args=(queue, go))
    child.start()
    one = queue.get(timeout=60)
    before = saying.describe(one)
    go.put(1)
    queue.get(timeout=60)
    after = saying.describe(one)
    go.put(1)
    child.join(60)
    return before, after, one.is_shared()


class Counting(Images):
    """All have the same tensor in view, which the main process shared."""

    def __init__(self):
        self.shared = torch.zeros(200, 200).share_memory_()

    def __getitem__(self, index):
        self.shared[0, index] += 1
        return self.shared


def shared_by_all():
    data = Counting()
    loader = DataLoader(data, batch_size=None, num_workers=2, timeout=60)
    last = None
    for last in loader:
        pass
    last[1, 1] = 5
    return float(data.shared[1, 1]), float(data.shared[0].sum())


CASES = {
    "sent, fork": lambda: sent("fork"), "sent, spawn": lambda: sent("spawn"), "pipe": by_pipe,
    **{function.__name__: function for function in (
        looked_at_by_a_child, process_with_arguments, dropped_by_a_child, used_by_a_child,
        new_workers_under_way, told_by_the_way, without_a_loader, shared_by_all)},
}

if __name__ == "__main__":
    saying.run(CASES)
