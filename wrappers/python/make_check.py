"""Makes stoker/_proof/check.bin, the small images of the self-test, with libjpeg-turbo's cjpeg.

    python3 wrappers/python/make_check.py     (a new file is only needed for new kinds)
"""

import pathlib
import random
import struct
import subprocess

KINDS = ["1x1,1x1,1x1", "2x1,1x1,1x1", "2x2,1x1,1x1", "1x2,1x1,1x1", "4x1,1x1,1x1", "4x2,1x1,1x1"]
YCBCR, RGB, PROGRESSIVE = range(3)  # as in stoker/_proof/images.py
TALL = (3, 330)  # so tall that the order of a resize's passes shows


def picture(width, height, seed):
    """Soft colours, some edges, a little noise: a PPM."""
    dice = random.Random(seed)
    rows = bytearray()
    for y in range(height):
        for x in range(width):
            edge = 90 if (x // 9 + y // 7) % 3 == 0 else 0
            rows += bytes((min(255, max(0, value + dice.randint(-9, 9))) for value in (
                x * 255 // width, (y * 200 // height + edge) % 256, (x * 3 + y * 5 + edge) % 256)))
    return b"P6 %d %d 255\n" % (width, height) + bytes(rows)


def encode(ppm, *options):
    return subprocess.run(["cjpeg", "-optimize", *options], input=ppm, capture_output=True,
                          check=True).stdout


def main():
    images = []
    for number, kind in enumerate(KINDS):
        digits = kind.replace("x", "").replace(",", "").encode()
        images.append((digits, YCBCR, encode(picture(61, 47, number), "-quality", "82",
                                         "-sample", kind)))
    for kind in KINDS[0], KINDS[2]:
        digits = kind.replace("x", "").replace(",", "").encode()
        images.append((digits, YCBCR, encode(picture(*TALL, 7), "-quality", "75", "-sample", kind)))
    images.append((b"111111", RGB, encode(picture(33, 29, 8), "-quality", "90", "-rgb")))
    images.append((b"11", YCBCR, encode(picture(37, 31, 9), "-quality", "85", "-grayscale")))
    images.append((b"221111", PROGRESSIVE, encode(picture(37, 31, 10), "-quality", "85", "-progressive")))
    packed = b"".join(struct.pack("<6sBH", digits, kind, len(jpeg)) + jpeg
                      for digits, kind, jpeg in images)
    pathlib.Path(__file__).with_name("stoker").joinpath("_proof/check.bin").write_bytes(packed)


if __name__ == "__main__":
    main()
