#!/usr/bin/python3
"""Random files to a library's functions and to those in their place: no difference may be seen.

    tests/wrappers/decoders/programs/exact.py opencv --cases 10000      seeds 1 to 10,000
    tests/wrappers/decoders/programs/exact.py opencv --first 123 --cases 1
"""
import argparse
import io
import json
import os
import pathlib
import random
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[4]
if "stoker" not in os.environ.get("PYTHONPATH", ""):  # by hand
    os.environ["PYTHONPATH"] = str(ROOT / "build/python/stoker/site.zip")
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv])

import numpy  # noqa: E402
from libraries import LIBRARIES, images, pngs  # noqa: E402
from PIL import Image  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/decode"))
from cases import encode, random_kind, random_pixels, random_size  # noqa: E402


def segment(marker, data):
    return bytes((0xff, marker)) + (len(data) + 2).to_bytes(2, "big") + data


def exif(rng):
    """A segment with an orientation: mostly sound, now and then not."""
    order = rng.choice(("little", "big"))
    value = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 8, 0, 9))
    kind, count, begin = rng.choice(((3, 1, 8),) * 8 + ((4, 1, 8), (3, 2, 8), (3, 1, 9000)))
    tiff = b"".join(number.to_bytes(size, order) for number, size in (
        (42, 2), (begin, 4), (1, 2), (rng.choice((0x112,) * 9 + (0x110,)), 2), (kind, 2), (count, 4), (value, 2),
        (0, 2), (0, 4)))
    return segment(0xe1, b"Exif\0\0" + (b"II" if order == "little" else b"MM") + tiff)


def with_segments(rng, data):
    """Puts segments with EXIF, and others, before or behind the first segment."""
    xmp = segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'/>")
    parts = rng.choice(((exif(rng),),) * 6 + ((exif(rng), exif(rng)), (xmp, exif(rng)), (exif(rng), xmp), (xmp,)))
    at = rng.choice((2, 4 + int.from_bytes(data[4:6], "big")))
    return data[:at] + b"".join(parts) + data[at:]


def damaged(rng, data):
    kind = rng.random()
    if kind < 0.4:
        return data[:rng.randrange(len(data))]
    if kind < 0.5:
        return data + bytes(rng.randrange(3000))
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def other(rng, pixels):
    """Another format, or a JPEG that only Pillow writes here."""
    stream = io.BytesIO()
    image = Image.fromarray(pixels)
    kind = rng.choice(("PNG", "BMP", "CMYK", "nothing"))
    if kind == "nothing":
        return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
    image.convert("CMYK").save(stream, "JPEG") if kind == "CMYK" else image.save(stream, kind)
    return stream.getvalue()


def chunk(kind, data):
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def png(rng, pixels):
    """A PNG of any mode, mostly sound, now and then with a chunk of a kind that readers may heed."""
    stream, height = io.BytesIO(), pixels.shape[0]
    mode = rng.choice(("L", "RGB", "RGB", "RGBA", "P", "LA", "I;16"))  # torchvision's own crashes at some of one bit
    image = Image.fromarray(pixels[:, :, 0].astype(numpy.uint16) * 257) if mode == "I;16" else \
        Image.fromarray(pixels).convert(mode)
    image.save(stream, "PNG", compress_level=rng.choice((0, 1, 6, 9)), optimize=rng.random() < 0.1)
    data, more = stream.getvalue(), rng.choice((
        b"", b"", b"", chunk(b"gAMA", b"\0\0\xb1\x8f"), chunk(b"sRGB", b"\0"), chunk(b"pHYs", b"\0" * 9),
        chunk(b"pHYs", b"short"), chunk(b"tEXt", b"Title\0" + bytes(height)), chunk(b"prIv", b"more"), chunk(b"PRIV", b""),
        chunk(b"sBIT", b"\3" * len(mode)), chunk(b"bKGD", b"\0" * 6), chunk(b"tRNS", b"\0\1" * len(mode)), chunk(b"IDAT", b""),
        chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\1\x01\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0")))
    at = rng.choice((33, len(data) - 12, len(data)))
    return data[:at] + more + data[at:]


def with_wrong_sum(rng, data):
    """A PNG whose check sum is wrong: the header's, or that of the first image data."""
    at = data.index(b"IDAT")
    behind = rng.choice((29, at + 4 + int.from_bytes(data[at - 4:at], "big")))
    return data[:behind] + bytes([data[behind] ^ 1]) + data[behind + 1:]


def make(seed, spoils_pngs):
    """The bytes of a case."""
    rng = random.Random(seed)
    size = random_size(rng)
    largest = 20_000 if seed % 8 else 400_000  # few ways are for the size's sake, and each call decodes all of it
    if size[0] * size[1] > largest:
        size = size[0], 1 + largest // size[0]
    pixels = random_pixels(numpy.random.Generator(numpy.random.PCG64(seed)), size)
    if rng.random() < 0.05:
        return other(rng, pixels)
    is_png = rng.random() < 0.25
    data = png(rng, pixels) if is_png else encode(pixels, random_kind(rng))
    if not is_png and rng.random() < 0.35:
        data = with_segments(rng, data)
    if rng.random() >= 0.15 or (is_png and not spoils_pngs):
        return data
    return with_wrong_sum(rng, data) if is_png and rng.random() < 0.5 else damaged(rng, data)


def differences(library, seed, directory):
    """Yields the calls of a case whose outcomes differ."""
    data = make(seed, library.takes_damaged_pngs)
    path = os.path.join(directory, f"{seed}.jpg")
    with open(path, "wb") as file:
        file.write(data)
    for name, arguments, named in library.calls(data, path):
        plain, ours = library.both(name, arguments, named)
        if plain != ours:
            yield f"seed {seed}: {name}(..., {arguments[1:]}, {named}): {plain} / {ours}"
    os.unlink(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=sorted(LIBRARIES))
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--first", type=int, default=1)
    args = parser.parse_args()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libjpeg's warnings
    library, found = LIBRARIES[args.library](), []
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(args.first, args.first + args.cases):
            found += differences(library, seed, directory)
    print(json.dumps({"cases": args.cases, "differences": found[:20], "count": len(found), "images": images(), "pngs": pngs()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
