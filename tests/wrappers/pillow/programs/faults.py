"""Checks that a hook returns what Pillow's own function returns, whichever function of Stoker's fails once. Argument:
a directory of JPEGs, and every how many ways each function fails. Prints one line for each different outcome, and last the number of functions that failed.
"""

import copy
import io
import os
import pathlib
import pickle
import sys
import threading
import warnings

import stoker  # noqa: F401
from cases import digest
from stoker import Image, _core

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "lib/tensors"))

import failing  # noqa: E402

PATH = os.path.join(sys.argv[1], "color.jpg")

with open(PATH, "rb") as file:
    DATA = file.read()


class Stream(io.RawIOBase):
    """A stream, neither a file nor bytes."""

    def __init__(self):
        self.inner = io.BytesIO(DATA)

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        return self.inner.readinto(buffer)

    def seek(self, offset, whence=0):
        return self.inner.seek(offset, whence)

    def tell(self):
        return self.inner.tell()


def by_file():
    with open(PATH, "rb") as file:
        image = Image.open(file)
        image.load()
        return image


OPEN = {"path": lambda: Image.open(PATH), "bytes": lambda: Image.open(io.BytesIO(DATA)),
        "stream": lambda: Image.open(Stream()), "file": by_file,
        "cut": lambda: Image.open(io.BytesIO(DATA[:len(DATA) // 2])),
        "ordinary": lambda: Image.frombytes("RGB", (90, 70), bytes(n * 7 % 251 for n in range(90 * 70 * 3)))}


def twice(image):
    first = image.crop((1, 2, 40, 50))
    return pixels(first) + pixels(image.crop((2, 2, 40, 50)))


def pixels(image):
    return [image.mode, image.size, digest(image.tobytes()), digest(image.convert("L").tobytes())]


def in_a_thread(image):
    found = []
    thread = threading.Thread(target=lambda: found.append(attempt(lambda: pixels(image.convert("RGB")))))
    thread.start()
    thread.join()
    return found


def before_a_fork(image):
    image = image.convert("RGB")
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return pixels(image)


DO = {
    "load": lambda image: [type(image.load()).__name__, image.load()[3, 4], pixels(image)],
    "convert": lambda image: pixels(image.convert("RGB")), "copy": lambda image: pixels(image.copy()),
    "copied": lambda image: pixels(copy.copy(image)), "crop": lambda image: pixels(image.crop((3, 4, 50, 60))),
    "resize": lambda image: pixels(image.resize((41, 33), 2)), "flip": lambda image: pixels(image.transpose(0)),
    "tobytes": lambda image: digest(image.tobytes()), "im": lambda image: image.im.size,
    "all": lambda image: pixels(image.convert("RGB").crop((5, 5, 80, 60)).resize((30, 20), 2).transpose(0)),
    "rotate": lambda image: pixels(image.rotate(90)),
    "pickle": lambda image: pixels(pickle.loads(pickle.dumps(image))),
    "twice": twice, "fork": before_a_fork, "thread": in_a_thread, "getpixel": lambda image: image.getpixel((5, 6)),
}


def attempt(function):
    try:
        return function()
    except Exception as error:
        return [type(error).__name__, str(error)]


def outcome(opened, do):
    return attempt(lambda: DO[do](OPEN[opened]()))


def modules():
    pillows = "hook", "callers", "take", "plan", "pending", "ordinary", "open", "headers", "versions", "check", \
        "operations", "operate", "operations_check"
    names = [*(f"_pillow.{name}" for name in pillows), "_store.sources", "_store.samples"]
    return [module for name in names if (module := sys.modules.get("stoker." + name)) is not None]


# Functions that Pillow calls in the place of its own, and functions that only call Pillow's.
BOUNDS = {"_load", "_load_file", "_get_im", "_get_plain_im", "_set_plain_im", "_delete_plain_im",
          "install", "_replace", "_replace_im", "_materialise", "open_image", "_Builtins.open",
          "_Builtins.__getattr__", "load_plainly", "plain_load", "_be_main_thread"}


def main():
    warnings.simplefilter("ignore")
    ways = [(opened, do) for opened in OPEN for do in DO]
    failing.compare(failing.subjects(modules(), _core, BOUNDS), ways, outcome, each=int(sys.argv[2]))


if __name__ == "__main__":
    main()
