"""Data sets change the tensors that a pipeline made, before they give them away, and afterwards. Argument: a folder of
images."""

import concurrent.futures
import functools
import os
import pickle
import sys

import saying
import torch
from samples import COLLATES
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

SIDE, BATCH, IMAGES = 96, 4, 16
VALUES = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
RESIZE = T.Resize((SIDE, SIDE))
PIPELINES = {
    "ToTensor": T.Compose([RESIZE, T.ToTensor()]),
    "Normalize": T.Compose([RESIZE, T.ToTensor(), T.Normalize(*VALUES)]),
    "Normalize in place": T.Compose([RESIZE, T.ToTensor(), T.Normalize(*VALUES, inplace=True)]),
    "uint8": T.Compose([RESIZE, T.PILToTensor()]),
    "more behind": T.Compose([RESIZE, T.ToTensor(), T.Normalize(*VALUES), T.RandomErasing(1.0)]),
    "augmented": T.Compose([T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(), T.ToTensor(),
                            T.Normalize(*VALUES)]),
    "of different sizes": T.Compose([T.ToTensor(), T.Normalize(*VALUES)]),
}
try:
    from torchvision.transforms import v2
    PIPELINES["v2"] = v2.Compose([
        v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), v2.ToImage(),
        v2.ToDtype(torch.float32, scale=True), v2.Normalize(*VALUES)])
    PIPELINES["v2, uint8"] = v2.Compose([v2.Resize((SIDE, SIDE)), v2.ToImage()])
    PIPELINES["v2 to pure tensor"] = v2.Compose([
        v2.Resize((SIDE, SIDE)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(*VALUES), v2.ToPureTensor()])
except ImportError:
    pass
files = {name: ImageFolder(sys.argv[1], pipeline) for name, pipeline in PIPELINES.items()}
del sys.argv[1]


def row(index, pipeline="Normalize"):
    return files[pipeline][index][0]


class Rows(Dataset):
    """A function of (the data set, index) is what it does."""

    def __init__(self, what):
        self._what = what
        self.last, self.pool, self.count = None, None, 0

    def __len__(self):
        return IMAGES

    def __getitem__(self, index):
        return self._what(self, index)


# ---- what is done ----

def two_crops(data, index):
    return row(index, "augmented"), row(index, "augmented")


def thrown_away(data, index):
    """Made, looked at, and made again."""
    while row(index, "augmented").mean() > 0.3:
        pass
    return row(index), index


def blended(data, index):
    return row(index) * 0.7 + row((index + 5) % IMAGES) * 0.3


def the_one_before(data, index):
    given, data.last = row(index) if data.last is None else data.last, row(index)
    return given


def changes_the_last(data, index):
    """Given away already, and changed: torch sees that only within a batch."""
    if data.last is not None:
        data.last.add_(1)
    data.last = row(index)
    return data.last


def always_the_same(data, index):
    """A buffer that each sample overwrites."""
    if data.last is None:
        data.last = row(index)
    data.last.copy_(row(index))
    return data.last


def in_place(data, index):
    one = row(index)
    one.mul_(2).clamp_(0, 1)
    one[0].zero_()
    return one


def through_numpy(data, index):
    one = row(index)
    one.numpy()[:, 3:9] = index
    return one


def as_numpy(data, index):
    return row(index).numpy()


def as_views(data, index):
    one = row(index)
    return one[:, 1:-1], one.flip(2), one.T, one[0, 0, :5], one.view(-1)[7:]


def as_view_and_whole(data, index):
    one = row(index)
    return {"whole": one, "half": one[:, :SIDE // 2]}


def twice(data, index):
    one = row(index)
    return one, one


def grown(data, index):
    """Resized, which memory of its own allows: after a batch that is none of rows yet."""
    one = row(index)
    data.count += 1
    return one if data.count <= BATCH else one.resize_(3, SIDE + 9, SIDE).fill_(index)


def shrunk(data, index):
    return row(index).resize_(2, 50)


def set_elsewhere(data, index):
    one = row(index)
    one.set_(torch.full((3, SIDE, SIDE), float(index)))
    return one


def shared(data, index):
    one = row(index).share_memory_()
    before, data.last = data.last, one
    return one, 0 if before is None else float(before.sum())


def described(data, index):
    """Returns the row, and a description of it in the worker. Pickled it is no larger than it must
    be."""
    one = row(index)
    size = len(pickle.dumps(one))
    return one, str(saying.describe(one)), size // 10000


def with_gradient(data, index):
    weight = torch.full((1,), 2.0, requires_grad=True)
    one = row(index)
    (weight * one).sum().backward()
    return one, weight.grad


def requires_grad(data, index):
    return row(index).requires_grad_()


def of_a_thread(data, index):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(row, [index, (index + 1) % IMAGES, (index + 2) % IMAGES]))


def ahead(data, index):
    """Another thread makes the next row while this one is given away."""
    if data.pool is None:
        data.pool, data.ahead = concurrent.futures.ThreadPoolExecutor(1), {}
    data.ahead.setdefault(index, data.pool.submit(row, index))
    following = (index + 1) % IMAGES
    data.ahead[following] = data.pool.submit(row, following)
    return data.ahead.pop(index).result()


def changed_by_a_child(data, index):
    """A forked process writes to what it has a copy of, and makes one of its own."""
    one = row(index)
    child = os.fork()
    if child == 0:
        try:
            one.zero_()
            os._exit(0 if saying.digest_of(row(index)) != saying.digest_of(one) else 1)
        finally:
            os._exit(2)  # an error would make another worker of it
    return one, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def told_by_a_child(data, index):
    """And one that looks at its copy when the worker is further on."""
    one = row(index)
    reader, writer = os.pipe()
    go_reader, go_writer = os.pipe()
    before = data.last
    if os.fork() == 0:
        os.close(go_writer)  # so that the read ends when the worker ends, too
        os.read(go_reader, 1)
        os.write(writer, saying.digest_of(one).encode())
        os._exit(0)
    data.last = saying.digest_of(one), reader, go_writer
    for fd in writer, go_reader:
        os.close(fd)
    return one, 1 if before is None else asked(before)


def asked(before):
    digest, reader, go = before
    os.write(go, b"x")
    said = os.read(reader, 100).decode()
    os.close(reader), os.close(go), os.wait()
    return int(said == digest)


def failing(data, index):
    one = row(index)
    if index == 6:
        raise KeyError(f"sample {index}")
    return one


def late(data, index):
    """A thread writes to a row that was given away: torch has stacked it by then."""
    if data.pool is None:
        data.pool = concurrent.futures.ThreadPoolExecutor(1)
        data.given = []
    if index % BATCH == 0 and data.given:
        done = data.pool.submit(lambda: [one.fill_(-3) for one in data.given])
        done.result()
        data.given.clear()
    one = row(index)
    data.given.append(one)
    return one


WHAT = {function.__name__: function for function in (
    two_crops, thrown_away, blended, the_one_before, changes_the_last, always_the_same, in_place,
    through_numpy, as_numpy, as_views, as_view_and_whole, twice, grown, shrunk, set_elsewhere,
    shared, described, with_gradient, requires_grad, of_a_thread, ahead, changed_by_a_child,
    told_by_a_child, failing, late)}


def seen(loader, epochs=2):
    saw = []
    for _ in range(epochs):
        batches = iter(loader)
        while True:
            said = saying.outcome(next, batches)
            if said[:2] == ["raised", "StopIteration"]:
                break
            saw.append(said)
    return saw


def batches(what, **options):
    return seen(DataLoader(Rows(what), batch_size=BATCH, num_workers=2, persistent_workers=True,
                           timeout=30, **options))


class Named(Dataset):
    def __getitem__(self, index):
        return index[0], row(index[1])


def collate(samples):
    return COLLATES[samples[0][0]]([one for _, one in samples])


def cases():
    made = {f"pipeline {name}": lambda name=name: batches(lambda _, i: (row(i, name), i))
            for name in PIPELINES}
    made.update({name: functools.partial(batches, what) for name, what in WHAT.items()})
    plan = [[(name, i) for i in range(BATCH)] for name in COLLATES]
    made["collate functions"] = lambda: seen(DataLoader(
        Named(), batch_sampler=plan, num_workers=2, persistent_workers=True, timeout=30,
        collate_fn=collate))
    return made


if __name__ == "__main__":
    saying.run(cases())
