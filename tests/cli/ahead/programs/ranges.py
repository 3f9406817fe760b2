#!/usr/bin/env python3
"""Draws the batches of data sets whose samples are ranges of one file, of one after the other: PROGRAM DIRECTORY EPOCHS
KIND:HOW...

The file is DIRECTORY/plain, or DIRECTORY/h5py. Prints a line for each epoch: a digest of its batches, and a draw. After each
data set it runs the command in AFTER_EACH. KIND: pread, read, readv, or h5py. HOW: anew (each sample
opens the file), backwards (another range for each sample), persistent, or replaced (the file, by a copy with other bytes,
before epoch 3), or nothing."""

import hashlib
import os
import subprocess
import sys

import torch
from torch.utils.data import DataLoader, Dataset

SIZE = 100_000


def _pread(file, index):
    return os.pread(file, SIZE, index * SIZE)


def _read(file, index):
    os.lseek(file, index * SIZE, os.SEEK_SET)
    return os.read(file, SIZE // 2) + os.read(file, SIZE - SIZE // 2)


def _readv(file, index):
    parts = bytearray(100), bytearray(SIZE - 100)
    os.preadv(file, parts, index * SIZE)
    return b"".join(parts)


class Ranges(Dataset):
    def __init__(self, path, kind, how):
        self.path, self.kind, self.how = path, kind, how
        self.loader = "/" + kind + how.replace("backwards", "")  # another data set than that of another loader
        self.count = os.path.getsize(path) // SIZE
        self.file = None

    def __len__(self):
        return self.count

    def _open(self):
        if self.kind == "h5py":
            import h5py
            return h5py.File(self.path, "r")
        return os.open(self.path, os.O_RDONLY)

    def _read(self, index):
        if self.kind == "h5py":
            return self.file["rows"][index].tobytes()
        return {"pread": _pread, "read": _read, "readv": _readv}[self.kind](self.file, index)

    def _close(self):
        if self.kind == "h5py":
            self.file.close()
        else:
            os.close(self.file)
        self.file = None

    def __getitem__(self, index):
        if self.file is None:
            self.file = self._open()
        row = self._read(self.count - 1 - index if self.how == "backwards" else index)
        if self.how == "anew":
            self._close()
        return int.from_bytes(hashlib.sha256(row).digest()[:6], "big") + torch.randint(9, ()).item()


def train(directory, epochs, kind, how):
    path = f"{directory}/{'h5py' if kind == 'h5py' else 'plain'}"
    loader = DataLoader(Ranges(path, kind, how), batch_size=8, shuffle=True, num_workers=2,
                        persistent_workers=how == "persistent")
    for epoch in range(epochs):
        if how == "replaced" and epoch == 2:
            subprocess.run(["mv", path + ".other", path], check=True)
        digest = hashlib.sha256()
        for batch in loader:
            digest.update(str(batch.tolist()).encode())
        print(digest.hexdigest()[:16], torch.rand(1).item(), flush=True)


def main():
    torch.manual_seed(7)
    for each in sys.argv[3:]:
        train(sys.argv[1], int(sys.argv[2]), *each.split(":"))
        os.system(os.environ.get("AFTER_EACH", ""))


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Python needs a third of a second to take torch apart
