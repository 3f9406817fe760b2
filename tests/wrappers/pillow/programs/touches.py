"""One epoch: a digest of each record's pixels by each way to decode, and the counts.

    python3 touches.py WAY DIRECTORY [WORKERS METHOD]

WAY: image, file, bytes, tar, hdf5, lmdb (what the hook gets), direct, batch, transforms
(every second one of bytes)."""

import hashlib
import io
import json
import multiprocessing
import os
import sys
import tarfile

import stoker
from stoker import Image

WAY, DIRECTORY = sys.argv[1:3]


def digest(pixels):
    return hashlib.sha1(bytes(pixels)).hexdigest()


def paths():
    return [os.path.join(DIRECTORY, name) for name in sorted(os.listdir(DIRECTORY))
            if name.endswith(".jpg")]


def by_name(path):
    with Image.open(path) as image:
        return digest(image.convert("RGB").tobytes())


def by_file(path):
    with open(path, "rb") as file:
        return digest(Image.open(file).convert("RGB").tobytes())


def by_bytes(data):
    return digest(Image.open(io.BytesIO(data)).convert("RGB").tobytes())


def read(path):
    with open(path, "rb") as file:
        return file.read()


def of_array(array):
    return digest(array.repeat(3, 2).tobytes() if array.shape[2] == 1 else array.tobytes())


def by_transforms(source):
    from stoker import transforms
    from torchvision import transforms as T
    tensor = transforms.Compose([T.PILToTensor()])(source)
    return digest(tensor.permute(1, 2, 0).contiguous().numpy().tobytes())


def members():
    with tarfile.open(os.path.join(DIRECTORY, "all.tar")) as tar:
        for member in sorted(tar, key=lambda member: member.name):
            yield digest(Image.open(tar.extractfile(member)).convert("RGB").tobytes())


def records_of_hdf5():
    import h5py
    with h5py.File(os.path.join(DIRECTORY, "all.h5")) as file:
        for name in sorted(file):
            yield by_bytes(file[name][()].tobytes())


def records_of_lmdb():
    import lmdb
    with lmdb.open(os.path.join(DIRECTORY, "all.lmdb"), readonly=True, lock=False) as env:
        with env.begin() as transaction:
            for _, value in transaction.cursor():
                yield by_bytes(value)


ONE = {
    "image": by_name,
    "file": by_file,
    "bytes": lambda path: by_bytes(read(path)),
    "direct": lambda path: of_array(stoker.decode(path)),
    "direct-bytes": lambda path: of_array(stoker.decode(read(path))),
}
ALL = {
    "batch": lambda: map(of_array, stoker.decode_batch(paths(), threads=3)),
    "transforms": lambda: (by_transforms(read(path) if number % 2 else path) for number, path in enumerate(paths())),
    "tar": members,
    "hdf5": records_of_hdf5,
    "lmdb": records_of_lmdb,
}


def work(part, parts, queue):
    queue.put({number: ONE[WAY](path) for number, path in enumerate(paths())
               if number % parts == part})
    queue.put(stoker.counts())


def by_workers(count, method):
    """The parent has touched the store before."""
    ONE[WAY](paths()[0])
    context = multiprocessing.get_context(method)
    queues = [context.Queue() for _ in range(count)]
    workers = [context.Process(target=work, args=(part, count, queues[part]))
               for part in range(count)]
    [worker.start() for worker in workers]
    digests, counts = {}, {}
    for queue in queues:
        digests.update(queue.get())
        for name, value in queue.get().items():
            if name not in ("settled", "left_to_pillow"):
                counts[name] = counts.get(name, 0) + value
    [worker.join() for worker in workers]
    return [digests[number] for number in sorted(digests)], counts


if __name__ == "__main__":
    if len(sys.argv) > 3:
        found, told = by_workers(int(sys.argv[3]), sys.argv[4])
    else:
        found = list(ALL[WAY]()) if WAY in ALL else [ONE[WAY](path) for path in paths()]
        told = stoker.counts()
    print(json.dumps([found, told]))
