"""Files that are not as they should be: what comes of each, at which step. Arguments: a directory
of JPEGs, how many of the flipped bytes to try, and into how many parts each file is cut: with half of the parts the files
take turns."""

import io
import os
import random
import struct
import sys

import cases
from cases import CASES, Image
from PIL import ImageFile
from steps import steps

DIRECTORY, FLIPS, PARTS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
del sys.argv[2:]

NAMES = ["color.jpg", "444.jpg", "422.jpg", "grey.jpg", "progressive.jpg", "optimized.jpg",
         "exif.jpg"]


def content(name):
    with open(os.path.join(DIRECTORY, name), "rb") as file:
        return file.read()


def add(name, data, **options):
    CASES[name] = lambda: steps(data, **options)


def patched(data, at, new):
    return data[:at] + new + data[at + len(new):]


def with_size(data, width, height):
    at = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return patched(data, at + 5, struct.pack(">HH", height, width))


for turn, name in enumerate(NAMES):
    data = content(name)
    for part in range(turn % (50 // PARTS), 50, 50 // PARTS):
        add(f"{name} cut at {part}/50", data[:len(data) * part // 50], as_file=part % 4 > 1)
    dice = random.Random(name)
    for number in range(FLIPS):
        at = dice.randrange(2, len(data)) if number % 2 else dice.randrange(2, min(640, len(data)))
        add(f"{name} byte {at} flipped by {number % 255 + 1}",
            patched(data, at, bytes([data[at] ^ (dice.randrange(255) + 1)])))
    end = len(data) - 2
    for marker in (0xD0, 0xD8, 0xC4, 0xDA, 0xE0, 0x01, 0xFF, 0x00):
        add(f"{name} ends with {marker:x}", patched(data, end, bytes([0xFF, marker])))
        middle = len(data) * 2 // 3
        add(f"{name} has {marker:x} within", patched(data, middle, bytes([0xFF, marker])))
    add(f"{name} with zeros", patched(data, len(data) // 2, bytes(200)))
    add(f"{name} ends in zeros", data[:-600] + bytes(600))
    add(f"{name} twice", data + data)
    add(f"{name} with junk behind", data + b"junk" * 100)
    add(f"{name} without its end", data[:-2])
    add(f"{name} claims to be huge", with_size(data, 65000, 65000))
    add(f"{name} claims to be large", with_size(data, 1200, 900))
    add(f"{name} claims to be tall", with_size(data, 123, 3000))
    add(f"{name} claims another size", with_size(data, 200, 100))
    add(f"{name} claims nothing", with_size(data, 0, 10))
    for table in (b"\xff\xdb", b"\xff\xc4"):
        at = data.find(table)
        size = struct.unpack(">H", data[at + 2:at + 4])[0] + 2
        add(f"{name} without {table.hex()}", data[:at] + data[at + size:])
        for bad in (b"\xff", b"\x00", b"\x7f"):
            add(f"{name} {table.hex()} of {bad.hex()}", patched(data, at + 5, bad * 9))

add("empty", b"")
add("zeros", bytes(3000))
add("only SOI", b"\xff\xd8\xff")
png = io.BytesIO()
Image.open(os.path.join(DIRECTORY, "color.jpg")).save(png, "PNG")
add("a PNG named .jpg", png.getvalue(), as_file=True)
add("a JPEG named .png", content("color.jpg"), as_file=True, suffix=".png")
add("CMYK", content("cmyk.jpg"))
color = content("color.jpg")
frame = color.find(b"\xff\xc0")
add("of 12 bits", patched(color, frame + 4, b"\x0c"))
add("lossless", patched(color, frame + 1, b"\xc3"))
mpo = io.BytesIO()
Image.open(os.path.join(DIRECTORY, "444.jpg")).save(
    mpo, "MPO", save_all=True, append_images=[Image.open(os.path.join(DIRECTORY, "color.jpg"))])
add("MPO", mpo.getvalue(), as_file=True)


def mpo_frames():
    image = Image.open(io.BytesIO(mpo.getvalue()))
    image.load()
    image.seek(1)
    return type(image).__name__, image.n_frames, image.tobytes()


CASES["MPO frames"] = mpo_frames


def lenient():
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        return [steps(content(name)[:len(content(name)) * part // 7])
                for name in NAMES for part in range(2, 7)]
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


CASES["LOAD_TRUNCATED_IMAGES"] = lenient


def with_limit(pixels, data):
    Image.MAX_IMAGE_PIXELS, before = pixels, Image.MAX_IMAGE_PIXELS
    try:
        return steps(data)
    finally:
        Image.MAX_IMAGE_PIXELS = before


CASES["an error by the bomb check"] = lambda: with_limit(1000, content("color.jpg"))
CASES["a warning by the bomb check"] = lambda: with_limit(8000, content("color.jpg"))
CASES["no limit"] = lambda: with_limit(None, content("color.jpg"))
CASES["more than the limit, cut"] = lambda: with_limit(8000, content("color.jpg")[:1500])
cases.tell()
