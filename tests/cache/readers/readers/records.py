"""Readers of Python itself: bytes, records, archives, pickles, JSON, SQLite."""

import io
import json
import os
import pickle
import sqlite3
import struct
import tarfile
import zipfile
import zlib

from .reader import PASSES, ROW_BYTES, ROWS, SIZE, Each, Stream, reader, some_bytes


@reader("os.pread")
def by_pread(path):
    fd = os.open(path, os.O_RDONLY)
    return Each(ROWS, lambda row: os.pread(fd, ROW_BYTES, row * ROW_BYTES))


@reader("os.preadv")
def by_preadv(path):
    fd = os.open(path, os.O_RDONLY)

    def item(row):
        parts = [bytearray(ROW_BYTES // 4), bytearray(ROW_BYTES)]
        assert os.preadv(fd, parts, row * ROW_BYTES) == min(ROW_BYTES * 5 // 4,
                                                            (ROWS - row) * ROW_BYTES)
        return b"".join(parts)
    return Each(ROWS, item)


@reader("os.pread, asked for ahead")
def by_pread_ahead(path):
    fd = os.open(path, os.O_RDONLY)

    def item(row):
        os.posix_fadvise(fd, row * ROW_BYTES, ROW_BYTES, os.POSIX_FADV_WILLNEED)
        return os.pread(fd, ROW_BYTES, row * ROW_BYTES)
    return Each(ROWS, item)


@reader("open(), seek and read", alone=True)
def by_file(path):
    file = open(path, "rb")

    def item(row):
        file.seek(row * ROW_BYTES)
        return file.read(ROW_BYTES)
    return Each(ROWS, item)


@reader("open() and read in pieces")
def in_pieces(path):
    def pieces():
        with open(path, "rb") as file:
            while data := file.read(50_000):
                yield data
    return Stream(pieces)


@reader("readinto, unbuffered")
def by_readinto(path):
    def pieces():
        buffer = bytearray(70_000)
        with open(path, "rb", buffering=0) as file:
            while got := file.readinto(buffer):
                yield buffer[:got]
    return Stream(pieces)


# ---- records ----

def masked(data):
    """TensorFlow's checks are of another polynomial; what matters is that they are compared."""
    return zlib.crc32(data) + 0xa282ead8 & 0xffffffff


def make_tfrecord(path):
    with open(path, "wb") as file:
        for row in range(ROWS):
            data = some_bytes(row, ROW_BYTES - row)
            length = struct.pack("<Q", len(data))
            file.write(length + struct.pack("<I", masked(length)))
            file.write(data + struct.pack("<I", masked(data)))


@reader("TFRecord, one after the other", suffix=".tfrecord", make=make_tfrecord)
def tfrecord(path):
    def records():
        with open(path, "rb") as file:
            while head := file.read(12):
                length, check = struct.unpack("<QI", head)
                assert check == masked(head[:8])
                data = file.read(length)
                assert struct.unpack("<I", file.read(4))[0] == masked(data)
                yield data
    return Stream(records)


RECORD = 0xced7230a


def make_recordio(path):
    with open(path, "wb") as file, open(f"{path}.idx", "w") as index:
        for row in range(ROWS):
            data = some_bytes(row, ROW_BYTES - row)
            index.write(f"{row}\t{file.tell()}\n")
            file.write(struct.pack("<II", RECORD, len(data)) + data + bytes(-len(data) % 4))


@reader("RecordIO with index", suffix=".rec", make=make_recordio, alone=True)
def recordio(path):
    with open(f"{path}.idx") as lines:
        index = [int(line.split()[1]) for line in lines]
    file = open(path, "rb")

    def item(row):
        file.seek(index[row])
        magic, length = struct.unpack("<II", file.read(8))
        assert magic == RECORD
        return file.read(length)
    return Each(len(index), item)


# ---- archives ----

def make_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(ROWS):
            kind = zipfile.ZIP_DEFLATED if number % 2 else zipfile.ZIP_STORED
            archive.writestr(f"{number:04}.bin", some_bytes(number), kind)


@reader("zipfile", suffix=".zip", make=make_zip, alone=True)
def archive(path):
    opened = zipfile.ZipFile(path)
    names = opened.namelist()
    return Each(len(names), lambda number: opened.read(names[number]))


def make_tar(path):
    with tarfile.open(path, "w") as archive:
        for number in range(ROWS):
            for suffix, data in ("jpg", some_bytes(number)), ("cls", b"%d" % number):
                member = tarfile.TarInfo(f"{number:04}.{suffix}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


@reader("tarfile, streaming", suffix=".tar", make=make_tar)
def tar_stream(path):
    def members():
        with tarfile.open(path, "r|") as archive:
            for member in archive:
                yield member.name.encode() + archive.extractfile(member).read()
    return Stream(members)


@reader("tarfile, members in any order", suffix=".tar", make=make_tar, alone=True)
def tar_members(path):
    opened = tarfile.open(path)
    members = opened.getmembers()
    return Each(len(members), lambda number: opened.extractfile(members[number]).read())


@reader("webdataset", "webdataset", ".tar", make_tar)
def shards(path):
    import webdataset

    def samples():
        for sample in webdataset.WebDataset([str(path)], shardshuffle=False):
            yield sample["__key__"].encode() + sample["jpg"] + sample["cls"]
    return Stream(samples)


# ---- sets of files ----

BATCH_ROWS = ROWS // 2


def make_cifar(path):
    os.mkdir(path)
    for batch in range(2):
        rows = [some_bytes(BATCH_ROWS * batch + row) for row in range(BATCH_ROWS)]
        with open(f"{path}/data_batch_{batch + 1}", "wb") as file:
            pickle.dump({"data": b"".join(rows), "labels": list(range(BATCH_ROWS))}, file)


@reader("pickles of batches, as CIFAR's", suffix="", make=make_cifar)
def cifar(path):
    def batches():
        for batch in (1, 2):
            with open(f"{path}/data_batch_{batch}", "rb") as file:
                found = pickle.load(file, encoding="bytes")
            yield found["data"] + bytes(found["labels"])
    return Stream(batches)


def make_coco(path):
    os.makedirs(f"{path}/val")
    notes = []
    for number in range(60):
        with open(f"{path}/val/{number:012}.jpg", "wb") as file:
            file.write(some_bytes(number, 5000))
        notes += [{"image": number, "box": list(some_bytes((number, each), 4)),
                   "shape": some_bytes((number, each), 2000).hex()} for each in range(10)]
    with open(f"{path}/instances.json", "w") as file:
        json.dump({"images": list(range(60)), "annotations": notes}, file)


@reader("one JSON beside many images, as COCO's", suffix="", make=make_coco)
def coco(path):
    with open(f"{path}/instances.json") as file:
        found = json.load(file)
    notes = {}
    for note in found["annotations"]:
        notes.setdefault(note["image"], []).append(note)

    def item(number):
        with open(f"{path}/val/{number:012}.jpg", "rb") as file:
            return file.read() + json.dumps(notes[number]).encode()
    return Each(len(found["images"]), item)


# ---- what must not be cached ----

def make_sqlite(path):
    with sqlite3.connect(path) as base:
        base.execute("create table rows (number integer primary key, data blob)")
        base.executemany("insert into rows values (?, ?)",
                         ((row, some_bytes(row)) for row in range(SIZE // ROW_BYTES)))
    base.close()


@reader("sqlite3, read-only", suffix=".set", make=make_sqlite, sees=PASSES, alone=True)
def sqlite(path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
    find = "select data from rows where number = ?"
    return Each(SIZE // ROW_BYTES, lambda row: base.execute(find, (row,)).fetchone()[0])
