"""Kept parts of batches stay unchanged, in each process and in each way to keep them. Arguments: a
folder of images, and the keeper: "row" (the data set), "batch" (the collate function), "main" (the
consumer)."""

import sys

import saying
from holds import HOLDS, OF_BATCHES
from torch.utils.data import DataLoader, Dataset, default_collate
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

FOLDER, BY = sys.argv[1:3]
SIDE, BATCH, ROUNDS = 80, 4, 4
PIPELINE = T.Compose([T.Resize((SIDE, SIDE)), T.ToTensor(),
                      T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
files = ImageFolder(FOLDER, PIPELINE)
if BY == "row":
    for one in OF_BATCHES:
        del HOLDS[one]


class Shelf:
    """Holds things in one of the ways, and reports those that have changed."""

    def __init__(self, name):
        self._name, (self._hold, self._look) = name, HOLDS[name]
        self._things = []

    def _digest(self, thing):
        return saying.digest_of(self._look(thing))

    def hold(self, tensor):
        thing = self._hold(tensor)
        self._things.append((thing, self._digest(thing)))

    def wrong(self):
        changed = [i for i, (thing, digest) in enumerate(self._things)
                   if self._digest(thing) != digest]
        return [f"{self._name}: {changed} of {len(self._things)}"] if changed else []


class Shelves:
    """Keeps some rows, or the whole, of each batch of a name. It keeps nothing of other batches, so
    that their memory comes again."""

    def __init__(self):
        self.of = {name: Shelf(name) for name in HOLDS}

    def hold(self, by, name, number, tensor):
        if by == BY and name in self.of and number % 3 != 1:
            self.of[name].hold(tensor)

    def wrong(self, by, name):
        if by != BY:
            return ""
        shelves = self.of.values() if name == "all" else [self.of[name]] if name in self.of else []
        return "; ".join(text for shelf in shelves for text in shelf.wrong())


class Images(Dataset):
    def __init__(self):
        self._shelves = Shelves()

    def __getitem__(self, index):
        name, number = index
        row, label = files[number % len(files)]
        self._shelves.hold("row", name, number, row)
        return row, label, name, self._shelves.wrong("row", name)


class Collate:
    def __init__(self):
        self._shelves, self._calls = Shelves(), 0

    def __call__(self, samples):
        images, labels, (name, *_), wrong = default_collate(samples)
        self._shelves.hold("batch", name, self._calls // 2, images)
        self._calls += 1
        return images, labels, [name], [*wrong, self._shelves.wrong("batch", name)]


def plan():
    """Twice "all" at the end: once for each worker."""
    names = [name for _ in range(ROUNDS) for held in HOLDS for name in (held, "nobody")]
    return [[(name, place * BATCH + i) for i in range(BATCH)]
            for place, name in enumerate([*names, "all", "all"])]


def main():
    saying.seed(7)
    collate = Collate() if BY == "batch" else default_collate
    loader = DataLoader(Images(), batch_sampler=plan(), num_workers=2, collate_fn=collate,
                        persistent_workers=True, timeout=60)
    shelves, number = Shelves(), 0
    for epoch in range(2):
        for images, labels, (name, *_), wrong in loader:
            wrong = {*wrong, shelves.wrong("main", name)} - {""}
            saying.say(f"{number} {name}", [saying.describe(images), labels.tolist(), list(wrong)])
            shelves.hold("main", name, number // 2, images)
            number += 1
            if BY == "row":
                images.fill_(-7)
            del images, labels
    del loader  # its workers end
    saying.say("the end", shelves.wrong("main", "all"))


if __name__ == "__main__":
    main()
