"""Reads all files of a directory several times, and says how many results differ from the library's own.

    touches.py LIBRARY DIRECTORY
"""

import json
import pathlib
import sys
import time

from libraries import LIBRARIES, images, outcome, package

TOUCHES = 3


def main():
    library = LIBRARIES[sys.argv[1]]()
    files = sorted(map(str, pathlib.Path(sys.argv[2]).glob("*.jpg")))
    name = {"opencv": "imread", "torchvision": "read_image"}[sys.argv[1]]
    plain = [outcome(library.plain(name), file) for file in files]
    read = getattr(library.module, name)
    time.sleep(0.2)  # the files are old enough then
    differ = sum(outcome(read, file) != own for _ in range(TOUCHES) for file, own in zip(files, plain))
    counts = package().counts()
    print(json.dumps({"files": len(files), "differ": differ, "images": images(), "unread": counts["unread"],
                      "forms": counts["forms"]}))


main()
