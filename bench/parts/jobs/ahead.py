"""Jobs that have no list of their files: the first epoch of a reader of its own, and of streams of tar and TFRecord files,
and the later ones of a map-style data set."""

import importlib.util
import io
import os
import sys
import tarfile
import tempfile

import ground
from measure import QUICK, Table, ratio, times

sys.path.insert(0, os.path.join(ground.REPOSITORY, "tests/lib/storage"))

SCRIPT = os.path.join(ground.REPOSITORY, "bench/scripts", "ahead_script.py")
DIRECTORIES, FILES, FILE = 20, 20 if QUICK else 100, 20000
SHARDS, SHARD, SAMPLE = (10, 10 << 20, 250000) if QUICK else (40, 20 << 20, 250000)
RECORDS, RECORD_FILE = 4, (5 << 20 if QUICK else 19 << 20)
MOST_BYTES = 1.02  # that storage gives for each byte of the records
RANGES, RANGE = 500 if QUICK else 1500, 100_000
SET_ASIDE = 6 << 20  # of a tier, beside files
STARTS = 3


def make_shards(top):
    os.mkdir(top)
    content = os.urandom(SAMPLE)
    for shard in range(SHARDS):
        with tarfile.open(os.path.join(top, "shard-%04d.tar" % shard), "w") as tar:
            for number in range(SHARD // SAMPLE):
                member = tarfile.TarInfo("%04d%05d.bin" % (shard, number))
                member.size = SAMPLE
                tar.addfile(member, io.BytesIO(content))


def make_records(top):
    os.mkdir(top)
    record = SAMPLE.to_bytes(8, "little") + bytes(4) + os.urandom(SAMPLE) + bytes(4)
    for number in range(RECORDS):
        with open(os.path.join(top, "data-%d.tfrecord" % number), "wb") as file:
            file.write(record * (RECORD_FILE // SAMPLE))


def make_ranges(top):
    os.mkdir(top)
    with open(os.path.join(top, "ranges"), "wb") as file:
        file.write(os.urandom(RANGES * RANGE))


def make_rows(top):
    import h5py
    import numpy
    os.mkdir(top)
    with h5py.File(os.path.join(top, "rows.h5"), "w") as file:
        file["rows"] = numpy.random.default_rng(1).integers(0, 256, (RANGES, RANGE), numpy.uint8)


def size_of(top):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(top)
               for name in names)


def one_pass(slow, kind, tier, state=None):
    """(bytes a second, bytes that storage gave for each byte of the files). `state`: where the command keeps what it
    remembers of runs."""
    command = [sys.executable, SCRIPT, kind, slow.mountpoint]
    environment = ground.bare_environment()
    environment.update(STOKER_MIN_AGE=ground.MIN_AGE_S, **({"XDG_STATE_HOME": state} if state else {}))
    if tier:
        command = [ground.STOKER, "run", "--path", slow.mountpoint, "--tier", tier, "--", *command]
    with slow.counting() as counted:
        # Not on one core, as ground.run() does it: the jobs have two workers, and the command reads beside them.
        _, size, seconds = ground.run(command, environment, preexec_fn=None).split()
    return int(size) / float(seconds), counted["read_bytes"] / size_of(slow.source)


def one_start(slow, kind, tier):
    plain, plain_bytes = one_pass(slow, kind, None)
    ours, our_bytes = one_pass(slow, kind, tier)
    ground.clear(slow.mountpoint)
    return [[plain], [ours], [plain_bytes], [our_bytes]]


def one_next_run(slow, kind, tier):
    """A start whose run finds no cache, but what a run before it has kept of its samples."""
    with tempfile.TemporaryDirectory() as state:
        one_pass(slow, kind, tier, state)
        ground.clear(slow.mountpoint)
        ours, our_bytes = one_pass(slow, kind, tier, state)
        ground.clear(slow.mountpoint)
    plain, plain_bytes = one_pass(slow, kind, None)
    return [[plain], [ours], [plain_bytes], [our_bytes]]


def add_rows(table, slow, kind, what, goal, most_bytes=None, epochs="epoch 1", tier="/dev/shm:4G", start=one_start):
    plain, ours, plain_bytes, our_bytes = ground.collect(times(STARTS), lambda: start(slow, kind, tier))
    scale = 1e-6
    mega = [[[rate * scale for rate in start] for start in lane] for lane in (ours, plain)]
    table.row(what + ", " + epochs, "MB/s", mega[0], mega[1], peer_name="without the library",
              goal=goal, at_least=True, compared=ratio(ours, plain))
    table.row(what + ", bytes from storage for each byte", "", our_bytes, plain_bytes,
              peer_name="without the library", goal=most_bytes)


def add_range_rows(table, directory):
    """Adds rows of one file that is twice as large as the tier."""
    import slowfs

    kinds = [("ranges", "ranges of a plain file", make_ranges)]
    if importlib.util.find_spec("h5py") is not None:
        kinds.append(("hdf5", "rows of an HDF5 file", make_rows))
    for kind, what, make in kinds:
        top = os.path.join(directory, kind)
        make(top)
        ground.let_age()
        with slowfs.SlowFS(top, latency_ms=5) as slow:
            add_rows(table, slow, kind, what + " twice the tier, 5 ms", None, epochs="later epochs",
                     tier="/dev/shm:%d" % (RANGES * RANGE // 2))


def measure():
    import slowfs

    table = Table("ahead")
    with ground.scratch() as directory:
        tree, pairs, ids, shards, records = (os.path.join(directory, name)
                                             for name in ("tree", "pairs", "ids", "shards", "records"))
        ground.make_tree(tree, DIRECTORIES, FILES, FILE)
        ground.make_tree(pairs, 2, DIRECTORIES * FILES // 2, FILE)
        ground.make_tree(ids, 1, DIRECTORIES * FILES, FILE)
        make_shards(shards)
        make_records(records)
        ground.let_age()
        with slowfs.SlowFS(tree, latency_ms=1) as slow:
            add_rows(table, slow, "tree", "a reader of its own, 1 ms", 3)
        with slowfs.SlowFS(records, latency_ms=1) as slow:
            add_rows(table, slow, "tfrecords", "TFRecord files by two readers, 1 ms", None, MOST_BYTES)
        with slowfs.SlowFS(tree, latency_ms=5) as slow:
            add_rows(table, slow, "indexed", "names that are computed, data twice the tier, 5 ms", 5,
                     epochs="later epochs", tier="/dev/shm:%d" % (size_of(tree) // 2 + SET_ASIDE))
            add_rows(table, slow, "once", "names that are computed, without a cache, 5 ms", 5, MOST_BYTES,
                     epochs="the next run's epoch 1", start=one_next_run)
        with slowfs.SlowFS(pairs, latency_ms=5) as slow:
            add_rows(table, slow, "masks", "masks beside a list of images, 5 ms", 8, MOST_BYTES)
        with slowfs.SlowFS(ids, latency_ms=5) as slow:
            add_rows(table, slow, "ids", "names joined from ids, 5 ms", 5, MOST_BYTES)
        add_range_rows(table, directory)
        with slowfs.SlowFS(shards, latency_ms=5) as slow:
            add_rows(table, slow, "shards", "tar files as streams, 5 ms", 4)
            if importlib.util.find_spec("webdataset") is not None:
                add_rows(table, slow, "webdataset", "webdataset, batches of 16, 5 ms", 4)
                add_rows(table, slow, "webdataset-samples", "webdataset, sample by sample, 5 ms", None)
    return table
