"""Pipelines whose ends are ours, one loader each: what the batches are, and how many samples were made
in place.

    rows.py CASE...
"""

import io
import json
import sys

import numpy
import torch
from PIL import Image
from slots import show
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate
from torchvision import transforms as T
from torchvision.transforms import functional as F

MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]
SIZE = 32
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def picture(i):
    pixels = numpy.random.RandomState(i).randint(0, 256, (SIZE, SIZE, 3)).astype("uint8")
    return Image.fromarray(pixels)


class Pictures(Dataset):
    def __init__(self, transform, count=64):
        self.transform = transform
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.transform(picture(i)), i


def load(dataset, epochs=1, **options):
    loader = DataLoader(dataset, **{"batch_size": 8, "num_workers": 2, **options})
    return [show(batch) for _ in range(epochs) for batch in loader]


CHAIN = T.Compose([T.ToTensor(), T.Normalize(MEAN, STD)])


@case
def to_tensor():
    return load(Pictures(T.ToTensor()))


@case
def chain():
    return load(Pictures(CHAIN))


@case
def last_is_smaller():
    return load(Pictures(CHAIN, 61))


@case
def bytes_():
    return load(Pictures(T.Compose([T.PILToTensor()])))


def one_by_one_of(image):
    return F.normalize(F.to_tensor(image), MEAN, STD)


@case
def one_by_one():
    """ToTensor's tensor is no row: the one of Normalize is."""
    return load(Pictures(one_by_one_of))


class Views(Pictures):
    def __getitem__(self, i):
        return CHAIN(picture(i)), T.ToTensor()(picture(i + 1)), i


@case
def two_views():
    return load(Views(None))


def erased(image):
    tensor = CHAIN(image)
    tensor[:, 3:9, 4:8] = 7
    return tensor.mul_(2)


@case
def changed_in_place():
    return load(Pictures(erased))


def doubled(image):
    return CHAIN(image) * 2


@case
def made_anew():
    return load(Pictures(doubled))


class Sometimes(Pictures):
    def __getitem__(self, i):
        return self.transform(picture(i)) if i % 3 else torch.zeros(3, SIZE, SIZE), i


@case
def sometimes():
    return load(Sometimes(CHAIN))


class Stream(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return (CHAIN(picture(i)) for i in range(worker.id, 75, worker.num_workers))


@case
def stream():
    return load(Stream())


class Decoded(Pictures):
    """stoker.decode_batch, by threads."""

    def __getitems__(self, indices):
        import stoker
        files = [jpeg(i) for i in indices]
        return list(zip(stoker.decode_batch(files, threads=3, layout="CHW"), indices))


def jpeg(i):
    stream = io.BytesIO()
    picture(i).save(stream, "JPEG")
    return stream.getvalue()


@case
def decoded_by_threads():
    return load(Decoded(None))


class Twice(Pictures):
    def __getitem__(self, i):
        tensor = CHAIN(picture(i))
        return tensor, tensor, tensor[0]


@case
def the_same_twice():
    return load(Twice(None))


class Mixed(IterableDataset):
    """Gives a sample later than it was made."""

    def __iter__(self):
        last = CHAIN(picture(0))
        for i in range(1, 40):
            last, now = CHAIN(picture(i)), last
            yield now


@case
def given_later():
    return load(Mixed())


# ---- somebody holds a row ----

class Keeping(Pictures):
    """Keeps its tensors, gives them again, and says whether they have changed."""

    every = 1

    def __init__(self):
        super().__init__(CHAIN)
        self.mine = {}

    def __getitem__(self, i):
        tensor, same = self.mine.get(i), True
        if tensor is None:
            tensor = CHAIN(picture(i))
            if i % self.every == 0:
                self.mine[i] = tensor
        else:
            same = torch.equal(tensor, CHAIN(picture(i)))
        return tensor, same


class KeepingSome(Keeping):
    every = 13


class KeepingViews(Keeping):
    """The tensor ends, an array over its memory does not."""

    def __getitem__(self, i):
        tensor = CHAIN(picture(i))
        same = i not in self.mine or bool((self.mine[i] == tensor[0, ::2].numpy()).all())
        self.mine.setdefault(i, tensor[0, ::2].numpy())
        return tensor, same


def mutated(dataset):
    """The consumer changes all that it gets."""
    loader = DataLoader(dataset, batch_size=8, num_workers=1, persistent_workers=True)
    seen = []
    for _ in range(3):
        for batch, same in loader:
            seen.append([show(batch), bool(same.all())])
            batch.fill_(9)
    return seen


@case
def kept():
    return mutated(Keeping())


@case
def some_kept():
    return mutated(KeepingSome())


@case
def views_kept():
    return mutated(KeepingViews())


class ByBatch(Pictures):
    def __getitems__(self, indices):
        return [self[i] for i in indices]


@case
def by_batch():
    return load(ByBatch(CHAIN))


def own_collate(batch):
    """Not torch's own: it may keep what it got."""
    OWN.append(batch)
    images, labels = default_collate(batch)
    right = all(torch.equal(image, CHAIN(picture(i))) for old in OWN for image, i in old)
    return images.add_(1), labels, torch.tensor(right)


OWN = []


@case
def collated_by_another():
    return load(Pictures(CHAIN), num_workers=1, collate_fn=own_collate)


def main(*names):
    for name in names or CASES:
        print(json.dumps([name, CASES[name]()]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
