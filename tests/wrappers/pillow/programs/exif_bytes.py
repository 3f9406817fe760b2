"""Compares the bytes and values of EXIF data, and what Exif.tobytes() and [] leave behind, with Pillow's own functions.
Argument: how many random examples."""

import io
import logging
import random
import struct
import sys
import warnings

from PIL import ExifTags, TiffImagePlugin, TiffTags
from PIL import Image as PILImage
from stoker import Image
from stoker._pillow import exif, exif_bytes, versions

UNITS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
USUAL = 1, 2, 3, 4, 5, 7, 10
EXIF, GPS, INTEROP = 0x8769, 0x8825, 0xA005
TAGS = {None: [0x010E, 0x010F, 0x0110, 0x0112, 0x011A, 0x011B, 0x0128, 0x0131, 0x0132, 0x013B, 0x0213, 0x8298, 0x9C9B, 0xC4A5],
        EXIF: [0x829A, 0x829D, 0x8822, 0x8827, 0x9000, 0x9003, 0x9101, 0x9201, 0x9202, 0x9204, 0x9286, 0x927C, 0xA001, 0xA002,
               0xA20E, 0xA302, 0xA420], GPS: [*range(30)], INTEROP: [1, 2, 0x1000]}
# As a camera has them: tags with their usual types.
CAMERA = {None: {0x010F: 2, 0x0110: 2, 0x0112: 3, 0x011A: 5, 0x011B: 5, 0x0128: 3, 0x0131: 2, 0x0132: 2, 0x0213: 3, 0x8298: 2},
          EXIF: {0x829A: 5, 0x829D: 5, 0x8822: 3, 0x8827: 3, 0x9000: 7, 0x9003: 2, 0x9004: 2, 0x9101: 7, 0x9201: 10, 0x9202: 5,
                 0x9204: 10, 0x9207: 3, 0x9209: 3, 0x920A: 5, 0x927C: 7, 0x9286: 7, 0xA000: 7, 0xA001: 3, 0xA002: 4, 0xA003: 4,
                 0xA20E: 5, 0xA217: 3, 0xA300: 7, 0xA301: 7, 0xA402: 3, 0xA405: 3, 0xA433: 2},
          GPS: {0: 1, 1: 2, 2: 5, 3: 2, 4: 5, 5: 1, 6: 5, 7: 5, 18: 2, 29: 2}, INTEROP: {1: 2, 2: 7}}
COUNTS = {0x9000: 4, 0xA000: 4, 0x9101: 4, 0x927C: 200, (GPS, 0): 4, (GPS, 2): 3, (GPS, 4): 3, (GPS, 7): 3}


class Writer:
    """Makes TIFF data of directories {tag: (type, count, bytes)}; what lies elsewhere comes behind each directory."""

    def __init__(self, order):
        self.order, self.data = order, bytearray(b"II*\0\10\0\0\0" if order == "<" else b"MM\0*\0\0\0\10")

    def add(self, entries):
        """Adds a directory. Returns where its values lie, by their tags."""
        at = len(self.data)
        places = {}
        self.data += struct.pack(self.order + "H", len(entries)) + bytes(12 * len(entries) + 4)
        for number, (tag, (kind, count, value)) in enumerate(entries.items()):
            place = at + 2 + 12 * number
            places[tag] = place + 8
            struct.pack_into(self.order + "HHL", self.data, place, tag, kind, count)
            if len(value) <= 4:
                self.data[place + 8:place + 8 + len(value)] = value
            else:
                struct.pack_into(self.order + "L", self.data, place + 8, len(self.data))
                self.data += value + b"\0" * (len(value) % 2)
        return places


def value_of(dice, kind, count, order):
    size = UNITS.get(kind, 1) * count
    if kind == 2:
        return bytes(dice.choice(b"abc 019\xe9") for _ in range(max(0, size - 1))) + (b"\0" if size and dice.random() < 0.9 else b"z" * (size > 0))
    if kind in (5, 10):
        return b"".join(struct.pack(order + ("L" if kind == 5 else "l"), dice.choice(
            (0, 1, 2, 10, 72, 100, 600, 1 << 20, (1 << 31) - 1, dice.randrange(1, 1000), *((-5, -(1 << 31)) if kind == 10 else ((1 << 32) - 1,)))))
            for _ in range(2 * count))
    return bytes(dice.choice((0, 0, 1, 255, dice.randrange(256))) for _ in range(size))


