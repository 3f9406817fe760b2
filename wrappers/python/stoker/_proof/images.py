"""The small images of check.bin, one of each kind of JPEG."""

import os
import struct

YCBCR, RGB, PROGRESSIVE = range(3)


def samples():
    """Yields (sampling, kind, JPEG) of each image. check.bin holds six digits of sampling (two for a grey image), a
    kind, a length, and the file."""
    with open(os.path.join(os.path.dirname(__file__), "check.bin"), "rb") as file:
        packed = file.read()
    at = 0
    while at < len(packed):
        digits, kind, size = struct.unpack_from("<6sBH", packed, at)
        at += 9
        factors = [int(digit) for digit in digits.rstrip(b"\0").decode()]
        yield tuple(zip(factors[::2], factors[1::2])), kind, packed[at:at + size]
        at += size


def with_orientation(jpeg, orientation, order):
    """Returns the JPEG with an EXIF orientation, in this order of bytes ("<" or ">")."""
    tiff = struct.pack(order + "HHIHHHIHHI", 0x4949 if order == "<" else 0x4D4D, 42, 8, 1, 0x0112, 3, 1, orientation,
                       0, 0)
    segment = b"Exif\0\0" + tiff
    return b"".join((jpeg[:2], struct.pack(">BBH", 0xFF, 0xE1, len(segment) + 2), segment, jpeg[2:]))
