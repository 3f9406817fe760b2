"""Reads all files of a directory several times, and says how many results differ from the library's own.

    touches.py LIBRARY DIRECTORY
"""

import json
import pathlib
import sys
import time

from libraries import LIBRARIES, images, outcome, package

TOUCHES = 3


def of_bytes(library, files):
    """Returns how many results of decoding a file's bytes differ, and how many of the files were examined for it."""
    core, examined = sys.modules[package().__name__ + "._core"], []
    plain = core.examine
    core.examine = lambda data: (examined.append(1), plain(data))[1]
    calls = [next(library.calls(pathlib.Path(file).read_bytes(), file)) for file in files]
    differ = sum(one != other for one, other in (library.both(*call) for call in calls))
    core.examine = plain
    return differ, len(examined)


def main():
    library = LIBRARIES[sys.argv[1]]()
    files = sorted(map(str, pathlib.Path(sys.argv[2]).glob("*.jpg")))
    name = {"opencv": "imread", "torchvision": "read_image"}[sys.argv[1]]
    plain = [outcome(library.plain(name), file) for file in files]
    read = getattr(library.module, name)
    time.sleep(0.2)  # the files are old enough then
    differ = sum(outcome(read, file) != own for _ in range(TOUCHES) for file, own in zip(files, plain))
    counts = package().counts()
    found = {"files": len(files), "differ": differ, "images": images(), "unread": counts["unread"], "forms": counts["forms"]}
    found["bytes_differ"], found["examined"] = of_bytes(library, files)
    print(json.dumps(found))


main()