def directory(dice, group, order, usual):
    if usual:
        kinds = {tag: kind for tag, kind in CAMERA[group].items() if dice.random() < 0.9}
        return {tag: (kind, count, without_zeros(value_of(dice, kind, count, order), kind)) for tag, kind in kinds.items()
                for count in [COUNTS.get((group, tag), COUNTS.get(tag, dice.randrange(2, 30) if kind == 2 else 1))]}
    tags = {dice.choice(TAGS[group]) if dice.random() < 0.9 else dice.randrange(1 << 16) for _ in range(dice.randrange(9))}
    entries = {}
    for tag in tags - {EXIF, GPS, INTEROP}:
        kind = dice.choice(USUAL) if dice.random() < 0.95 else dice.choice([*UNITS, 0, 99])
        count = dice.choice((1, 1, 1, 2, 3, 5)) if dice.random() < 0.95 else 0
        entries[tag] = kind, count, value_of(dice, kind, count, order)
    return entries


def without_zeros(value, kind):
    """A camera's denominators are none."""
    return value if kind not in (5, 10) else b"".join(
        value[at:at + 4] + (value[at + 4:at + 8] if any(value[at + 4:at + 8]) else b"\1\1\1\1") for at in range(0, len(value), 8))


def example(dice):
    order, usual = dice.choice("<>"), dice.random() < 0.5
    writer = Writer(order)
    inner = {tag for tag in (EXIF, GPS) if dice.random() < 0.6}
    root = {**directory(dice, None, order, usual), **{tag: (4, 1, bytes(4)) for tag in inner}}
    places = writer.add(root)
    for tag in inner:
        struct.pack_into(order + "L", writer.data, places[tag], len(writer.data))
        entries = directory(dice, tag, order, usual)
        if tag == EXIF and dice.random() < 0.5:
            entries[INTEROP] = 4, 1, bytes(4)
        below = writer.add(entries)
        if INTEROP in below:
            struct.pack_into(order + "L", writer.data, below[INTEROP], len(writer.data))
            writer.add(directory(dice, INTEROP, order, usual))
    data = b"Exif\0\0" + bytes(writer.data)
    return data[:dice.randrange(len(data))] if dice.random() < 0.05 else data


def named(tag):
    """Returns the tag as a member of Pillow's own enumeration, which a Pillow before 9.4 does not have."""
    return ExifTags.Base(tag) if hasattr(ExifTags, "Base") else tag


def changes(dice):
    """Returns functions that a program may call before it wants the bytes."""
    tag = dice.choice(TAGS[None])
    return [dice.choice((
        lambda one: one.get(tag), lambda one: one.get(0x0112), lambda one: one.get(named(0x0112)),
        lambda one: one.get(named(tag)), lambda one: one.__setitem__(named(tag), 7), lambda one: one.__delitem__(tag) if tag in one else None,
        lambda one: one.__setitem__(0x0112, 3), lambda one: one.__setitem__(tag, "text"), lambda one: one.__setitem__(tag, 7),
        lambda one: one.__setitem__(tag, (1, 2)), lambda one: one.get_ifd(EXIF), lambda one: str(one), lambda one: dict(one),
        lambda one: one.__setitem__(tag, 0.5), lambda one: one.hide_offsets() if hasattr(one, "hide_offsets") else None,
        lambda one: setattr(one, "endian", "<"), lambda one: one.fp.seek(3), lambda one: one.tobytes()))
        for _ in range(dice.choice((0, 0, 1, 1, 2)))]


def seen(one):
    own = {name: value for name, value in vars(one).items() if name not in ("fp", "_info")}
    info = None if one._info is None else list(vars(one._info).items())
    file = getattr(one, "fp", None)
    return repr(own), {name: list(value) for name, value in own.items() if type(value) is dict}, file and file.tell(), repr(info)


