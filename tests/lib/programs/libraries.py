"""Reads one file after the other with the functions of many libraries, EPOCHS times. Prints a
checksum for each and what each epoch cost the origin, as JSON.

    libraries.py make DIRECTORY                makes the files
    libraries.py read DIRECTORY CONTROL EPOCHS
"""

import gzip
import json
import mmap
import os
import pathlib
import sys
import tarfile
import zipfile
import zlib

import numpy
import torch
import torchvision
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../storage"))
import slowfs  # noqa: E402


def by_mmap(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        return memory[:]


def by_pread(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, 1000, 100) + os.pread(fd, 1 << 20, 5000)
    finally:
        os.close(fd)


def by_sendfile(path):
    memory = os.memfd_create("copy")
    fd = os.open(path, os.O_RDONLY)
    try:
        while os.sendfile(memory, fd, None, 1 << 20):
            pass
        return os.pread(memory, 1 << 20, 0)
    finally:
        os.close(fd)
        os.close(memory)


def by_pil(path):
    with Image.open(path) as image:
        return image.convert("RGB").tobytes()


def by_tar(path):
    with tarfile.open(path) as archive:
        return b"".join(archive.extractfile(member).read() for member in archive)


def by_zip(path):
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


READERS = {
    "plain.open": lambda path: open(path, "rb").read(),
    "text.open": lambda path: open(path, encoding="latin-1").read().encode("utf-8"),
    "path.bin": lambda path: pathlib.Path(path).read_bytes(),
    "mmap.bin": by_mmap,
    "pread.bin": by_pread,
    "sendfile.bin": by_sendfile,
    "array.npy": lambda path: numpy.load(path).tobytes(),
    "mapped.npy": lambda path: numpy.load(path, mmap_mode="r").tobytes(),
    "raw.bin": lambda path: numpy.fromfile(path, dtype=numpy.uint8).tobytes(),
    "memmap.bin": lambda path: numpy.memmap(path, dtype=numpy.uint8, mode="r").tobytes(),
    "arrays.npz": lambda path: numpy.load(path)["a"].tobytes(),
    "tensor.pt": lambda path: torch.load(path).numpy().tobytes(),
    "storage.bin": lambda path: bytes(torch.from_file(path, size=10000, dtype=torch.uint8).numpy()),
    "pil.jpg": by_pil,
    "pil.png": by_pil,
    "image.jpg": lambda path: torchvision.io.read_image(path).numpy().tobytes(),
    "file.jpg": lambda path: torchvision.io.read_file(path).numpy().tobytes(),
    "archive.tar": by_tar,
    "archive.zip": by_zip,
    "packed.gz": lambda path: gzip.open(path).read(),
}


def make(directory):
    dice = numpy.random.default_rng(1)
    data = dice.integers(0, 256, 40000, dtype=numpy.uint8)
    image = Image.fromarray(dice.integers(0, 256, (60, 80, 3), dtype=numpy.uint8))
    plain = os.path.join(directory, "plain.open")
    data.tofile(plain)
    for name in READERS:
        path = os.path.join(directory, name)
        if name.endswith(".npy"):
            numpy.save(path, data)
        elif name.endswith(".npz"):
            numpy.savez(path, a=data)
        elif name.endswith(".pt"):
            torch.save(torch.from_numpy(data), path)
        elif name.endswith((".jpg", ".png")):
            image.save(path)
        elif name.endswith(".tar"):
            with tarfile.open(path, "w") as archive:
                archive.add(plain, "member")
        elif name.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as archive:
                archive.write(plain, "member")
        elif name.endswith(".gz"):
            with gzip.open(path, "wb") as file:
                file.write(data.tobytes())
        else:
            data.tofile(path)


def read(directory, control_path, epochs):
    control = slowfs.Control(control_path)
    told = []
    for _ in range(int(epochs)):
        before = control.settled_counts()
        sums = {name: zlib.crc32(reader(os.path.join(directory, name)))
                for name, reader in READERS.items()}
        told.append({"sums": sums, "file_ops": (control.settled_counts() - before).file_ops})
    print(json.dumps(told))


if __name__ == "__main__":
    {"make": make, "read": read}[sys.argv[1]](*sys.argv[2:])
