"""Loaders of many kinds, one case each: what the batches are, and how they came.

    slots.py fork|spawn|forkserver CASE...
"""

import collections
import copyreg
import hashlib
import json
import os
import pathlib
import pickle
import sys

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "lib/tensors"))

from indexed import Of  # noqa: E402

CASES = {}
LARGE = 3, 40, 50  # some 24 KB a sample: four of them travel in a slot
Pair = collections.namedtuple("Pair", "image mask")


def case(function):
    CASES[function.__name__] = function
    return function


def values(i, shape=LARGE):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(i))


class Stream(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return (values(i) for i in range(worker.id, 11, worker.num_workers))


def show(what):
    """Returns all that a program sees of a batch."""
    if isinstance(what, torch.Tensor):
        data = what.detach().contiguous().view(-1)
        data = torch.view_as_real(data) if data.is_complex() else data
        raw = data.to(torch.float64).numpy().tobytes() if data.dtype is torch.bfloat16 else \
            data.numpy().tobytes()
        return [type(what).__name__, str(what.dtype), list(what.shape), list(what.stride()),
                what.storage_offset(), what._base is None, what.requires_grad,
                hashlib.sha256(raw).hexdigest()]
    if isinstance(what, numpy.ndarray):
        raw = repr(what.tolist()).encode() if what.dtype.hasobject else what.tobytes()
        return [type(what).__name__, str(what.dtype), what.shape, what.strides, str(what.flags), hashlib.sha256(raw).hexdigest()]
    if isinstance(what, (bytes, bytearray)):
        return [type(what).__name__, hashlib.sha256(what).hexdigest()]
    if isinstance(what, dict):
        return [type(what).__name__, {str(key): show(value) for key, value in what.items()}]
    if isinstance(what, (list, tuple)):
        return [type(what).__name__, [show(each) for each in what]]
    return [type(what).__name__, repr(what)]


def sample_tensor(i):
    return values(i)


def sample_pair(i):
    return values(i), i


def sample_dict(i):
    return {"a": values(i), "b": values(i + 1, (2, 3)), "c": str(i), "d": float(i), "e": [i, i]}


def sample_named(i):
    return Pair(values(i), values(i) > 0.5)


def sample_array(i):
    return values(i).numpy(), values(i, (4,)).numpy()


def sample_turned(i):
    return values(i).permute(1, 2, 0)


def sample_bfloat16(i):
    return values(i).bfloat16(), torch.complex(values(i), values(i + 1)), torch.zeros(0, 3), \
        values(i, ())


def sample_ragged(i):
    return values(i, (3, 40 + i, 50))


def sample_gradient(i):
    return values(i).requires_grad_()


def sample_conjugate(i):
    return torch.complex(values(i), values(i + 1)).conj()


def sample_raw(i):
    """As webdataset has it: bytes of a file, and what belongs to them."""
    return {"__key__": str(i), "jpg": values(i, (8000 + 5000 * i,)).numpy().tobytes(), "cls": i}


def sample_mixed(i):
    """Bytes and arrays beside a tensor, some small and some large."""
    array = values(i, (30, 40 * (1 + i % 3), 3)).numpy()
    return (values(i), array, array.T, array[:, ::2], bytearray(array.tobytes()), array.astype(">f4"),
            [b"small", numpy.int64(i)])


def large_array(i):
    """Returns an array that is just large enough for a slot of its own."""
    return numpy.arange(i, i + 66_000, dtype="f8").reshape(220, 300)


def read_only(array):
    array.flags.writeable = False
    return array


# Functions that make another kind of a large array. When a worker sends the fourth, the main process has mapped a slot for it.
KINDS = [
    lambda array: array, lambda array: array + 1, lambda array: array + 2, lambda array: array,
    lambda array: array.T, lambda array: array[::-1], lambda array: array > 9, lambda array: array.astype(">f8"),
    lambda array: array.astype("M8[s]"), lambda array: array[:1], read_only, lambda array: array[None, :, :, None],
    lambda array: array.view(numpy.recarray), lambda array: numpy.array(["text"] * 33_000),
    lambda array: numpy.array([None, array[0, 0]] * 33_000),
    *[lambda array, of=of: numpy.array([(1, array[0, 0])] * 45_000, [("a", "i4"), ("b", of)]) for of in ("f8", ">f8")]]


def sample_large_array(i):
    """A large array, for each of two workers of each kind. It is there twice."""
    array = KINDS[i // 2](large_array(i))
    return [array, array, array[:1]]


def sample_many_arrays(i):
    return [large_array(i + n) for n in range(12)]


def register(worker):
    copyreg.pickle(numpy.ndarray, lambda array: (str, (repr(array.shape),)))


def collate_arrays(batch):
    """As users of JAX have it: arrays in the place of tensors."""
    return [numpy.stack([numpy.asarray(each) for each in column]) for column in zip(*batch)]


def collate_own(batch):
    """As timm's fast_collate: a large tensor that default_collate did not make."""
    out = torch.zeros(len(batch), *LARGE, dtype=torch.uint8)
    for row, (image, _) in zip(out, batch):
        row += (image * 255).to(torch.uint8)
    return out, torch.tensor([label for _, label in batch])


def collate_views(batch):
    """Several views of one storage: in the main process they share it again."""
    all_of_it = default_collate(batch)
    half = torch.cat([all_of_it, all_of_it])
    return all_of_it, all_of_it[1:], half.view(-1), half[::2], torch.zeros(1, 1).expand(4, 4)


LOADERS = {
    "tensors": (sample_tensor, {}), "pairs": (sample_pair, {}), "dicts": (sample_dict, {}),
    "named": (sample_named, {}), "arrays": (sample_array, {}), "turned": (sample_turned, {}),
    "bfloat16": (sample_bfloat16, {}), "ragged": (sample_ragged, {}),
    "gradients": (sample_gradient, {}), "conjugates": (sample_conjugate, {}),
    "one_by_one": (sample_pair, {"batch_size": None}), "own": (sample_pair, {"collate_fn": collate_own}),
    "raw": (sample_raw, {"batch_size": None}), "lists": (sample_mixed, {"collate_fn": list}),
    "stacks": (sample_array, {"collate_fn": collate_arrays}),
    "large_arrays": (sample_large_array, {"batch_size": 1, "collate_fn": list}),
    "many_arrays": (sample_many_arrays, {"batch_size": 1, "collate_fn": list}),
    "registered": (sample_large_array, {"batch_size": 1, "collate_fn": list, "worker_init_fn": register}),
    "views": (sample_tensor, {"collate_fn": collate_views}),
    "drawn": (sample_pair, {"shuffle": True, "prefetch_factor": 5}),
    "persistent": (sample_pair, {"persistent_workers": True}),
}


def load(context, name):
    sample, options = LOADERS[name]
    count = 2 * len(KINDS) if sample is sample_large_array else 12
    loader = loader_of(context, Of(sample, count), **options)
    torch.manual_seed(3)
    try:
        return [show(batch) for _ in range(2) for batch in loader]
    except Exception as error:
        return [type(error).__name__, str(error).strip().splitlines()[-1]]


def loader_of(context, dataset, **options):
    return DataLoader(dataset, **{"batch_size": 4, "num_workers": 2,
                                  "multiprocessing_context": context, **options})


@case
def stream(context):
    return [show(batch) for batch in loader_of(context, Stream())]


# ---- what stays ----

class Keeping(Dataset):
    """Gives its own tensors, and says whether they have changed."""

    def __init__(self):
        self.mine = {}

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i not in self.mine:
            self.mine[i] = values(i)
        return self.mine[i], bool((self.mine[i] == values(i)).all())


@case
def kept_by_the_data_set(context):
    loader = loader_of(context, Keeping(), persistent_workers=True)
    seen = []
    for _ in range(3):
        for batch, same in loader:
            batch.zero_()
            seen.append(bool(same.all()))
    return seen


@case
def kept_by_the_consumer(context):
    loader = loader_of(context, Of(sample_pair, 300), prefetch_factor=4)
    kept = list(loader)
    right = [bool((batch[j] == values(int(label))).all())
             for batch, labels in kept for j, label in enumerate(labels)]
    return len(right), all(right)


@case
def arrays_kept_by_the_consumer(context):
    """The arrays, or views of them."""
    loader = loader_of(context, Of(large_array, 40), batch_size=1, collate_fn=list)
    kept = [array[i % 2:] for i, (array,) in enumerate(loader)]
    return [bool((part == large_array(i)[i % 2:]).all()) for i, part in enumerate(kept)]


@case
def arrays_changed_by_a_child(context):
    """A child of fork changes its arrays, the parent changes its own, and their memory is used again."""
    loader = loader_of(context, Of(large_array, 40), num_workers=1, batch_size=1, collate_fn=list)
    seen = []
    for i, (array,) in enumerate(loader):
        if i % 10 == 9:
            child = os.fork()
            if child == 0:
                array += 100
                os._exit(int(array[0, 0] != i + 100))
            seen.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
        seen.append(bool((array == large_array(i)).all()))
        array += 1000
    return seen


@case
def views_outlive_the_batch(context):
    loader = loader_of(context, Of(sample_pair, 200))
    views = [batch[1:3, :, ::2].numpy() for batch, _ in loader]
    return all((views[i][j] == values(4 * i + j + 1)[:, ::2].numpy()).all()
               for i in range(50) for j in range(2))


def collate_kept(batch):
    KEPT.append(default_collate(batch))
    right = all((each[j] == values(4 * i + j)).all() for i, each in enumerate(KEPT[:-1])
                for j in range(4))
    return KEPT[-1].clone(), right


KEPT = []


@case
def kept_by_the_collate_function(context):
    loader = loader_of(context, Of(sample_tensor, 80), num_workers=1, collate_fn=collate_kept)
    return [right for _, right in loader]


@case
def sent_on(context):
    """To another process, to a file, to shared memory."""
    queue = torch.multiprocessing.get_context(context).SimpleQueue()
    results = []
    for batch, _ in loader_of(context, Of(sample_pair)):
        queue.put(batch)
        results.append(show(queue.get()))
        results.append(show(pickle.loads(pickle.dumps(batch))))
        results.append(show(batch.share_memory_()) + [batch.is_shared()])
    return results


@case
def seen_by_a_child(context):
    """A child of fork looks at a batch that its parent has let go of long ago."""
    loader = loader_of(context, Of(sample_pair, 40), persistent_workers=True)
    batches = iter(loader)
    batch, labels = next(batches)
    begin, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(begin, 1)
        os._exit(0 if all((row == values(int(i))).all() for row, i in zip(batch, labels)) else 1)
    del batch
    for _ in range(3):
        for _ in loader:
            pass
    os.write(tell, b"x")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Forking(Of):
    """A child of the worker looks at a tensor that the worker has sent since, and let go of."""

    def __getitem__(self, i):
        if i == 0:
            tensor = default_collate([values(j) for j in range(4)])
            begin, self.tell = os.pipe()
            self.child = os.fork()
            if self.child == 0:
                os.read(begin, 1)
                os._exit(0 if all((row == values(j)).all() for j, row in enumerate(tensor)) else 1)
        if i < self.count - 1:
            return values(i), -1
        os.write(self.tell, b"x")
        return values(i), os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


@case
def seen_by_a_workers_child(context):
    loader = loader_of(context, Forking(None, 81), num_workers=1, batch_size=1, prefetch_factor=2,
                       collate_fn=collate_many)
    return max(int(said) for _, said in loader)


def collate_many(batch):
    (tensor, said), = batch
    return default_collate([tensor] * 4), said


def main(context, *names):
    for name in names or [*LOADERS, *CASES]:
        said = CASES[name](context) if name in CASES else load(context, name)
        print(json.dumps([name, said]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
