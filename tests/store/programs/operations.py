"""Counts the operations that files cost the file system that they lie on, epoch by epoch:

    operations.py CONTROL DIRECTORY EPOCHS HOW WORKERS

So many processes share each epoch, in another order each time. From the second epoch on, the first one that
makes no form is the last: each later epoch would be like it. Prints a line of JSON for each. It
has a digest of its pixels, the names of the files that were served from their forms, how many forms
it made, and the epoch's cost in opens and operations. CONTROL is slowfs's. HOW is `path` or `file`; `folder` (by the
loader of torchvision's ImageFolder), `decode` (by stoker.decode), `feed` (by a thread of a Feed).
`read`: nothing is decoded, and they are served from entries. `plain` needs no Stoker, and prints
what each file costs, to open, to decode and to read."""

import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib/storage"))
import slowfs  # noqa: E402


def pixels(path, how):
    if how == "folder":
        from torchvision.datasets import folder
        return folder.pil_loader(path).tobytes()
    if how == "decode":
        import stoker
        return memoryview(stoker.decode(path)).tobytes()
    if how == "feed":
        from stoker._feed import Feed
        (images, _), = Feed([path], threads=1)
        return images.numpy().tobytes()
    from shares import pixels_of
    return pixels_of(path, how)


def see(task):
    """(name, digest, whether it was served, how many forms were made)"""
    path, how = task
    return os.path.basename(path), *(see_bytes(path) if how == "read" else see_pixels(path, how))


def see_pixels(path, how):
    from stoker import _core
    before = _core.counts()
    digest = digest_of(pixels(path, how))
    now = _core.counts()
    return digest, now["unread"] > before["unread"], now["forms"] - before["forms"]


def see_bytes(path):
    """An entry is on another mount."""
    with open(path, "rb") as file:
        return digest_of(file.read()), mount_of(file.fileno()) != mount_of(top), 0


def mount_of(fd):
    return re.search(r"mnt_id:\s*(\d+)", pathlib.Path(f"/proc/self/fdinfo/{fd}").read_text())[1]


def digest_of(data):
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def see_all(control, paths, how, pool):
    before = control.settled_counts()
    seen = sorted(pool.map(see, [(path, how) for path in paths], chunksize=4))
    cost = control.settled_counts() - before
    return {"pixels": digest_of("".join(digest for _, digest, *_ in seen).encode()),
            "served": [name for name, _, is_served, _ in seen if is_served],
            "made": sum(made for *_, made in seen),
            "opens": cost["open"], "operations": cost.file_ops}


def counts_when_closed(control):
    """The counts once all files are closed: what the kernel reads ahead of a program may come after its last call."""
    deadline = time.monotonic() + 60
    while (counts := control.counts())["release"] != counts["open"]:
        assert time.monotonic() < deadline, "a file stays open"
        time.sleep(0.001)
    return counts


def cost_of(control, path, call):
    """As in a later epoch, to the kernel, which forgets the times of a file that is read."""
    see_bytes(path)
    before = counts_when_closed(control)
    call()
    return (counts_when_closed(control) - before).file_ops


def see_plainly(control, paths):
    from PIL import Image
    costs, digests, read = {}, [], []

    def decode():
        with Image.open(path) as image:
            digests.append(digest_of(image.convert("RGB").tobytes()))

    for path in paths:
        costs[os.path.basename(path)] = [cost_of(control, path, call) for call in (
            lambda: open(path, "rb").close(), decode, lambda: read.append(see_bytes(path)[0]))]
    return {"pixels": digest_of("".join(digests).encode()),
            "bytes": digest_of("".join(read).encode()), "costs": costs}


def main():
    global top
    control_path, directory, epochs, how, workers = sys.argv[1:6]
    top = os.open(directory, os.O_PATH)
    paths, dice = sorted(map(str, pathlib.Path(directory).iterdir())), random.Random(1)
    control = slowfs.Control(control_path)
    if how == "plain":
        return print(json.dumps(see_plainly(control, paths)))
    with multiprocessing.get_context("fork").Pool(int(workers)) as pool:
        for number in range(int(epochs)):
            orders = dice.sample(paths, len(paths))
            told = see_all(control, orders, how, pool)
            print(json.dumps(told), flush=True)
            if number > 0 and how != "read" and told["made"] == 0:
                return


if __name__ == "__main__":
    main()
