"""Pipelines whose ends are ours, one loader each: what the batches are, and how many samples were made
in place.

    rows.py CASE...
"""

import collections
import io
import json
import os
import sys

import gate
import numpy
import torch
from PIL import Image
from slots import collate_arrays, show
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate
from torch.utils.data._utils.collate import collate, default_collate_fn_map
from torchvision import transforms as T
from torchvision.transforms import functional as F

MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]
SIZE = 48  # a sample alone is too large to travel by value
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


@case
def bytes_one_by_one():
    return load(Pictures(T.PILToTensor()), batch_size=1)


@case
def bytes_of_odd_sizes():
    """Sizes that no vector divides, each a loader of its own."""
    return [load(Sized((width, height))) for width, height in ((37, 67), (64, 65), (1, 8192), (129, 64))]


class Sized(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return 24

    def __getitem__(self, i):
        return T.PILToTensor()(picture(i).resize(self.size))


@case
def bytes_changed_in_place():
    """The pixels change after the transform, and some samples lie in another way."""
    return load(Pictures(changed))


def changed(image):
    tensor = T.PILToTensor()(image)
    tensor[:, 3:9, 4:8] = 7
    return tensor.flip(2) if tensor[0, 0, 0] < 16 else tensor.add_(1)


class KeepingBytes(Pictures):
    def __init__(self):
        super().__init__(T.PILToTensor())
        self.mine = {}

    def __getitem__(self, i):
        tensor = T.PILToTensor()(picture(i))
        same = i not in self.mine or torch.equal(self.mine[i], tensor)
        self.mine.setdefault(i, tensor)
        return tensor, same


@case
def bytes_kept():
    return mutated(KeepingBytes())


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


class Forking(Pictures):
    """The parent writes its tensor before the forked child looks at it. So it is with each fourth sample."""

    def __getitem__(self, i):
        tensor = CHAIN(picture(i))
        if i % 4:
            return tensor, "unseen"
        right = tensor.clone()
        (wait, go), (answer, tell) = os.pipe(), os.pipe()
        gate.ENDS[:] = [wait]
        child = os.fork()
        if child == 0:
            os.write(tell, b"right" if torch.equal(tensor, right) else b"wrong")
            os._exit(0)
        tensor.fill_(9)
        os.write(go, b"x")
        said = os.read(answer, 5).decode()
        os.waitpid(child, 0)
        for end in wait, go, answer, tell:
            os.close(end)
        return tensor.copy_(right), said


@case
def seen_by_a_child():
    return load(Forking(None), multiprocessing_context="fork")


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


# ---- collates that are not the fetcher's own ----

def batched(tensor):
    """Makes a batch of one image, as for kornia or a model. A change of the batch must not change the image."""
    return default_collate([tensor])


class CollatedInside(Pictures):
    def __getitem__(self, i):
        tensor = CHAIN(picture(i))
        batch = batched(tensor)
        before = tensor.clone()
        batch.mul_(-3)
        return tensor, batch[0].sum(), torch.equal(tensor, before)


@case
def collated_inside():
    return load(CollatedInside(None))


@case
def collated_inside_one_by_one():
    return load(CollatedInside(None), batch_size=1)


class MixedInside(Pictures):
    """MixUp of two samples, each made as always."""

    def __getitem__(self, i):
        first, second = CHAIN(picture(i)), CHAIN(picture(i + 1))
        both = default_collate([first, second])
        both[0].mul_(0.5).add_(both[1], alpha=0.5)
        return both[0].clone(), first, second


@case
def mixed_inside():
    return load(MixedInside(None))


@case
def mixed_inside_one_by_one():
    return load(MixedInside(None), batch_size=1)


class LoaderInside(Pictures):
    def __getitem__(self, i):
        tensors = [CHAIN(picture(i)), CHAIN(picture(i + 1))]
        batch = next(iter(DataLoader(tensors, batch_size=2)))
        batch.zero_()
        return tensors[0], tensors[1]


@case
def loader_inside():
    return load(LoaderInside(None))


class CollatedForAll(Pictures):
    """Looks at the whole batch before giving it out."""

    def __getitems__(self, indices):
        tensors = [CHAIN(picture(i)) for i in indices]
        default_collate(tensors).fill_(5)
        return tensors


@case
def collated_for_all():
    return load(CollatedForAll(None))


class Lazily(collections.UserDict):
    """Makes the second view of the first when default_collate asks for it."""

    def __getitem__(self, key):
        return self.data["image"].add_(1) if key == "brighter" else self.data[key]


class MadeLazily(Pictures):
    def __getitem__(self, i):
        return Lazily(image=CHAIN(picture(i)), brighter=None)


@case
def made_lazily():
    return load(MadeLazily(None))


class LazilyInTools(Lazily):
    __module__ = "numpy_tools"


class MadeLazilyInTools(Pictures):
    def __getitem__(self, i):
        return LazilyInTools(image=CHAIN(picture(i)), brighter=None)


@case
def made_lazily_in_a_module_named_like_numpy():
    sys.modules["numpy_tools"] = sys.modules[__name__]  # where pickle finds the class
    return load(MadeLazilyInTools(None))


class Own:
    def __init__(self, image):
        self.image = image


def collate_own(batch, *, collate_fn_map=None):
    """Collates by torch's map of functions, in two halves. The first half changes its samples."""
    images = [own.image for own in batch]
    half = len(images) // 2
    first = collate(images[:half], collate_fn_map=collate_fn_map)
    images[0].add_(1)
    first.mul_(2)
    return first, collate(images, collate_fn_map=collate_fn_map)


class Owned(Pictures):
    def __getitem__(self, i):
        tensor = CHAIN(picture(i))
        return tensor, Own(tensor)


@case
def collated_by_the_map():
    default_collate_fn_map[Own] = collate_own
    try:
        return load(Owned(None))
    finally:
        del default_collate_fn_map[Own]


def collate_pairs(batch, *, collate_fn_map=None):
    images = collate([image for image, _ in batch], collate_fn_map=collate_fn_map)
    images.add_(1)
    return images, collate([image for image, _ in batch], collate_fn_map=collate_fn_map)


@case
def pairs_by_the_map():
    default_collate_fn_map[tuple] = collate_pairs
    try:
        return load(Pictures(CHAIN))
    finally:
        del default_collate_fn_map[tuple]


Pair = collections.namedtuple("Pair", "image label")


class InContainers(Pictures):
    def __getitem__(self, i):
        return {"pair": Pair(CHAIN(picture(i)), numpy.int64(i)), "names": ["a", str(i)],
                "mean": numpy.zeros(3), "is": True}


@case
def in_containers():
    return load(InContainers(None))


@case
def of_arrays():
    """A collate function of the program's, without tensors."""
    return load(Pictures(lambda image: numpy.asarray(image.resize((200, 200)))), batch_size=1, collate_fn=collate_arrays)


@case
def of_large_arrays():
    """Each batch is one array of 864 KB, in a slot of its own."""
    return load(Pictures(lambda image: numpy.asarray(image.resize((300, 300))).astype("f4")), batch_size=1,
                collate_fn=collate_arrays)


@case
def of_several_arrays():
    """Each batch is three arrays of different sizes, in a slot each."""
    def pixels(image):
        return [numpy.asarray(image.resize((side, 300))).astype("f4") for side in (200, 300, 400)]
    batches = DataLoader(Pictures(pixels), batch_size=1, num_workers=2, collate_fn=list)
    return [show(array) for batch in batches for arrays, _ in batch for array in arrays]


@case
def of_images():
    """Images and small tensors, as they are."""
    batches = DataLoader(Pictures(lambda image: (image.resize((200, 200)), torch.ones(3))), batch_size=1, num_workers=2,
                         collate_fn=list)
    return [show(numpy.asarray(image)) for batch in batches for (image, _), _ in batch]


def main(*names):
    for name in names or CASES:
        print(json.dumps([name, CASES[name]()]), flush=True)
        os.system(os.environ.get("AFTER_EACH", ""))


if __name__ == "__main__":
    main(*sys.argv[1:])
