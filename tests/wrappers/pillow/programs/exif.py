"""Compares what Exif.load() makes of sound and of spoilt EXIF data with Pillow's own function. Argument: how many."""

import logging
import random
import sys
import warnings

from PIL import TiffImagePlugin
from stoker import Image
from stoker._pillow import exif, versions

LOGGER = TiffImagePlugin.logger


def data_of(order, **tags):
    made = Image.Exif()
    made.endian = order
    made.update({int(tag[1:]): value for tag, value in tags.items()})
    return made.tobytes()


FULL = {"_271": "a maker", "_272": "a camera of that maker", "_274": 6, "_282": 72.0, "_283": 72.0, "_296": 2,
        "_306": "2010:01:01 10:10:10", "_33432": "a line on rights", "_34665": {33434: 0.5, 37510: b"a comment"}}
SOUND = [data_of(order, **tags) for order in "<>" for tags in ({"_274": 3}, {"_282": 300.0, "_296": 3}, FULL)]


def spoilt(dice):
    data = bytearray(dice.choice(SOUND))
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        data[dice.randrange(len(data))] = dice.choice((0, 1, 2, 3, 4, 5, 7, 12, 255, dice.randrange(256)))
    return bytes(data[:dice.randrange(len(data))] if dice.random() < 0.2 else data)


def seen(load, data):
    """Returns all attributes of EXIF data in their order, its values, the error and the warnings."""
    made, error = Image.Exif(), None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            load(made, data)
        except Exception as raised:
            error = repr(raised)
    own = {name: value for name, value in vars(made).items() if name not in ("fp", "_info")}
    info = None if made._info is None else list(vars(made._info).items())
    file = getattr(made, "fp", None)
    return (error, [str(each.message) for each in caught], list(vars(made)), own, file and (file.tell(), file.getvalue()), repr(info))


def is_same(data):
    return seen(Image.Exif.load, data) == seen(versions.PLAIN["Exif.load"], data)


def is_read(data):
    """Returns true if the data is not left to Pillow."""
    return exif._loaded(Image.Exif(), data)


def logs(load):
    """Returns what Pillow logs."""
    found, handler = [], logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.DEBUG)
    load(Image.Exif(), SOUND[-1])
    LOGGER.setLevel(logging.WARNING)
    LOGGER.removeHandler(handler)
    return found


def is_called(owner, name):
    """Returns true if a function that the program has replaced is called."""
    plain, calls = getattr(owner, name), []
    setattr(owner, name, lambda *arguments: calls.append(1) or plain(*arguments))
    Image.Exif().load(SOUND[-1])
    setattr(owner, name, plain)
    return bool(calls)


def loaded_again(load):
    made = Image.Exif()
    for data in (SOUND[0], SOUND[0], SOUND[-1], b"", SOUND[1]):
        load(made, data)
        made.get(274)
    return made._data, dict(made)


def loaded_twice(load):
    """Loads the very same data once more, after the program has changed all of the first."""
    found = []
    for data in SOUND:
        one, other = Image.Exif(), Image.Exif()
        load(one, data)
        one[315] = "an artist"
        for tag in set(one) - {315}:
            del one[tag]
        one.fp.write(b"spoilt")
        load(other, data)
        found += [dict(one), one.tobytes(), dict(other), other.tobytes(), other.fp.getvalue()]
    return found


class Derived(Image.Exif):
    pass


assert all(map(is_read, SOUND)) and all(map(is_same, SOUND))
dice = random.Random(2)
examples = [spoilt(dice) for _ in range(int(sys.argv[1]))]
assert all(map(is_same, examples))
taken = sum(map(is_read, examples))
assert len(examples) / 8 < taken < 7 * len(examples) / 8, taken
assert logs(Image.Exif.load) == logs(versions.PLAIN["Exif.load"]) != []
assert all(is_called(TiffImagePlugin.ImageFileDirectory_v2, name) for name in ("__init__", "load", "_unpack"))
assert is_read(SOUND[0]) and not exif._loaded(Derived(), SOUND[0]) and not is_read(bytearray(SOUND[0])) and not is_read(b"")
assert loaded_again(Image.Exif.load) == loaded_again(versions.PLAIN["Exif.load"])
assert loaded_twice(Image.Exif.load) == loaded_twice(versions.PLAIN["Exif.load"])
print("same")
