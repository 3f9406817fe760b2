"""PNGs of every kind, sound and damaged, each out of its seed alone, loaded as a program does it. Arguments: any
directory, the first seed, how many."""

import io
import os
import random
import struct
import sys
import tempfile
import zlib

import cases
from cases import CASES, Image
from PIL import ImageFile, PngImagePlugin

_, FIRST, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
del sys.argv[2:]

# Type of colour: samples of a pixel, depths that the format has.
TYPES = {0: (1, (1, 2, 4, 8, 16)), 2: (3, (8, 16)), 3: (1, (1, 2, 4, 8)), 4: (2, (8, 16)), 6: (4, (8, 16))}
FILE = "image.png"
os.chdir(tempfile.mkdtemp(dir=sys.argv[1]))

BLACK = io.BytesIO()
Image.new("L", (64, 64)).save(BLACK, "PNG")
Image.open(BLACK).load()  # the self-test makes images
png = sys.modules.get("stoker._pillow.png")


class Own(PngImagePlugin.PngImageFile):
    """A class of the program's own."""


class Slow(io.BytesIO):
    """A file of the program's own, whose reads are short."""

    def read(self, size=-1):
        return super().read(min(size, 1000) if size > 0 else size)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def rows_of(dice, size, bits):
    """Rows of filtered bytes, half of them smooth; a filter that does not exist in one of 30 images."""
    width, height = size
    length = (width * bits + 7) // 8
    least = 6 if dice.random() < 1 / 30 else 5
    is_smooth = dice.random() < 0.5
    rows = bytearray()
    for _ in range(height):
        rows.append(dice.randrange(least))
        rows += bytes([dice.randrange(256)]) * length if is_smooth else dice.randbytes(length)
    return bytes(rows)


def compressed(dice, rows, is_sound):
    """Compresses rows of an image; in some images there are too many, or too few. An image to be damaged has no code of
    one symbol: libdeflate reads both bits as that symbol, zlib one of them as damage (docs/limits.md)."""
    kind = dice.random()
    if kind < 0.04:
        rows = rows[:-dice.randint(1, len(rows))]
    elif kind < 0.08:
        rows += dice.randbytes(dice.randint(1, 99))
    strategy = zlib.Z_DEFAULT_STRATEGY if is_sound else zlib.Z_FIXED
    coder = zlib.compressobj(dice.choice([0, 1, 6, 9]), strategy=strategy)
    data = coder.compress(rows) + coder.flush()
    return data + dice.randbytes(dice.randint(1, 9)) if kind > 0.95 else data


def ancillary(dice, behind):
    """Returns chunks that may stand before or behind the image data."""
    kinds = [chunk(b"tEXt", b"Title\0" + dice.randbytes(5)), chunk(b"prIv", dice.randbytes(9)), chunk(b"zzzz", b""),
             chunk(b"pHYs", struct.pack(">IIB", 3000, 3000, 1)), chunk(b"gAMA", struct.pack(">I", 45455)),
             chunk(b"zTXt", b"a\0\0" + zlib.compress(b"text")), chunk(b"IDAT", b"") if behind else b"",
             chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\0\0\0\0\0"), b"", b"", b""]
    return b"".join(dice.choices(kinds, k=3))


def transparency(dice, kind):
    if dice.random() < 0.6 or kind in (4, 6):
        return b""
    return chunk(b"tRNS", dice.randbytes({0: 2, 2: 6, 3: dice.randint(1, 20)}[kind]))


def png_of(dice):
    kind = dice.choice([0, 2, 2, 2, 3, 3, 4, 6, 6])
    samples, depths = TYPES[kind]
    depth = dice.choice(depths + (8,) * 6)
    size = dice.choice([(dice.randint(1, 90), dice.randint(1, 90))] * 8 + [(1, 1), (1, 300), (300, 1), (200, 160)])
    is_interlaced = dice.random() < 0.06
    header = struct.pack(">IIBBBBB", *size, depth, kind, 0, 0, int(is_interlaced))
    is_sound = dice.random() < 0.85
    data = compressed(dice, rows_of(dice, size, samples * depth), is_sound)
    part = dice.choice([1 << 20, 1 << 20, 8192, 100, 1])
    chunks = [chunk(b"IHDR", header), ancillary(dice, False)]
    if kind == 3 or dice.random() < 0.1:
        chunks.append(chunk(b"PLTE", dice.randbytes(3 * dice.randint(1, 256))))
    chunks.append(transparency(dice, kind))
    if dice.random() < 0.04:
        chunks += [chunk(b"acTL", struct.pack(">II", 1, 0)),
                   chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, *size, 0, 0, 1, 1, 0, 0))]
    if part == 1 and len(data) > 3000:
        part = 997
    chunks += [chunk(b"IDAT", data[at:at + part]) for at in range(0, len(data), part)]
    chunks += [ancillary(dice, True), chunk(b"IEND", b""), dice.choice([b"", b"tail"])]
    file = b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    return file if is_sound else damaged(dice, file)


def damaged(dice, file):
    if dice.random() < 0.4:
        return file[:dice.randrange(len(file))]
    file = bytearray(file)
    file[dice.randrange(8, len(file))] ^= 1 << dice.randrange(8)
    return bytes(file)


def opened(dice, data, files):
    """Opens an image in one of many ways. The caller closes the files that this adds."""
    way = dice.random()
    if way < 0.4:
        return Image.open(io.BytesIO(data))
    if way < 0.5:
        return Own(io.BytesIO(data))
    if way < 0.6:
        return Image.open(Slow(data))
    with open(FILE, "wb") as file:
        file.write(data)
    if way < 0.8:
        return Image.open(FILE)
    files.append(open(FILE, "rb", buffering=dice.choice([-1, 64])))
    return Image.open(files[0])


def seen(image, file):
    """Returns what a program can see of an image after load()."""
    own = {name: repr(value) for name, value in sorted(vars(image).items())
           if name not in ("im", "_im", "fp", "_fp", "palette", "png", "pyaccess") and not name.startswith("_Png")}
    palette = image.palette and (image.palette.mode, bytes(image.palette.palette), image.palette.dirty)
    at = None if file is None or file.closed else file.tell()
    return image.copy(), own, palette, image.png is None, image.fp is None, at


def load(seed):
    files = []
    try:
        return load_by(random.Random(seed), seed, files)
    finally:
        for file in files:
            file.close()


def load_by(dice, seed, files):
    if png:
        png.LEAST = 0 if seed % 4 else 2048
    ImageFile.LOAD_TRUNCATED_IMAGES = dice.random() < 0.2
    data = png_of(dice)
    image = opened(dice, data, files)
    file = image.fp
    files.append(file)
    if dice.random() < 0.05:
        image.load_read = image.load_read
    if dice.random() < 0.05:
        file.seek(dice.randrange(len(data)))
    made = Image.core.get_stats()["new_count"]
    image.load() if dice.random() < 0.8 else image.getpixel((0, 0))
    made = Image.core.get_stats()["new_count"] - made
    state = seen(image, file)
    return made, state, image.convert("RGBA"), getattr(image, "text", None)


for seed in range(FIRST, FIRST + COUNT):
    CASES[f"seed {seed}"] = lambda seed=seed: load(seed)
cases.tell()
