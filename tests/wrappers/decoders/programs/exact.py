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

ROOT = pathlib.Path(__file__).resolve().parents[4]
if "stoker" not in os.environ.get("PYTHONPATH", ""):  # by hand
    os.environ["PYTHONPATH"] = str(ROOT / "build/python/stoker/site.zip")
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv])

import numpy  # noqa: E402
from libraries import LIBRARIES, images  # noqa: E402
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


def make(seed):
    """The bytes of a case."""
    rng = random.Random(seed)
    size = random_size(rng)
    if size[0] * size[1] > 400000:  # few ways are for the size's sake
        size = size[0], 1 + size[1] // 8
    pixels = random_pixels(numpy.random.Generator(numpy.random.PCG64(seed)), size)
    if rng.random() < 0.05:
        return other(rng, pixels)
    data = encode(pixels, random_kind(rng))
    if rng.random() < 0.35:
        data = with_segments(rng, data)
    return damaged(rng, data) if rng.random() < 0.15 else data


def differences(library, seed, directory):
    """Yields the calls of a case whose outcomes differ."""
    data = make(seed)
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
    print(json.dumps({"cases": args.cases, "differences": found[:20], "count": len(found), "images": images()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
