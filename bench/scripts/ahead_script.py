"""The reading side of a job without a list of its files. Prints files, bytes and seconds of one pass, or of some.

    ahead_script.py tree DIRECTORY          a reader of its own: all files below, in a drawn order
    ahead_script.py shards DIRECTORY        tar files, one after the other, by two processes
    ahead_script.py tfrecords DIRECTORY     TFRecord files, one after the other, by two processes
    ahead_script.py webdataset DIRECTORY    the same by webdataset, with two workers that make batches
    ahead_script.py webdataset-samples DIRECTORY    the same, sample by sample
    ahead_script.py indexed DIRECTORY       files whose names are computed, by a DataLoader with two workers: the passes
                                            behind the first
    ahead_script.py once DIRECTORY          the first pass of that
    ahead_script.py masks DIRECTORY         the first pass over images, of which there is a list, and masks beside them

    ahead_script.py ids DIRECTORY           the first pass over images whose names are joined from a list of ids

    ahead_script.py ranges DIRECTORY        ranges of one file, by pread: the passes behind the first
    ahead_script.py hdf5 DIRECTORY          rows of one HDF5 file: the passes behind the first

It knows nothing of Stoker.
"""

import multiprocessing
import os
import random
import sys
import tarfile
import time

WORKERS = 2
BATCH = 16  # of webdataset
RECORD_HEAD, RECORD_TAIL = 12, 4  # of a TFRecord: the length and its check, the check of the data
PASSES = 3


def read_file(path):
    with open(path, "rb") as file:
        return len(file.read())


def read_tree(top):
    paths = sorted(os.path.join(at, name) for at, _, names in os.walk(top) for name in names)
    random.Random(1).shuffle(paths)
    start = time.monotonic()
    return len(paths), sum(map(read_file, paths)), time.monotonic() - start


def list_shards(top):
    return sorted(os.path.join(top, name) for name in os.listdir(top))


def read_shards(paths):
    samples = size = 0
    for path in paths:
        with tarfile.open(path, "r|") as tar:
            for member in tar:
                size += len(tar.extractfile(member).read())
                samples += 1
    return samples, size


def read_records(paths):
    samples = size = 0
    for path in paths:
        size += os.path.getsize(path)
        with open(path, "rb") as file:
            while head := file.read(RECORD_HEAD):
                file.read(int.from_bytes(head[:8], "little"))
                file.read(RECORD_TAIL)
                samples += 1
    return samples, size


def read_by_processes(top, read=read_shards):
    shards = list_shards(top)
    start = time.monotonic()
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        parts = pool.map(read, [shards[worker::WORKERS] for worker in range(WORKERS)], 1)
    samples, sizes = zip(*parts)
    return sum(samples), sum(sizes), time.monotonic() - start


def read_by_webdataset(top, batch):
    import torch
    import webdataset

    data = webdataset.WebDataset(list_shards(top), shardshuffle=False).to_tuple("bin")
    start = time.monotonic()
    loader = torch.utils.data.DataLoader(data.batched(batch) if batch > 1 else data, batch_size=None, num_workers=WORKERS)
    sizes = [len(sample) for (samples,) in loader for sample in (samples if batch > 1 else [samples])]
    return len(sizes), sum(sizes), time.monotonic() - start


class Indexed:
    """A map-style data set of the files of ground.make_tree(), whose names it computes."""

    def __init__(self, top):
        self.top = top
        self.directories = len(os.listdir(top))
        self.files = len(os.listdir(os.path.join(top, "n0000")))

    def __len__(self):
        return self.directories * self.files

    def __getitem__(self, index):
        directory, file = divmod(index, self.files)
        return read_file(os.path.join(self.top, "n%04d" % directory, "%05d.jpg" % file))


class Masked:
    """A map-style data set with a list of the images in n0000. Each sample opens the mask of that name in n0001, too."""

    def __init__(self, top):
        images = os.path.join(top, "n0000")
        self.images = [os.path.join(images, name) for name in sorted(os.listdir(images))]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return sum(map(read_file, (self.images[index], self.images[index].replace("n0000", "n0001"))))


class Ids:
    """A map-style data set with a list of ids, each of which is an image in n0000."""

    def __init__(self, top):
        self.images = os.path.join(top, "n0000")
        self.ids = sorted(name[:-len(".jpg")] for name in os.listdir(self.images))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return read_file(os.path.join(self.images, self.ids[index] + ".jpg"))


class Ranges:
    """A map-style data set whose samples are ranges of one file."""

    SIZE = 100_000

    def __init__(self, top):
        self.path = os.path.join(top, "ranges")
        self.file = None

    def __len__(self):
        return os.path.getsize(self.path) // self.SIZE

    def __getitem__(self, index):
        if self.file is None:
            self.file = os.open(self.path, os.O_RDONLY)
        return len(os.pread(self.file, self.SIZE, index * self.SIZE))


class Rows:
    """A map-style data set whose samples are rows of an HDF5 file."""

    def __init__(self, top):
        import h5py
        self.path = os.path.join(top, "rows.h5")
        self.file = None
        with h5py.File(self.path, "r") as file:
            self.count = len(file["rows"])

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.file is None:
            import h5py
            self.file = h5py.File(self.path, "r")
        return self.file["rows"][index].nbytes


def read_passes(data, first=0, passes=1):
    """Returns the figures of the passes from that one on."""
    from torch.utils.data import DataLoader

    loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=WORKERS)
    for number in range(passes):
        if number == first:
            start, count, size = time.monotonic(), 0, 0
        for batch in loader:
            if number >= first:
                count, size = count + len(batch), size + int(batch.sum())
    return count, size, time.monotonic() - start


if __name__ == "__main__":
    kinds = {"indexed": lambda top: read_passes(Indexed(top), 1, PASSES), "tree": read_tree, "shards": read_by_processes,
             "webdataset": lambda top: read_by_webdataset(top, BATCH), "webdataset-samples": lambda top: read_by_webdataset(top, 1),
             "once": lambda top: read_passes(Indexed(top)), "masks": lambda top: read_passes(Masked(top)),
             "ranges": lambda top: read_passes(Ranges(top), 1, PASSES), "hdf5": lambda top: read_passes(Rows(top), 1, PASSES),
             "ids": lambda top: read_passes(Ids(top)),
             "tfrecords": lambda top: read_by_processes(top, read_records)}
    print(*kinds[sys.argv[1]](sys.argv[2]))
