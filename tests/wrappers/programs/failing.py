"""Checks that a hook returns what Pillow's own function returns, whichever function of Stoker's fails once. Argument:
a directory of JPEGs. Prints one line for each different outcome, and last the number of functions that failed.

A function's code is exchanged for code that raises at the n-th call and then works as before.
"""

import copy
import functools
import io
import os
import pickle
import sys
import threading
import types
import warnings

import stoker
from cases import digest
from stoker import Image, _core

PATH = os.path.join(sys.argv[1], "color.jpg")
NUMBERS = 1, 2

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


DO = {
    "load": lambda image: [type(image.load()).__name__, image.load()[3, 4], pixels(image)],
    "convert": lambda image: pixels(image.convert("RGB")), "copy": lambda image: pixels(image.copy()),
    "copied": lambda image: pixels(copy.copy(image)), "crop": lambda image: pixels(image.crop((3, 4, 50, 60))),
    "resize": lambda image: pixels(image.resize((41, 33), 2)), "flip": lambda image: pixels(image.transpose(0)),
    "tobytes": lambda image: digest(image.tobytes()), "im": lambda image: image.im.size,
    "all": lambda image: pixels(image.convert("RGB").crop((5, 5, 80, 60)).resize((30, 20), 2).transpose(0)),
    "rotate": lambda image: pixels(image.rotate(90)),
    "pickle": lambda image: pixels(pickle.loads(pickle.dumps(image))),
    "twice": twice, "thread": in_a_thread, "getpixel": lambda image: image.getpixel((5, 6)),
}


def attempt(function):
    try:
        return function()
    except Exception as error:
        return [type(error).__name__, str(error)]


def outcome(opened, do):
    return attempt(lambda: DO[do](OPEN[opened]()))


def modules():
    pillows = "hook", "take", "plan", "pending", "ordinary", "open", "headers", "versions", "check"
    names = [*(f"_pillow.{name}" for name in pillows), "_store.sources", "_store.samples"]
    return [module for name in names if (module := sys.modules.get("stoker." + name)) is not None]


def functions():
    """Yields Python's functions of the modules and their classes, each by its name."""
    for module in modules():
        for name, value in list(vars(module).items()):
            inner = vars(value).items() if isinstance(value, type) and value.__module__ == module.__name__ else ()
            for part, each in [(name, value), *((f"{name}.{part}", each) for part, each in inner)]:
                each = getattr(each, "fget", None) or getattr(each, "__func__", each)
                if type(each) is types.FunctionType and each.__module__ == module.__name__ and (
                        not each.__code__.co_freevars):
                    yield f"{module.__name__}.{part}", each


def stand_in(*arguments, **named):
    if _failing():  # noqa: F821
        raise RuntimeError("a fault")
    return _plain(*arguments, **named)  # noqa: F821


class Failing:
    """A context in which only the n-th call of a function raises."""

    def __init__(self, number):
        self.number, self.count = number, 0

    def fails(self):
        self.count += 1
        return self.count == self.number

    def globals(self, plain):
        return {"_failing": self.fails, "_plain": plain}


class FailingFunction(Failing):
    """Makes a function of Python's fail. The function keeps its identity."""

    def __init__(self, function, number):
        super().__init__(number)
        self.function, self.code = function, function.__code__

    def __enter__(self):
        function = self.function
        plain = types.FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__)
        plain.__kwdefaults__ = function.__kwdefaults__
        function.__globals__.update(self.globals(plain))
        function.__code__ = stand_in.__code__
        return self

    def __exit__(self, *_):
        self.function.__code__ = self.code


class FailingCore(Failing):
    """Makes a function of C's fail, by its name in _core."""

    def __init__(self, name, number):
        super().__init__(number)
        self.name, self.plain = name, getattr(_core, name)

    def __enter__(self):
        space = {"__name__": "stoker._core", **self.globals(self.plain)}
        setattr(_core, self.name, types.FunctionType(stand_in.__code__, space))
        return self

    def __exit__(self, *_):
        setattr(_core, self.name, self.plain)


# Functions that Pillow calls in the place of its own, and functions that only call Pillow's.
BOUNDS = {"_load", "_load_file", "_copy", "_convert", "_crop", "_resize", "_transpose", "_tobytes", "_get_im",
          "_get_plain_im", "_set_plain_im", "_delete_plain_im", "install", "_replace", "_replace_im", "_settle",
          "open_image", "_Builtins.open", "_Builtins.__getattr__", "load_plainly", "plain_load"}


def subjects():
    for name, function in list(functions()):
        if name.split(".", 3)[3] not in BOUNDS:
            yield name, functools.partial(FailingFunction, function)
    for name, value in list(vars(_core).items()):
        if type(value) is types.BuiltinFunctionType:
            yield f"_core.{name}", functools.partial(FailingCore, name)


def main():
    warnings.simplefilter("ignore")
    ways = [(opened, do) for opened in OPEN for do in DO]
    for _ in range(3):
        expected = {way: outcome(*way) for way in ways}
    failed = set()
    for name, failing in subjects():
        for way in ways:
            for number in NUMBERS:
                with failing(number) as fault:
                    found = outcome(*way)
                if found != expected[way]:
                    print(name, number, *way, str(found)[:200], str(expected[way])[:200])
                if fault.count < number:
                    break
                failed.add(name)
    print(len(failed), "failed", flush=True)


if __name__ == "__main__":
    main()