def outcome(data, before, offset, is_hooked):
    """Returns the bytes, the error, the warnings, and all that is left."""
    set_hook(is_hooked)
    one, found = Image.Exif(), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in (lambda one: one.load(data), *before, lambda one: one.tobytes(*offset)):
            try:
                found.append(repr(step(one)))
            except Exception as raised:
                found.append(repr(raised))
    set_hook(True)
    return found, [str(each.message) for each in caught], seen(one)


HOOKED = {name: vars(Image.Exif)[name] for name in ("load", "tobytes", "__getitem__")}
PLAIN = dict(zip(HOOKED, (versions.PLAIN[name] for name in ("Exif.load", "Exif.tobytes", "Exif.item"))))


def set_hook(is_hooked):
    for name, function in (HOOKED if is_hooked else PLAIN).items():
        setattr(Image.Exif, name, function)


def is_made(data):
    """Returns true if the bytes are not left to Pillow."""
    one = Image.Exif()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            one.load(data)
        except Exception:
            return False
    return exif_bytes._try(exif_bytes._tobytes, one, 8) is not None


def is_made_of_image(turned):
    """Returns true if the bytes of a photograph's EXIF data are not left to Pillow, before it is turned or after."""
    file = io.BytesIO()
    PILImage.new("RGB", (16, 8)).save(file, "JPEG", exif=FULL)
    image = PILImage.open(file)
    if turned:
        image.load()
        image = image.transpose(PILImage.Transpose.ROTATE_270)
    one = image.getexif()
    del one[0x0112]
    return exif_bytes._try(exif_bytes._tobytes, one, 8) is not None


def is_called(owner, name):
    """Returns true if a function that the program has replaced is called."""
    plain, calls = getattr(owner, name), []
    setattr(owner, name, lambda *arguments, **named: calls.append(1) or plain(*arguments, **named))
    one = Image.Exif()
    one.load(FULL)
    one.tobytes()
    setattr(owner, name, plain)
    return bool(calls)


def logs(is_hooked):
    """Returns what Pillow logs."""
    found, handler = [], logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())
    TiffImagePlugin.logger.addHandler(handler)
    TiffImagePlugin.logger.setLevel(logging.DEBUG)
    outcome(FULL, [lambda one: one[0x0112]], (), is_hooked)
    TiffImagePlugin.logger.setLevel(logging.WARNING)
    TiffImagePlugin.logger.removeHandler(handler)
    return found


def entry_added(tag):
    """Returns the bytes after the program has added a tag to Pillow's table."""
    TiffTags.TAGS_V2[tag] = TiffTags.TagInfo(tag, "ours", TiffTags.LONG, 1)
    found = [outcome(FULL, [lambda one: one.__setitem__(tag, 5)], (), is_hooked) for is_hooked in (True, False)]
    del TiffTags.TAGS_V2[tag]
    return found


class Derived(Image.Exif):
    pass


FULL = exif.sample(b"II*\0", exif_bytes._SAMPLE)
assert is_made(FULL) and exif_bytes._finding.known.is_right and is_made_of_image(False) and is_made_of_image(True)
derived = Derived()
derived.load(FULL)
assert exif_bytes._try(exif_bytes._tobytes, derived, 8) is None
dice = random.Random(3)
made = total = 0
for _ in range(int(sys.argv[1])):
    data, before, offset = example(dice), changes(dice), dice.choice(((), (), (8,), (100,)))
    one, other = outcome(data, before, offset, True), outcome(data, before, offset, False)
    assert one == other, (data, one, other)
    made, total = made + is_made(data), total + 1
assert total / 4 < made < 7 * total / 8, (made, total)
assert logs(True) == logs(False) != []
assert all(is_called(*each) for each in (
    (TiffImagePlugin.ImageFileDirectory_v2, "tobytes"), (TiffImagePlugin.ImageFileDirectory_v2, "_setitem"),
    (TiffImagePlugin, "_limit_rational"), (TiffTags, "lookup"), (Image.Exif, "get_ifd")))
assert len({*map(repr, entry_added(0xEEEE))}) == 1
print("same")
