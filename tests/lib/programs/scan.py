"""Lists a directory in every way that Python programs do, or in those that are named; prints what it found, in its
order. Torchvision's way, `folder`, has to be named, since torch takes long to import."""

import glob
import os
import pathlib
import sys

top = sys.argv[1]
wanted = set(sys.argv[2:])

ImageFolder = None
if "folder" in wanted:
    from torchvision.datasets import ImageFolder


def entries(path):
    with os.scandir(path) as found:
        return [(one.name, one.inode(), one.is_dir(), one.is_file(follow_symlinks=False),
                 one.is_symlink()) for one in found]


def by_descriptor(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return [os.listdir(fd), os.listdir(fd), sorted(one.name for one in os.scandir(fd))]
    finally:
        os.close(fd)


def shared(path):
    """Two readers of one offset."""
    fd = os.open(path, os.O_RDONLY)
    try:
        one = os.scandir(fd)
        said = [next(one).name, [entry.name for entry in os.scandir(fd)]]
        return [*said, os.listdir(fd), [entry.name for entry in one], os.listdir(fd)]
    finally:
        os.close(fd)


def fwalk():
    return [(path, directories, files) for path, directories, files, _ in os.fwalk(top)]


def folder():
    found = ImageFolder(top)
    return found.classes, found.samples


WAYS = {
    "listdir": lambda: [os.listdir(path) for path, _, _ in os.walk(top)],
    "scandir": lambda: [entries(path) for path, _, _ in os.walk(top, followlinks=False)],
    "walk": lambda: list(os.walk(top)),
    "walk links": lambda: list(os.walk(top, followlinks=True)),
    "walk up": lambda: list(os.walk(top + "/", topdown=False)),
    "fwalk": fwalk,
    "descriptor": lambda: by_descriptor(top),
    "shared": lambda: shared(top),
    "classes": lambda: [(one.name, os.path.isdir(one.path), os.listdir(one.path))
                        for one in os.scandir(top) if one.is_dir()],
    "glob": lambda: glob.glob(top + "/*/*.jpg") + glob.glob(top + "/**", recursive=True),
    "pathlib": lambda: [str(path) for path in pathlib.Path(top).rglob("*")],
    "iterdir": lambda: [str(path) for path in pathlib.Path(top).iterdir()],
    "relative": lambda: (os.chdir(top), os.listdir(), os.listdir("."), os.listdir("c1/"))[1:],
    **({"folder": folder} if ImageFolder else {}),
}

for name, way in WAYS.items():
    if not wanted or name in wanted:
        print(name, way())
