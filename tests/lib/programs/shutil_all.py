"""Copies a tree with each of shutil's ways. Usage: shutil_all.py SOURCE TARGET"""

import os
import shutil
import sys


def main(source, target):
    os.makedirs(target, exist_ok=True)
    for copy in (shutil.copyfile, shutil.copy, shutil.copy2):
        into = os.path.join(target, copy.__name__)
        shutil.copytree(source, into, copy_function=copy, symlinks=True)
        for name in sorted(os.listdir(source)):
            path = os.path.join(source, name)
            try:
                copy(path, path)
            except (OSError, shutil.Error) as error:
                print(name, type(error).__name__)
    with open(os.path.join(source, "b.bin" if "sub" in source else "a.bin"), "rb") as file:
        print(len(file.read()))


if __name__ == "__main__":
    main(*sys.argv[1:])
